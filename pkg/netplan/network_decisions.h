// Defines the input of a network plan, besides the placed jobs, and its result.
//
// Thread safety: values.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "pkg/crux/decide.h"
#include "pkg/fabric/link_path.h"
#include "pkg/netplan/network_memory.h"
#include "pkg/netplan/previous_network.h"
#include "pkg/plan/snapshot.h"
#include "pkg/repac/path_plan.h"

namespace yardmaster::netplan {

// The input of a network plan.
struct NetworkInput {
  bool ports = true;  // also plan source ports
  // The previous plan: jobs that have not changed keep levels and ports. Null: none. Must outlive
  // the call.
  const PreviousNetwork* previous = nullptr;
  // Cables that flows must avoid although routing uses them: lost but not yet noticed by routing,
  // held back after flapping, or miswired. Cables that routing does not use are in
  // Snapshot::cable_down.
  std::vector<fabric::CableId> avoid;
  // Cables of NIC ports that lose packets, ascending. A connection uses none of them if another
  // port of the NIC has a path. Cables between switches are ignored. NICs that spray choose ports
  // themselves.
  std::vector<fabric::CableId> lossy;
  std::vector<repac::Nic> exclude;  // NICs that get no source ports
  // Switch roles whose hashes are not trusted: role -> reason.
  std::map<std::string, std::string> mistrusted;
  // Maximum number of uplinks among which a flow chooses; if there are more, they are thinned out
  // evenly.
  int max_candidates = 128;
  // The state of earlier rounds of this network; null: none. Must outlive the call.
  NetworkMemory* memory = nullptr;
  // Also predict the fraction of its ideal rate that each job gets. `held_levels` replace planned
  // levels in the prediction.
  bool predict_shares = false;
  std::map<NamespacedName, int> held_levels;
  // The network policy.
  crux::Options policy;
};

// A flow between two workers, with the path of its source port. `links` is empty if the path cannot
// be predicted. `bytes`: sent per iteration, not scaled; 0 for an acknowledgement path. If no port
// is planned, `src` and `dst` are the requested NIC ports.
struct PathAssignment : repac::PlannedFlow {
  plan::JobId job;
  int from_rank = 0;  // workers
  int to_rank = 0;
  FlowKey key;
  // If no port is planned: the path that Crux chose. For acknowledgements only the links of both
  // NICs, and empty if NICs spray.
  fabric::LinkPath wanted_links;
  // NICs or switches spray the flow. It has a source port only if hashes choose, too. `links` then
  // has one of the links that carry it at each switch; NetworkPlan::sprayed has its load.
  bool sprayed = false;
};

// The load of sprayed flows on links: for each job, the bytes per iteration, not scaled, that all
// links of a bundle carry together in equal parts.
struct SprayedLoads {
  struct Load {
    plan::JobId job;
    std::int32_t bundle = 0;
    double bytes = 0;
  };
  std::vector<std::vector<fabric::LinkId>> bundles;
  std::vector<Load> loads;  // by job, then by bundle
};

// Statistics and problems of the planning.
struct NetworkReport {
  int kept_flows = 0;     // flows that kept their port
  int changed_flows = 0;  // flows with another port than before, or none now
  int new_flows = 0;
  int unplanned_flows = 0;
  int changed_jobs = 0;  // jobs that had to choose paths (network_plan.h)
  crux::DecisionReport decision;
  std::string problem;         // why no job got numbers, e.g. every level is reserved
  std::string hashes_problem;  // why no flow got a port: the Fabric's hashes cannot be compiled
};

struct NetworkPlan {
  std::vector<std::optional<JobNetwork>> jobs;  // by plan::JobId
  std::vector<PathAssignment> paths;            // with NetworkInput::ports
  // Paths of acknowledgements from the receiver of a flow to its sender, for jobs that send in one
  // direction only. The counts in `report` do not include them.
  std::vector<PathAssignment> ack_paths;
  SprayedLoads sprayed;  // with NetworkInput::ports
  NetworkReport report;
};

}  // namespace yardmaster::netplan
