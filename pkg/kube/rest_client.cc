#include "pkg/kube/rest_client.h"

#include <algorithm>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"
#include "pkg/kube/http_transport.h"
#include "pkg/kube/wire_form.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;

constexpr int kMaxTries = 10;
// A watch that the server has not ended this long after it should have is taken for dead.
constexpr std::int64_t kWatchGraceMs = 15'000;
// 500 objects of 64 KiB.
constexpr std::size_t kMaxPageBytes = std::size_t{32} << 20;

}  // namespace

// How often a request may reach the server.
enum class Resend { kOnlyIfNeverSent, kSafe };

struct RestClient::Operation {
  std::string method;
  Target target;
  std::string path;  // with query
  Resend resend = Resend::kSafe;
  std::string content_type = {};
  std::string body = {};
  bool json_patch = false;
  std::size_t max_answer_bytes = HttpRequest().max_answer_bytes;

  ErrorContext Context(std::int64_t retry_after_ms = 0) const {
    return {method, path.substr(0, path.find('?')), json_patch, retry_after_ms};
  }
};

struct RestClient::Outcome {
  absl::StatusOr<HttpResponse> response;
  // An earlier try may have taken effect.
  bool replayed = false;
  // The last try brought no answer.
  bool unanswered = false;
};

RestClient::RestClient(ClientConfig config, std::unique_ptr<Transport> transport,
                       std::shared_ptr<Credentials> credentials, Timing timing, Observer observer,
                       Ending ending)
    : config_(std::move(config)),
      transport_(std::move(transport)),
      credentials_(std::move(credentials)),
      timing_(timing),
      observer_(std::move(observer)),
      limiter_(config_.qps, config_.burst, timing.clock, timing.sleeper),
      ending_(std::move(ending)),
      random_(timing.seed) {}

absl::StatusOr<json> RestClient::Get(const Target& target) {
  Operation operation{"GET", target, ""};
  YM_ASSIGN_OR_RETURN(operation.path, ObjectPath(target));
  YM_ASSIGN_OR_RETURN(const HttpResponse response, Call(operation).response);
  return ParseBody(response.body, StrCat("GET ", operation.path));
}

absl::StatusOr<PageEnd> RestClient::ReadPage(const Target& target, const ListOptions& options,
                                             const OnObject& on_object) {
  Operation operation{"GET", target, ""};
  operation.max_answer_bytes = kMaxPageBytes;
  YM_ASSIGN_OR_RETURN(const std::string path, CollectionPath(target));
  for (int limit = options.limit;; limit /= 2) {
    Query query;
    query.Add("labelSelector", options.label_selector)
        .Add("fieldSelector", options.field_selector)
        .Add("limit", limit > 0 ? StrCat(limit) : "")
        .Add("continue", options.continue_token);
    operation.path = path + query.text();
    const absl::StatusOr<HttpResponse> response = Call(operation).response;
    // Whoever writes objects chooses how large a page of them is.
    if (WasTooLarge(response.status()) && limit > 1) continue;
    YM_RETURN_IF_ERROR(response.status());
    YM_ASSIGN_OR_RETURN(PageEnd end,
                        ReadPageBody(response->body, StrCat("GET ", operation.path), on_object));
    if (limit != options.limit) end.cut_to = limit;
    return end;
  }
}

absl::StatusOr<json> RestClient::Create(const Target& target, const json& object,
                                        const WriteOptions& options) {
  Operation operation{"POST", target, ""};
  const bool by_name = target.subresource.empty() && !NameOf(object).empty();
  if (target.subresource.empty()) {
    YM_ASSIGN_OR_RETURN(operation.path, CollectionPath(target));
  } else {
    YM_ASSIGN_OR_RETURN(operation.path, ObjectPath(target));
  }
  operation.path += Query().Add(options).text();
  operation.resend = by_name ? Resend::kSafe : Resend::kOnlyIfNeverSent;
  operation.content_type = "application/json";
  operation.body = BodyOf(object);
  Outcome outcome = Call(operation);
  if (outcome.replayed && absl::IsAlreadyExists(outcome.response.status())) {
    absl::StatusOr<json> there = Get({target.resource, target.ns, NameOf(object)});
    json wanted = object;
    wanted.erase("status");  // not written by a create
    if (there.ok() && HasAllOf(*there, wanted)) return there;
  }
  if (!outcome.response.ok()) return outcome.response.status();
  return ParseBody(outcome.response->body, StrCat("POST ", operation.path));
}

absl::StatusOr<json> RestClient::Replace(const Target& target, const json& object,
                                         const WriteOptions& options) {
  Operation operation{"PUT", target, ""};
  YM_ASSIGN_OR_RETURN(operation.path, ObjectPath(target));
  operation.path += Query().Add(options).text();
  operation.content_type = "application/json";
  operation.body = BodyOf(object);
  YM_ASSIGN_OR_RETURN(const HttpResponse response, Call(operation).response);
  return ParseBody(response.body, StrCat("PUT ", operation.path));
}

