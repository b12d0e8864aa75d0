// The annotations that people, the extender, the operator and other nodes' agents write: for all
// bytes, reading ends in a value or an error, and a value that was read is written and read
// back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "pkg/agent/plans/effective_plan.h"
#include "pkg/api/job_move.h"
#include "pkg/api/parallelism_annotation.h"
#include "pkg/api/pod_path_plan.h"
#include "pkg/api/profile_report.h"
#include "pkg/api/progress_report.h"
#include "pkg/api/slot.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

void CheckPathPlan(std::string_view text) {
  const auto plan = api::DecodePathPlan(text);
  if (!plan.ok()) return;
  const auto again = api::EncodePathPlan(*plan);
  if (!again.ok()) return;  // longer than the text: it would exceed the limit
  const auto back = api::DecodePathPlan(*again);
  if (!back.ok() || !(*back == *plan)) std::abort();
}

void CheckMoveRequest(std::string_view text) {
  const auto request = api::DecodeMoveRequest(text);
  if (!request.ok()) return;
  const auto back = api::DecodeMoveRequest(api::EncodeMoveRequest(*request));
  // Escapes may make it longer than the limit.
  if (back.ok() && !(*back == *request)) std::abort();
}

void CheckSlot(std::string_view text) {
  const auto slot = api::DecodeSlot(text);
  if (!slot.ok()) return;
  const auto back = api::DecodeSlot(api::EncodeSlot(*slot));
  if (!back.ok() || !(*back == *slot)) std::abort();
}

void CheckProgress(std::string_view text) {
  const auto report = api::DecodeProgressReport(text);
  if (!report.ok()) return;
  const auto back = api::DecodeProgressReport(api::EncodeProgressReport(*report));
  if (!back.ok() || !(*back == *report)) std::abort();
}

void CheckProfile(std::string_view text) {
  const auto report = api::DecodeProfileReport(text);
  if (!report.ok()) return;
  const auto back = api::DecodeProfileReport(api::EncodeProfileReport(*report));
  if (!back.ok() || !(*back == *report)) std::abort();
}

void CheckSocketPorts(std::string_view text) {
  const auto ports = api::DecodeSocketPorts(text);
  if (!ports.ok()) return;
  if (ports->empty() || ports->size() > api::kMaxSocketPorts) std::abort();
  for (int port : *ports) {
    if (port < 1 || port > 65535) std::abort();
  }
}

// The first byte says which annotations the pod has.
void CheckAgent(unsigned char which, const std::string& text) {
  agent::PodInput pod;
  if ((which & 1) != 0) pod.slot = text;
  if ((which & 2) != 0) pod.priority = text;
  if ((which & 4) != 0) pod.path_plan = text;
  const agent::EffectivePlan plan = agent::Evaluate(pod, std::nullopt, 1'767'225'600'000);
  const int traffic_class = plan.paths.traffic_class.value_or(0);
  if (traffic_class < 0 || traffic_class > 255) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  CheckPathPlan(text);
  CheckMoveRequest(text);
  CheckSlot(text);
  CheckProfile(text);
  CheckProgress(text);
  CheckSocketPorts(text);
  (void)api::ParseParallelism(text);
  CheckAgent(data[0], std::string(text));
  return 0;
}
