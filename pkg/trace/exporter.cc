#include "pkg/trace/exporter.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "pkg/base/run_once.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/credentials.h"
#include "pkg/kube/http_transport.h"

namespace yardmaster::trace {

namespace {

constexpr std::int64_t kEveryMs = 1'000;
constexpr std::int64_t kTryMs = 5'000;
constexpr std::int64_t kLastMs = 1'000;
constexpr std::int64_t kLongestRetryMs = 60'000;
constexpr std::size_t kMaxAnswerBytes = std::size_t{64} << 10;

metrics::Counter Dropped(metrics::Registry& registry, const char* reason) {
  return registry.GetCounter("yardmaster_trace_spans_dropped_total",
                             "spans that no collector has taken", {{"reason", reason}});
}

// As the specification has it.
bool MayBeTriedAgain(int code) { return code == 429 || code == 502 || code == 503 || code == 504; }

}  // namespace

absl::StatusOr<std::unique_ptr<SpanExporter>> SpanExporter::Connect(const TraceEndpoint& endpoint,
                                                                    SpanSource source,
                                                                    kube::Timing timing,
                                                                    metrics::Registry& registry,
                                                                    const metrics::Logger& log) {
  YM_ASSIGN_OR_RETURN(const kube::ServerUrl url,
                      kube::ParseServerUrl("--otlp-endpoint", endpoint.url));
  if (url.tls && endpoint.ca_file.empty()) {
    return absl::InvalidArgumentError(
        "--otlp-endpoint: no authority is known for https; name its file by --otlp-ca-file");
  }
  kube::ClientConfig config;
  config.server = endpoint.url;
  if (url.tls) config.ca_file = endpoint.ca_file;
  YM_RETURN_IF_ERROR(kube::ValidateClientConfig(config));
  auto credentials = std::make_shared<kube::Credentials>(config, timing.clock);
  YM_ASSIGN_OR_RETURN(auto transport, kube::MakeHttpTransport(config, std::move(credentials)));
  return std::make_unique<SpanExporter>(std::move(transport), std::move(source), timing, registry,
                                        log);
}

SpanExporter::SpanExporter(std::unique_ptr<kube::Transport> transport, SpanSource source,
                           kube::Timing timing, metrics::Registry& registry,
                           const metrics::Logger& log)
    : transport_(std::move(transport)),
      source_(std::move(source)),
      timing_(timing),
      log_(log),
      sent_(registry.GetCounter("yardmaster_trace_spans_sent_total",
                                "spans that the collector has taken")),
      queue_full_(Dropped(registry, "queue-full")),
      refused_(Dropped(registry, "refused")),
      unreachable_(Dropped(registry, "unreachable")),
      defect_(Dropped(registry, "defect")),
      left_(Dropped(registry, "stopped")),
      backoff_(timing.seed) {}

void SpanExporter::Offer(std::vector<Span> spans) {
  if (spans.empty()) return;
  std::size_t left_out = 0;
  bool stopped = false;
  {
    MutexLock lock(mutex_);
    stopped = stopped_;
    const std::size_t free = stopped ? 0 : kQueuedSpans - queue_.size();
    const std::size_t taken = std::min(spans.size(), free);
    const auto end = spans.begin() + static_cast<std::ptrdiff_t>(taken);
    queue_.insert(queue_.end(), std::make_move_iterator(spans.begin()),
                  std::make_move_iterator(end));
    left_out = spans.size() - taken;
  }
  if (left_out > 0) (stopped ? left_ : queue_full_).Increment(static_cast<double>(left_out));
}

std::vector<Span> SpanExporter::NextBatch() {
  MutexLock lock(mutex_);
  const auto end =
      queue_.begin() + static_cast<std::ptrdiff_t>(std::min(queue_.size(), kBatchSpans));
  std::vector<Span> batch(std::make_move_iterator(queue_.begin()), std::make_move_iterator(end));
  queue_.erase(queue_.begin(), end);
  return batch;
}

SpanExporter::Outcome SpanExporter::Send(std::int64_t deadline_ms, const std::stop_token& stop,
                                         std::string& why, std::int64_t& retry_after_ms) {
  kube::HttpRequest request{"POST",
                            "/v1/traces",
                            {{"Content-Type", "application/json"}, {"User-Agent", source_.service}},
                            EncodeSpans(source_, batch_),
                            kMaxAnswerBytes};
  const auto answer = transport_->Unary(request, deadline_ms, stop);
  if (!answer.ok()) {
    why = MessageOf(answer.status());
    return Outcome::kAgain;
  }
  if (answer->code >= 200 && answer->code < 300) {
    const auto all = static_cast<std::int64_t>(batch_.size());
    const std::int64_t rejected = RejectedSpans(answer->body, all);
    sent_.Increment(static_cast<double>(all - rejected));
    refused_.Increment(static_cast<double>(rejected));
    return Outcome::kSent;
  }
  why = StrCat("the collector answered ", answer->code);
  if (!MayBeTriedAgain(answer->code)) return Outcome::kRefused;
  const auto seconds = ParseNumber<std::int64_t>(answer->Header("retry-after"));
  if (seconds)
    retry_after_ms = std::clamp<std::int64_t>(*seconds, 0, kLongestRetryMs / 1000) * 1000;
  return Outcome::kAgain;
}

bool SpanExporter::TryBatch(std::int64_t deadline_ms, const std::stop_token& stop) {
  std::string why;
  std::int64_t retry_after_ms = 0;
  const Outcome outcome = Send(deadline_ms, stop, why, retry_after_ms);
  Report(outcome == Outcome::kSent, why);
  if (outcome == Outcome::kAgain && ++tries_ < kTries) {
    next_try_ms_ = timing_.clock.SteadyMs() + std::max(retry_after_ms, backoff_.NextMs());
    return false;
  }
  if (outcome == Outcome::kSent) backoff_.Reset();
  if (outcome == Outcome::kRefused) refused_.Increment(static_cast<double>(batch_.size()));
  if (outcome == Outcome::kAgain) unreachable_.Increment(static_cast<double>(batch_.size()));
  batch_.clear();
  tries_ = 0;
  return true;
}

void SpanExporter::Report(bool well, const std::string& why) {
  if (well == well_) return;
  well_ = well;
  if (well) {
    log_.Info("traces are sent again");
  } else {
    log_.Warn("traces not sent", {{"error", why}});
  }
}

void SpanExporter::SendQueued(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (batch_.empty()) batch_ = NextBatch();
    if (batch_.empty() || timing_.clock.SteadyMs() < next_try_ms_) return;
    if (!TryBatch(kTryMs, stop)) return;
  }
}