absl::StatusOr<json> RestClient::Patch(const Target& target, const PatchBody& patch,
                                       const WriteOptions& options) {
  Operation operation{"PATCH", target, ""};
  YM_ASSIGN_OR_RETURN(operation.path, ObjectPath(target));
  operation.path += Query().Add(options, patch.field_manager).text();
  operation.json_patch = patch.type == PatchType::kJson;
  if (operation.json_patch) operation.resend = Resend::kOnlyIfNeverSent;
  operation.content_type = ContentTypeOf(patch.type);
  operation.body = patch.body;
  YM_ASSIGN_OR_RETURN(const HttpResponse response, Call(operation).response);
  return ParseBody(response.body, StrCat("PATCH ", operation.path));
}

absl::Status RestClient::Delete(const Target& target, const DeleteOptions& options) {
  Operation operation{"DELETE", target, ""};
  YM_ASSIGN_OR_RETURN(operation.path, ObjectPath(target));
  operation.content_type = "application/json";
  operation.body = BodyOf(DeleteBody(options));
  const Outcome outcome = Call(operation);
  if (outcome.replayed && absl::IsNotFound(outcome.response.status())) return absl::OkStatus();
  return outcome.response.status();
}

absl::Status RestClient::Watch(const Target& target, const WatchOptions& options,
                               std::stop_token stop,
                               const std::function<void(const WatchEvent&)>& on_event) {
  Operation operation{"GET", target, ""};
  YM_ASSIGN_OR_RETURN(operation.path, CollectionPath(target));
  Query query;
  query.Add("watch", "1")
      .Add("allowWatchBookmarks", "true")
      .Add("resourceVersion", options.resource_version)
      .Add("sendInitialEvents", options.send_initial_events ? "true" : "")
      .Add("resourceVersionMatch", options.send_initial_events ? "NotOlderThan" : "")
      .Add("timeoutSeconds", StrCat(options.timeout_seconds))
      .Add("labelSelector", options.label_selector)
      .Add("fieldSelector", options.field_selector);
  operation.path += query.text();
  const StreamDeadlines deadlines{options.timeout_seconds * std::int64_t{1000} + kWatchGraceMs,
                                  config_.watch_idle_ms};
  YM_RETURN_IF_ERROR(limiter_.Wait(timing_.clock.SteadyMs() + config_.call_deadline_ms, stop));
  for (bool reauthorized = false;;) {
    YM_ASSIGN_OR_RETURN(const HttpRequest request, Build(operation));
    const absl::Status status = WatchOnce(operation, request, deadlines, stop, on_event);
    if (!Reauthorize(status, request, reauthorized)) return status;
  }
}

absl::Status RestClient::WatchOnce(const Operation& operation, const HttpRequest& request,
                                   const StreamDeadlines& deadlines, std::stop_token stop,
                                   const std::function<void(const WatchEvent&)>& on_event) {
  ErrorContext context = operation.Context();
  context.verb = "WATCH";
  absl::Status ended;
  JsonParser parser;
  const std::int64_t started_ms = timing_.clock.SteadyMs();
  absl::StatusOr<HttpResponse> response =
      transport_->Stream(request, deadlines, stop, [&](std::string_view line) {
        if (line.empty()) return true;
        absl::StatusOr<WatchEvent> event = ParseEvent(parser, line, context);
        ended = event.status();
        if (event.ok()) on_event(*event);
        return event.ok() && !stop.stop_requested();
      });
  Observe(operation, "WATCH", response.ok() ? response->code : 0, started_ms);
  if (stop.stop_requested()) return absl::CancelledError("stopped");
  if (!response.ok()) return Prefixed(context, response.status());
  if (response->code == 200) return ended;
  context.retry_after_ms = ParseRetryAfterMs(response->Header("retry-after"));
  return StatusFromAnswer(context, response->code, response->body);
}

RestClient::Outcome RestClient::Call(const Operation& operation) {
  const bool last = ending_.begun.stop_requested();
  if (last && gave_up_) return {absl::CancelledError("stopped")};
  Outcome outcome = Try(operation, last ? kLastCallMs : config_.call_deadline_ms,
                        last ? std::stop_token() : ending_.over);
  if (outcome.unanswered && ending_.begun.stop_requested()) gave_up_ = true;
  return outcome;
}

