// A round of the network planner over a fabric full of gangs: from nothing, with everything as it
// was, and with one gang more. Usage: network_bench [gangs=1000] [hosts per gang=16]
// [candidates=128] [search budget in events]. Prints CPU time, and the fullest uplink over what an
// even spread would give.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <set>

#include "pkg/netplan/network_plan.h"
#include "pkg/netplan/previous_network.h"
#include "pkg/netplan/previous_network_after.h"
#include "pkg/plan/testing/snapshots.h"
#include "pkg/repac/testing/networks.h"

namespace {

using namespace yardmaster;

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// Gangs one after the other over the hosts in a fixed shuffle: `apart` of every 100 gangs lie
// across segments.
plan::Snapshot MakeCluster(int gangs, int hosts_per_gang) {
  const int per_segment = 128;
  const int hosts = gangs * hosts_per_gang;
  const int segments = std::max(2, (hosts + per_segment - 1) / per_segment);
  const int pods = (segments + 14) / 15;
  fabric::FabricSpec spec = repac::HpnPod(std::min(segments, 15), per_segment);
  spec.fabric_pods = pods;
  plan::Snapshot snapshot = plan::MakeSnapshot(spec);
  std::vector<fabric::HostId> order;
  const int half = hosts_per_gang / 2;
  for (fabric::FabricPodId pod : snapshot.places->fabric_pods()) {
    const auto all = snapshot.places->segments_of(pod);
    for (int s = 0; s < all.size(); ++s) {
      const auto one = snapshot.places->hosts_of(all[s]);
      const auto other = snapshot.places->hosts_of(all[(s + 1) % all.size()]);
      for (int i = 0; i + half <= per_segment / 2; i += half) {
        // Neighbours in the ring stand apart, so that every flow needs an uplink.
        for (int k = 0; k < half; ++k) {
          order.push_back(one[i + k]);
          order.push_back(other[per_segment / 2 + i + k]);
        }
      }
    }
  }
  const int fit = std::min<int>(gangs, static_cast<int>(order.size()) / hosts_per_gang);
  for (int g = 0; g < fit; ++g) {
    char name[16];
    std::snprintf(name, sizeof name, "g%05d", g);
    plan::AddJob(snapshot, name, hosts_per_gang);
    plan::Place(snapshot, plan::JobId(g),
                {order.begin() + g * hosts_per_gang, order.begin() + (g + 1) * hosts_per_gang});
  }
  return snapshot;
}

// The fullest uplink of a ToR over the load of an even spread there, in the worst ToR.
void PrintBalance(const plan::Snapshot& snapshot, const netplan::NetworkPlan& plan) {
  std::map<fabric::SwitchId, std::map<fabric::LinkId, int>> load;
  for (const netplan::PathAssignment& path : plan.paths) {
    if (path.links.size() <= 2) continue;
    const auto cable = fabric::Network::cable_of(path.links[1]);
    ++load[snapshot.network->switch_port_of(cable).id][path.links[1]];
  }
  int worst = 0;
  int bound = 0;
  for (const auto& [tor, links] : load) {
    int flows = 0;
    int most = 0;
    for (const auto& [link, count] : links) {
      flows += count;
      most = std::max(most, count);
    }
    const int up = snapshot.network->num_up_ports(tor);
    if (most * up > worst * std::max(bound, 1)) {
      worst = most;
      bound = (flows + up - 1) / up;
    }
  }
  std::printf("  fullest uplink of a ToR: %d flows, even spread %d\n", worst, bound);
}

}  // namespace

int main(int argc, char** argv) {
  const int gangs = argc > 1 ? std::atoi(argv[1]) : 1000;
  const int hosts = argc > 2 ? std::atoi(argv[2]) : 16;
  plan::Snapshot snapshot = MakeCluster(gangs, hosts);
  netplan::NetworkInput input;
  input.predict_shares = true;
  if (argc > 3) input.max_candidates = std::atoi(argv[3]);
  if (argc > 4) input.policy.search.event_budget = std::atoll(argv[4]);
  std::printf("%zu gangs of %d hosts, %d hosts in all\n", snapshot.jobs.size(), hosts,
              snapshot.places->num_hosts());
  plan::JobState last = snapshot.jobs.back();
  snapshot.jobs.pop_back();
  netplan::PreviousNetwork previous;
  netplan::NetworkMemory memory;
  input.memory = &memory;
  const auto round = [&](const char* what) {
    input.previous = &previous;
    const double begin = CpuSeconds();
    const netplan::NetworkPlan plan =
        netplan::PlanNetwork(snapshot, netplan::PlacedJobs(snapshot), input);
    const double planned = CpuSeconds();
    previous = netplan::PreviousNetworkAfter(plan, snapshot, previous);
    std::printf(
        "%-22s %7.0f ms (%d searches), remembering %5.0f ms; flows: %d kept, %d changed, %d new, "
        "%d "
        "without a port; levels used %zu\n",
        what, (planned - begin) * 1e3, static_cast<int>(plan.report.decision.searches),
        (CpuSeconds() - planned) * 1e3, plan.report.kept_flows, plan.report.changed_flows,
        plan.report.new_flows, plan.report.unplanned_flows, [&] {
          std::set<int> levels;
          for (const auto& network : plan.jobs) {
            if (network) levels.insert(network->level);
          }
          return levels.size();
        }());
    return plan;
  };
  PrintBalance(snapshot, round("from nothing"));
  round("nothing changed");
  snapshot.jobs.push_back(last);
  PrintBalance(snapshot, round("one gang more"));
  const auto some_uplink = snapshot.network->up_cable(
      snapshot.network->tor({snapshot.jobs[0].assignment->host_of_rank[0], 0, 0}), 7);
  input.avoid = {some_uplink};
  round("an uplink to avoid");
  input.avoid.clear();
  snapshot.cable_down.assign(static_cast<std::size_t>(snapshot.network->num_cables()), 0);
  snapshot.cable_down[some_uplink.index()] = 1;
  round("the uplink is down");
  return 0;
}
