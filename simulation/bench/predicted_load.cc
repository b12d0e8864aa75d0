#include "simulation/bench/predicted_load.h"

#include <algorithm>

#include "pkg/netplan/flow_problem.h"
#include "pkg/workload/traffic.h"

namespace yardmaster::bench {

std::vector<double> PredictedUplinkLoad(const plan::Snapshot& snapshot) {
  std::vector<double> load(static_cast<std::size_t>(snapshot.places->num_segments()), 0);
  if (!snapshot.network) return load;
  const fabric::FabricSpec& spec = snapshot.network->spec();
  const int rails_per_tor = fabric::RailsPerSwitch(spec, 0);  // they meet below its uplinks
  for (const plan::JobState& state : snapshot.jobs) {
    if (!state.assignment) continue;
    const auto connections = workload::ConnectionsOf(state.job, state.assignment->host_of_rank,
                                                     spec.rails, snapshot.places.get());
    const workload::Profile profile = workload::CompleteProfile(state.job);
    const double by_bytes = netplan::LoneSeconds(connections, spec);
    if (by_bytes <= 0) continue;
    const double seconds =
        profile.communication_seconds > 0 ? profile.communication_seconds : by_bytes;
    const double weight =
        profile.flop_per_iteration / seconds / std::max(profile.compute_seconds, seconds);
    for (const workload::TrafficDemand& c : connections) {
      const fabric::SegmentId from = snapshot.places->segment_of(c.from_host);
      const fabric::SegmentId to = snapshot.places->segment_of(c.to_host);
      if (from == to && c.from_rail / rails_per_tor == c.to_rail / rails_per_tor) continue;
      load[from.index()] += c.bytes * weight;
      load[to.index()] += c.bytes * weight;
    }
  }
  return load;
}

}  // namespace yardmaster::bench
