// Tracing sends the traces of jobs (pkg/trace) of extender and operator, if an endpoint is
// configured. A collector cannot influence what the process does.
//
// Thread safety: Offer from any thread; Start and Stop from the main thread. Lifetimes: what is
// passed in outlives the object.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "pkg/app/runtime.h"
#include "pkg/trace/exporter.h"

namespace yardmaster::app {

void AddTraceFlags(CLI::App& app, trace::TraceEndpoint& endpoint);

class Tracing {
 public:
  Tracing(const trace::TraceEndpoint& endpoint, std::string service, Runtime& runtime)
      : endpoint_(endpoint), service_(std::move(service)), runtime_(runtime) {}

  // Errors: an endpoint that cannot be used, with the flag.
  absl::Status Start();
  // Sends what is left, within a second.
  void Stop() {
    if (exporter_ != nullptr) exporter_->Stop();
  }
  // Whether an endpoint is configured; valid after Start.
  bool on() const { return exporter_ != nullptr; }
  // REQUIRES: on().
  void Offer(std::vector<trace::Span> spans) { exporter_->Offer(std::move(spans)); }

 private:
  const trace::TraceEndpoint& endpoint_;
  const std::string service_;
  Runtime& runtime_;
  std::unique_ptr<trace::SpanExporter> exporter_;
};

}  // namespace yardmaster::app
