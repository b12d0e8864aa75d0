// The plan that a shim reads inside another program: for all bytes, reading ends, nothing beyond
// the text is read, and every connection that is found lies in the plan.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "pkg/agent/plans/shim_report.h"
#include "pkg/shim/plan.h"
#include "pkg/shim/real_library.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

void CheckPlan(const char* text, std::size_t size) {
  static const auto plan = std::make_unique<shim::PlanFile>();
  shim::ReadPlan(text, size, plan.get());
  if (plan->state != shim::PlanFileState::kReady && plan->peers != 0) std::abort();
  for (int i = 0; i < plan->peers; ++i) {
    shim::Endpoint endpoint;
    endpoint.local = plan->rail[plan->peer[i].rail].address;
    endpoint.remote = plan->peer[i].address;
    endpoint.tcp = plan->peer[i].tcp;
    endpoint.listen_port = plan->peer[i].listen_port;
    const shim::Match match = shim::FindPeer(*plan, endpoint);
    for (int ordinal = 0; ordinal < match.connections; ++ordinal) {
      if (shim::PathAt(*plan, match, ordinal).port == 0) std::abort();
    }
    if (shim::PathAt(*plan, match, 1 << 20).port != 0) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto* text = reinterpret_cast<const char*>(data);
  CheckPlan(text, size);
  shim::ForEachCached(
      text, size, "libibverbs.so.1", [](const char*, void*) { return false; }, nullptr);
  agent::ShimReader reader;
  reader.Add({text, size});
  (void)reader.Summary();
  return 0;
}
