// Gangs on a fabric of 131,072 GPUs whose NICs spray packets (crds/presets/mrc-like.yaml), planned
// end to end: places, then what each gets of the network; again with nothing changed, with some
// cables lost, and with one gang more. Usage: spray_bench [hosts per gang=120] [lost cables=64].
// Prints CPU seconds and the most memory so far.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <sys/resource.h>

#include "pkg/base/random.h"
#include "pkg/cli/input/presets.h"
#include "pkg/netplan/network_plan.h"
#include "pkg/netplan/previous_network_after.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"

namespace {

using namespace yardmaster;

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double PeakGigabytes() {
  rusage use = {};
  getrusage(RUSAGE_SELF, &use);
  return static_cast<double>(use.ru_maxrss) / 1e6;
}

template <typename Work>
auto Timed(const char* what, Work work) {
  const double begin = CpuSeconds();
  auto result = work();
  std::printf("%-28s %8.2f s   %6.2f GB\n", what, CpuSeconds() - begin, PeakGigabytes());
  return result;
}

void AddGang(plan::Snapshot& snapshot, int hosts) {
  char name[16];
  std::snprintf(name, sizeof name, "g%05d", static_cast<int>(snapshot.jobs.size()));
  plan::JobState& job = plan::AddJob(snapshot, name, hosts);
  job.job.profile.flop_per_iteration = 1e15 * hosts;
  job.job.profile.compute_seconds = 1;
  job.job.profile.data_bytes = 20e9;
}

// Commits what was placed. How many that is.
int Commit(const plan::Plan& plan, plan::Snapshot& snapshot) {
  int placed = 0;
  for (const plan::JobPlan& job : plan.jobs) {
    if (!job.is_new) continue;
    plan::Place(snapshot, job.job, job.gang.host_of_rank);
    ++placed;
  }
  return placed;
}

}  // namespace

int main(int argc, char** argv) {
  const int hosts = argc > 1 ? std::atoi(argv[1]) : 120;
  const int lost = argc > 2 ? std::atoi(argv[2]) : 64;
  const auto fabric = cli::LoadPreset("mrc-like");
  if (!fabric.ok() || hosts < 2) return 1;
  plan::Snapshot snapshot = Timed("fabric", [&] { return plan::MakeSnapshot(fabric->spec); });
  const int gangs = snapshot.places->num_hosts() * 97 / 100 / hosts;
  for (int g = 0; g < gangs; ++g) AddGang(snapshot, hosts);
  const plan::Plan places = Timed("places", [&] { return plan::MakePlan(snapshot); });
  const int placed = Commit(places, snapshot);
  netplan::NetworkMemory memory;
  netplan::PreviousNetwork previous;
  netplan::NetworkInput input;
  input.memory = &memory;
  const auto round = [&](const char* what) {
    const netplan::NetworkPlan plan = Timed(
        what, [&] { return netplan::PlanNetwork(snapshot, netplan::PlacedJobs(snapshot), input); });
    previous = netplan::PreviousNetworkAfter(plan, snapshot, previous);
    input.previous = &previous;
    return plan.paths.size();
  };
  const std::size_t flows = round("network, from nothing");
  round("network, nothing changed");
  Random random(1);
  snapshot.cable_down.assign(static_cast<std::size_t>(snapshot.network->num_cables()), 0);
  for (int i = 0; i < lost; ++i) snapshot.cable_down[random.Below(snapshot.cable_down.size())] = 1;
  round("network, cables lost");
  AddGang(snapshot, hosts / 2);
  const plan::Plan more = Timed("place of one gang more", [&] { return plan::MakePlan(snapshot); });
  const int added = Commit(more, snapshot);
  round("network, one gang more");
  std::printf("%d + %d of %d gangs of %d hosts, %zu sprayed flows, %d GPUs, %d cables\n", placed,
              added, gangs + 1, hosts, flows, snapshot.places->num_hosts() * 8,
              snapshot.network->num_cables());
  return placed == gangs && added == 1 ? 0 : 1;
}
