// Manifests of `kubectl yardmaster plan`: for all bytes, the answer is a report or an error,
// and every new placement passes the verifier in the room that the ones before it left; so does
// what a job would get once the gangs stopped for it have left. The same where the manifests come
// on top of a cluster.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>
#include <vector>

#include "pkg/cli/commands.h"
#include "pkg/cli/input/cluster_overlay.h"
#include "pkg/cli/input/manifests.h"
#include "pkg/cli/input/nic_devices.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/verifier.h"
#include "pkg/state/snapshot_builder.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

// Adds `times` what each rank has to what is free on the hosts.
void Free(const std::vector<fabric::HostId>& host_of_rank, const workload::Job& job, int times,
          plan::Snapshot& snapshot) {
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank) {
    if (!host_of_rank[rank].valid()) continue;
    placement::HostState& state = snapshot.cluster.hosts[host_of_rank[rank].index()];
    const int gpus = times * job.GpusOf(static_cast<int>(rank));
    state.free_gpus = static_cast<std::int16_t>(std::min<int>(state.gpus, state.free_gpus + gpus));
  }
}

void Verify(const plan::Snapshot& snapshot, plan::JobId job, const placement::GangPlan& gang,
            bool uses_backup) {
  if (!plan::VerifyPlacement(snapshot, job, gang.host_of_rank, uses_backup).ok()) std::abort();
}

void CheckPlan(plan::Snapshot snapshot) {
  plan::PlanOptions options;
  options.placement.max_steps = 2000;
  options.policies = {plan::StopOthers(4)};
  const plan::Plan plan = plan::MakePlan(snapshot, options);
  plan::Snapshot after = snapshot;  // the stopped ones have left
  const auto spec = [&](plan::JobId job) -> const workload::Job& {
    return snapshot.jobs[job.index()].job;
  };
  for (const plan::JobPlan& job : plan.jobs) {
    if (job.is_new) {
      Verify(snapshot, job.job, job.gang, job.uses_backup);
      Free(job.gang.host_of_rank, spec(job.job), -1, snapshot);
      Free(job.gang.host_of_rank, spec(job.job), -1, after);
    }
    if (!job.preemption) continue;
    for (const plan::JobId victim : job.preemption->victims) {
      Free(snapshot.jobs[victim.index()].assignment->host_of_rank, spec(victim), 1, after);
    }
    Verify(after, job.job, job.preemption->gang, false);
    Free(job.preemption->gang.host_of_rank, spec(job.job), -1, after);
  }
}

// A Fabric with the NICs that are read is one that can be built, or they are refused with a text.
void CheckNics(const cli::Manifests& manifests) {
  std::vector<std::string> hosts;
  for (const auto& node : manifests.cluster.nodes) hosts.push_back(node->metadata.name);
  for (const auto& described : manifests.cluster.fabrics) {
    fabric::FabricSpec spec = described->spec;
    const auto found = cli::SetNics(hosts, manifests.nics, spec);
    if (found.ok() ? !fabric::Validate(spec).ok() : found.status().message().empty()) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  std::istringstream again(text), in(text);
  std::ostringstream out, err;
  const int code = cli::RunPlanCommand({"--offline", "-f", "-", "--paths", "--max-steps", "2000"},
                                       /*connect=*/nullptr, again, out, err);
  if (code != 0 && err.str().empty()) std::abort();
  const auto manifests = cli::ReadManifests({"-"}, in);
  if (!manifests.ok()) {
    if (code != 1) std::abort();
    return 0;
  }
  CheckPlan(state::BuildSnapshot(manifests->cluster));
  CheckNics(*manifests);
  // On top of themselves they are what they were.
  const cli::Manifests twice = cli::Overlay(*manifests, *manifests);
  if (twice.cluster.jobs.size() != manifests->cluster.jobs.size() ||
      twice.cluster.nodes.size() != manifests->cluster.nodes.size()) {
    std::abort();
  }
  CheckPlan(state::BuildSnapshot(twice.cluster));
  return 0;
}
