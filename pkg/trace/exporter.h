// Sends spans to a collector by OTLP over HTTP, and never makes anybody wait for it.
//
// Offer puts spans into a queue of bounded size and returns; a thread sends them in batches. A span
// is dropped and counted when the queue is full, when the collector refuses it, when kTries sends
// have failed, when a send threw an exception, and when the exporter stops before it is sent. An
// endpoint that is slow, refuses connections, or answers anything costs its batch and nothing else:
//
//   yardmaster_trace_spans_sent_total
//   yardmaster_trace_spans_dropped_total{reason}    queue-full, refused, unreachable, defect,
//                                                   stopped
//
// Every span that was offered is counted by one of them once the exporter has stopped.
//
// Thread safety: Offer from any thread; Start and Stop from one; SendQueued from one at a time.
// Lifetimes: clock, sleeper, registry and log outlive the exporter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/base/mutex.h"
#include "pkg/kube/timing.h"
#include "pkg/kube/transport.h"
#include "pkg/metrics/log.h"
#include "pkg/metrics/registry.h"
#include "pkg/trace/otlp.h"
#include "pkg/trace/span.h"

namespace yardmaster::trace {

struct TraceEndpoint {
  // "http://collector:4318" or https; requests go to the path /v1/traces below it. Empty: none.
  std::string url;
  // With https: the authorities that its certificate has to be of, PEM; read again when it changes.
  std::string ca_file;
};

class SpanExporter {
 public:
  static constexpr std::size_t kQueuedSpans = 8'192;
  static constexpr std::size_t kBatchSpans = 512;
  static constexpr int kTries = 5;

  // Errors: InvalidArgument that names the flag of what is wrong with the endpoint.
  static absl::StatusOr<std::unique_ptr<SpanExporter>> Connect(const TraceEndpoint& endpoint,
                                                               SpanSource source,
                                                               kube::Timing timing,
                                                               metrics::Registry& registry,
                                                               const metrics::Logger& log);
  SpanExporter(std::unique_ptr<kube::Transport> transport, SpanSource source, kube::Timing timing,
               metrics::Registry& registry, const metrics::Logger& log);
  ~SpanExporter() { Stop(); }

  void Offer(std::vector<Span> spans);

  void Start();
  // Sends what is queued, within a second and until a send fails. The rest is dropped, and so is
  // what is offered afterwards.
  void Stop();

  // What the thread does every second: sends what is queued, unless a batch is to be tried again
  // later.
  void SendQueued(const std::stop_token& stop);

 private:
  enum class Outcome { kSent, kRefused, kAgain };

  // At most kBatchSpans; empty: nothing is queued.
  std::vector<Span> NextBatch();
  Outcome Send(std::int64_t deadline_ms, const std::stop_token& stop, std::string& why,
               std::int64_t& retry_after_ms);
  // Sends batch_, whatever comes of it; false: it is tried again later.
  bool TryBatch(std::int64_t deadline_ms, const std::stop_token& stop);
  // Batches until one fails or a second is over.
  void SendLast();
  // What a send threw costs its batch.
  void DropDefective(const absl::Status& status);
  void Report(bool well, const std::string& why);

  const std::unique_ptr<kube::Transport> transport_;
  const SpanSource source_;
  const kube::Timing timing_;
  const metrics::Logger& log_;
  const metrics::Counter sent_;
  const metrics::Counter queue_full_;
  const metrics::Counter refused_;
  const metrics::Counter unreachable_;
  const metrics::Counter defect_;
  const metrics::Counter left_;
  Mutex mutex_;
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::deque<Span> queue_ ABSL_GUARDED_BY(mutex_);
  // Of the thread alone.
  std::vector<Span> batch_;  // being sent
  int tries_ = 0;            // of batch_
  std::int64_t next_try_ms_ = 0;
  kube::JitteredBackoff backoff_;
  bool well_ = true;
  std::jthread thread_;
};

}  // namespace yardmaster::trace
