// Manifests of `kubectl yardmaster plan`: whatever the bytes, the answer is a report or an error,
// and every new placement passes the verifier in the room that the ones before it left.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

#include "pkg/cli/manifests.h"
#include "pkg/cli/plan_command.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/verifier.h"
#include "pkg/state/snapshot_builder.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace yardmaster;  // NOLINT: a program of one function
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::istringstream again(text), in(text);
  std::ostringstream out, err;
  const int code = cli::RunPlanCommand({"--offline", "-f", "-", "--paths", "--max-steps", "2000"},
                                       again, out, err);
  if (code != 0 && err.str().empty()) std::abort();
  const auto manifests = cli::ReadManifests({"-"}, in);
  if (!manifests.ok()) {
    if (code != 1) std::abort();
    return 0;
  }
  plan::Snapshot snapshot = state::BuildSnapshot(manifests->world);
  plan::PlanOptions options;
  options.placement.max_steps = 2000;
  options.network = false;
  const plan::Plan plan = plan::MakePlan(snapshot, options);
  for (const plan::JobPlan& job : plan.jobs) {
    if (!job.is_new) continue;
    if (!plan::VerifyPlacement(snapshot, job.job, job.gang.host_of_rank, job.uses_backup).ok()) {
      std::abort();
    }
    const int gpus = snapshot.jobs[static_cast<std::size_t>(job.job)].job.gpus_per_worker;
    for (const fabric::HostId host : job.gang.host_of_rank) {
      snapshot.cluster.hosts[host.index()].free_gpus -= static_cast<std::int16_t>(gpus);
    }
  }
  return 0;
}
