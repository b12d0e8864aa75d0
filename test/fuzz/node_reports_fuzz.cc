// gRPC messages of agents and training processes: for all bytes, reading ends, ports of a report
// are in order and within bounds, and what a process says of its iterations becomes an annotation
// that can be read, or is refused.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <google/protobuf/stubs/logging.h>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

#include "pkg/agent/profiles/profile_collector.h"
#include "pkg/api/names.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/rpc/conversion.h"
#include "pkg/rpc/testing/client_conversion.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

void CheckNodeReport(const std::string& bytes) {
  reports::v1::NodeReport report;
  if (!report.ParseFromString(bytes)) return;
  const auto ports = rpc::FromProto(report);
  if (!ports.ok()) return;
  for (std::size_t i = 0; i < ports->size(); ++i) {
    const auto& [rail, port] = (*ports)[i];
    if (rail < 0 || rail > 255 || port < 0 || port > 255) std::abort();
    if (i > 0 && !((*ports)[i - 1] < (*ports)[i])) std::abort();
  }
}

void CheckIterations(const std::string& bytes) {
  agent::v1::IterationReport message;
  if (!message.ParseFromString(bytes)) return;
  rpc::IterationReport report = rpc::FromProto(message);
  report.pod_uid = "u";
  FakeClock clock;
  kube::FakeClient client(clock);
  client.Seed(kube::Pods(), {{"apiVersion", "v1"},
                             {"kind", "Pod"},
                             {"metadata", {{"name", "p"}, {"namespace", "n"}, {"uid", "u"}}}});
  agent::ProfileCollector collector(client, {});
  // Means of numbers that may be huge.
  const bool taken = collector.Take(report, 0, 0).ok();
  (void)collector.Take(report, 0, 0);
  agent::PodInput pod;
  pod.ns = "n";
  pod.name = "p";
  pod.uid = "u";
  for (const absl::Status& problem : collector.Flush(0, [&](const std::string&) { return pod; })) {
    if (problem.ok()) std::abort();
  }
  const auto written = client.Find(kube::Pods(), "n", "p");
  const auto& metadata = (*written)["metadata"];
  const bool annotated =
      metadata.contains("annotations") && metadata["annotations"].contains(api::kProfileAnnotation);
  if (annotated != taken) std::abort();
  if (!taken) return;
  const std::string text = metadata["annotations"][api::kProfileAnnotation];
  if (!api::DecodeProfileReport(text).ok()) std::abort();
}

void CheckStatus(const std::string& bytes) {
  agent::v1::StatusResponse response;
  if (!response.ParseFromString(bytes)) return;
  const rpc::AgentStatus status = rpc::FromProto(response);
  if (!(rpc::FromProto(rpc::ToProto(status)) == status)) std::abort();
  (void)rpc::Filtered(status, {"n1", ""});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // It writes a line for every string that is not UTF-8.
  [[maybe_unused]] static auto* const previous = google::protobuf::SetLogHandler(nullptr);
  const std::string bytes(reinterpret_cast<const char*>(data), size);
  CheckNodeReport(bytes);
  CheckIterations(bytes);
  CheckStatus(bytes);
  return 0;
}
