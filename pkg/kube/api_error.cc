#include "pkg/kube/api_error.h"

#include <algorithm>
#include <optional>

#include "absl/strings/cord.h"
#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/client.h"
#include "pkg/kube/object.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;

constexpr const char* kHttpPayload = "yardmaster.dev/http";  // "<code> <retry after ms>"
constexpr const char* kNeverSentPayload = "yardmaster.dev/never-sent";
constexpr const char* kReplayedPayload = "yardmaster.dev/replayed";
constexpr const char* kTooLargePayload = "yardmaster.dev/too-large";
constexpr std::size_t kMaxForeignTextBytes = 300;
constexpr std::size_t kMaxStatusBytes = 256 * 1024;
constexpr std::int64_t kMaxRetryAfterMs = 3'600'000;

// What the body of a refusal says beyond its code.
struct Refusal {
  std::string reason;
  bool has_causes = false;
  // The request named a uid, and the object of that name has another.
  bool other_uid = false;
};

Refusal ReadRefusal(const json& object) {
  Refusal refusal{StringAt(object, {"reason"})};
  const json* causes = FindAt(object, {"details", "causes"});
  if (causes == nullptr || !causes->is_array()) return refusal;
  for (const json& cause : *causes) {
    refusal.has_causes = true;
    refusal.other_uid |= StringAt(cause, {"field"}) == "metadata.uid";
  }
  return refusal;
}

absl::StatusCode CodeFor(const ErrorContext& context, int http_code, const Refusal& refusal) {
  switch (http_code) {
    case 400:
    case 406:
    case 413:
    case 415:
      return absl::StatusCode::kInvalidArgument;
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 405:
      return absl::StatusCode::kUnimplemented;
    case 409:
      return refusal.reason == "AlreadyExists" ? absl::StatusCode::kAlreadyExists
                                               : absl::StatusCode::kAborted;
    case 410:
      return absl::StatusCode::kOutOfRange;
    case 422:
      // A uid in a merge patch is a precondition to us and an immutable field to the server.
      if (refusal.other_uid) return absl::StatusCode::kAborted;
      // Refusing an object names the fields; a patch that does not apply leaves them out.
      return context.json_patch && !refusal.has_causes ? absl::StatusCode::kFailedPrecondition
                                                       : absl::StatusCode::kInvalidArgument;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    default:
      return http_code >= 500 ? absl::StatusCode::kUnavailable : absl::StatusCode::kUnknown;
  }
}

// "field: message" of every cause that the message does not already contain.
std::string CausesOf(const json& object, const std::string& message) {
  const json* causes = FindAt(object, {"details", "causes"});
  std::string text;
  if (causes == nullptr || !causes->is_array()) return text;
  for (const json& cause : *causes) {
    const std::string detail = StringAt(cause, {"message"});
    if (detail.empty() || message.find(detail) != std::string::npos) continue;
    text.append("; ");
    if (std::string field = StringAt(cause, {"field"}); !field.empty()) {
      text.append(field).append(": ");
    }
    text.append(detail);
  }
  return text;
}

std::string Shortened(std::string_view text) {
  std::string out(CutAtCharacter(text, kMaxForeignTextBytes));
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

absl::Status Build(const ErrorContext& context, int http_code, const json& object,
                   std::string_view raw) {
  std::string message = StringAt(object, {"message"});
  const absl::StatusCode code = CodeFor(context, http_code, ReadRefusal(object));
  if (message.empty()) {
    message = StrCat("HTTP ", http_code, raw.empty() ? "" : ": ", Shortened(raw));
  } else {
    message.append(CausesOf(object, message));
  }
  absl::Status status(code, StrCat(context.verb, " ", context.path, ": ", message));
  status.SetPayload(kHttpPayload, absl::Cord(StrCat(http_code, " ", context.retry_after_ms)));
  return status;
}

// Part `index` of the payload as a number, 0 without one.
std::int64_t HttpPayload(const absl::Status& status, std::size_t index) {
  const auto payload = status.GetPayload(kHttpPayload);
  if (!payload.has_value()) return 0;
  const std::vector<std::string> parts = Split(std::string(*payload), ' ');
  if (index >= parts.size()) return 0;
  return ParseNumber<std::int64_t>(parts[index]).value_or(0);
}

}  // namespace

absl::Status StatusFromAnswer(const ErrorContext& context, int http_code, std::string_view body) {
  json object;
  if (body.size() <= kMaxStatusBytes)
    object = json::parse(body, nullptr, /*allow_exceptions=*/false);
  return Build(context, http_code, object, body);
}

absl::Status StatusFromObject(const ErrorContext& context, const json& status_object) {
  const json* code = FindAt(status_object, {"code"});
  const int http_code = code != nullptr && code->is_number_integer() ? code->get<int>() : 500;
  return Build(context, http_code, status_object, "");
}

std::int64_t ParseRetryAfterMs(std::string_view header) {
  const std::optional<std::int64_t> seconds = ParseNumber<std::int64_t>(header);
  if (!seconds || *seconds <= 0) return 0;
  return std::min(*seconds, kMaxRetryAfterMs / 1000) * 1000;
}

absl::Status MarkNeverSent(absl::Status status) {
  status.SetPayload(kNeverSentPayload, absl::Cord("1"));
  return status;
}

bool WasNeverSent(const absl::Status& status) {
  return status.GetPayload(kNeverSentPayload).has_value();
}

absl::Status MarkTooLarge(absl::Status status) {
  status.SetPayload(kTooLargePayload, absl::Cord("1"));
  return status;
}

bool WasTooLarge(const absl::Status& status) {
  return status.GetPayload(kTooLargePayload).has_value();
}

absl::Status MarkReplayed(absl::Status status) {
  status.SetPayload(kReplayedPayload, absl::Cord("1"));
  return status;
}

bool WasReplayed(const absl::Status& status) {
  return status.GetPayload(kReplayedPayload).has_value();
}

bool IsTransient(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status);
}

bool IsDenied(const absl::Status& status) {
  return absl::IsPermissionDenied(status) || absl::IsInvalidArgument(status);
}

bool IsGone(const absl::Status& status) {
  return absl::IsNotFound(status) || absl::IsAborted(status);
}

absl::Status Prefixed(const ErrorContext& context, const absl::Status& status) {
  if (status.ok()) return status;
  absl::Status prefixed(status.code(),
                        StrCat(context.verb, " ", context.path, ": ", MessageOf(status)));
  status.ForEachPayload(
      [&](auto url, const absl::Cord& payload) { prefixed.SetPayload(url, payload); });
  return prefixed;
}

std::int64_t RetryAfterMs(const absl::Status& status) { return HttpPayload(status, 1); }

int HttpCodeOf(const absl::Status& status) { return static_cast<int>(HttpPayload(status, 0)); }

}  // namespace yardmaster::kube
