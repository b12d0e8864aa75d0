#include "pkg/app/tracing.h"

#include <CLI/CLI.hpp>

#include "pkg/base/status.h"
#include "pkg/base/version.h"

namespace yardmaster::app {

void AddTraceFlags(CLI::App& app, trace::TraceEndpoint& endpoint) {
  app.add_option("--otlp-endpoint", endpoint.url,
                 "collector that traces of jobs go to by OTLP over HTTP, for example "
                 "http://collector.tracing:4318; none are made when left out");
  app.add_option("--otlp-ca-file", endpoint.ca_file,
                 "authorities of an https collector's certificate, PEM");
}

absl::Status Tracing::Start() {
  if (endpoint_.url.empty()) return absl::OkStatus();
  YM_ASSIGN_OR_RETURN(exporter_,
                      trace::SpanExporter::Connect(
                          endpoint_, {service_, std::string(Version()), runtime_.identity()},
                          runtime_.timing(), runtime_.registry(), runtime_.log()));
  exporter_->Start();
  return absl::OkStatus();
}

}  // namespace yardmaster::app