RestClient::Outcome RestClient::Try(const Operation& operation, std::int64_t within_ms,
                                    const std::stop_token& stop) {
  const std::int64_t deadline_ms = timing_.clock.SteadyMs() + within_ms;
  JitteredBackoff backoff(NextSeed());
  Outcome outcome{absl::UnknownError("not tried")};
  bool reauthorized = false;
  for (int tries = 1;; ++tries) {
    if (absl::Status limited = limiter_.Wait(deadline_ms, stop); !limited.ok()) {
      if (tries == 1) outcome.response = limited;
      return outcome;
    }
    absl::StatusOr<HttpRequest> request = Build(operation);
    if (!request.ok()) {
      outcome.response = request.status();
      return outcome;
    }
    const std::int64_t started_ms = timing_.clock.SteadyMs();
    const std::int64_t left_ms = std::max<std::int64_t>(deadline_ms - started_ms, 1);
    outcome.response =
        transport_->Unary(*request, std::min(config_.attempt_deadline_ms, left_ms), stop);
    outcome.unanswered = !outcome.response.ok();
    Observe(operation, operation.method, outcome.response.ok() ? outcome.response->code : 0,
            started_ms);
    if (!outcome.response.ok()) {
      outcome.response = Prefixed(operation.Context(), outcome.response.status());
    } else if (outcome.response->code >= 300) {
      const HttpResponse& answer = *outcome.response;
      outcome.response =
          StatusFromAnswer(operation.Context(ParseRetryAfterMs(answer.Header("retry-after"))),
                           answer.code, answer.body);
    }
    if (outcome.response.ok()) return outcome;
    if (outcome.replayed) outcome.response = MarkReplayed(outcome.response.status());
    const absl::Status& status = outcome.response.status();
    if (Reauthorize(status, *request, reauthorized)) continue;
    const std::int64_t delay_ms = RetryDelayMs(operation, status, backoff);
    const bool in_time = timing_.clock.SteadyMs() + delay_ms < deadline_ms;
    if (delay_ms < 0 || !in_time || tries >= kMaxTries) return outcome;
    outcome.replayed |= IsTransient(status) && !WasNeverSent(status);
    // Nothing pauses after the end, whenever the call began.
    if (!timing_.sleeper.Sleep(delay_ms, ending_.over)) return outcome;
  }
}

absl::StatusOr<HttpRequest> RestClient::Build(const Operation& operation) {
  HttpRequest request{
      operation.method, operation.path, {}, operation.body, operation.max_answer_bytes};
  auto add = [&](std::string name, std::string value) {
    if (!value.empty()) request.headers.emplace_back(std::move(name), std::move(value));
  };
  YM_ASSIGN_OR_RETURN(std::string authorization, credentials_->Authorization());
  add("Authorization", std::move(authorization));
  add("Accept", "application/json");
  add("User-Agent", config_.user_agent);
  add("Content-Type", operation.content_type);
  add("Impersonate-User", config_.as);
  add("Impersonate-Uid", config_.as_uid);
  for (const std::string& group : config_.as_groups) add("Impersonate-Group", group);
  for (const auto& [key, values] : config_.as_user_extra) {
    for (const std::string& value : values) {
      add(StrCat("Impersonate-Extra-", PercentEncode(key)), value);
    }
  }
  return request;
}

std::int64_t RestClient::RetryDelayMs(const Operation& operation, const absl::Status& status,
                                      JitteredBackoff& backoff) {
  const std::int64_t retry_after_ms = RetryAfterMs(status);
  const int code = HttpCodeOf(status);
  const bool asked_to_wait = retry_after_ms > 0 && (code == 429 || code >= 500);
  const bool may_send_again =
      WasNeverSent(status) || (IsTransient(status) && operation.resend == Resend::kSafe);
  if (!asked_to_wait && !may_send_again) return -1;
  return std::max(retry_after_ms, asked_to_wait ? 0 : backoff.NextMs());
}

bool RestClient::Reauthorize(const absl::Status& status, const HttpRequest& request,
                             bool& reauthorized) {
  if (HttpCodeOf(status) != 401 || std::exchange(reauthorized, true)) return false;
  std::string sent;
  for (const auto& [name, value] : request.headers) {
    if (name == "Authorization") sent = value;
  }
  credentials_->Reject(sent);
  transport_->DropConnections();
  return true;
}

std::uint64_t RestClient::NextSeed() {
  MutexLock lock(random_mutex_);
  return random_.Next();
}

void RestClient::Observe(const Operation& operation, std::string verb, int code,
                         std::int64_t started_ms) {
  if (!observer_) return;
  observer_({std::move(verb), operation.target.resource.GroupResource(), code,
             timing_.clock.SteadyMs() - started_ms});
}

absl::StatusOr<std::unique_ptr<RestClient>> MakeRestClient(const ClientConfig& config,
                                                           Timing timing,
                                                           RestClient::Observer observer,
                                                           Ending ending) {
  auto credentials = std::make_shared<Credentials>(config, timing.clock, ending.over);
  YM_ASSIGN_OR_RETURN(std::unique_ptr<Transport> transport, MakeHttpTransport(config, credentials));
  return std::make_unique<RestClient>(config, std::move(transport), std::move(credentials), timing,
                                      std::move(observer), std::move(ending));
}

}  // namespace yardmaster::kube