void SpanExporter::SendLast() {
  const std::int64_t end_ms = timing_.clock.SteadyMs() + kLastMs;
  for (;;) {
    if (batch_.empty()) batch_ = NextBatch();
    const std::int64_t left_ms = end_ms - timing_.clock.SteadyMs();
    if (batch_.empty() || left_ms <= 0 || !TryBatch(left_ms, {})) return;
  }
}

void SpanExporter::DropDefective(const absl::Status& status) {
  if (status.ok()) return;
  log_.Error("traces not sent", {{"error", MessageOf(status)}});
  defect_.Increment(static_cast<double>(batch_.size()));
  batch_.clear();
  tries_ = 0;
}

void SpanExporter::Start() {
  thread_ = std::jthread([this](const std::stop_token& stop) {
    while (timing_.sleeper.Sleep(kEveryMs, stop)) {
      DropDefective(Contain([&] { SendQueued(stop); }));
    }
    DropDefective(Contain([&] { SendLast(); }));
  });
}

void SpanExporter::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  std::size_t left = batch_.size();
  batch_.clear();
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    left += queue_.size();
    queue_.clear();
  }
  if (left == 0) return;
  left_.Increment(static_cast<double>(left));
  log_.Warn("traces not sent", {{"spans", left}, {"error", "this process ends"}});
}

}  // namespace yardmaster::trace
