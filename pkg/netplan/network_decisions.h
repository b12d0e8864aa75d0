// What a network plan is made from besides the placed jobs, and what it decides. Thread safety:
// values.
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

// What a network plan may use, and what it starts from.
struct NetworkInput {
  bool ports = true;  // also plan source ports
  // The previous plan: jobs that did not change keep levels and ports. Null: plan from nothing.
  // Must outlive the call.
  const PreviousNetwork* previous = nullptr;
  // Cables that no flow is to use although routing may (not noticed yet, held back after flapping,
  // miswired), besides Snapshot::cable_down, which routing has left.
  std::vector<fabric::CableId> avoid;
  // Cables of NIC ports that lose packets, ascending: a connection uses none of them as long as
  // another of its NICs' ports has a way. Others are ignored. NICs that spray choose themselves.
  std::vector<fabric::CableId> lossy;
  std::vector<repac::Nic> exclude;  // NICs that get no source ports
  // Switch roles whose hashes are not trusted, and why.
  std::map<std::string, std::string> mistrusted;
  // Uplinks a flow may choose among; more are thinned out evenly.
  int max_candidates = 128;
  // Of earlier rounds of this network; null: none. Must outlive the call.
  NetworkMemory* memory = nullptr;
  // Also predict which share of its ideal rate each job gets, where `held_levels` hold instead of
  // the planned ones.
  bool predict_shares = false;
  std::map<NamespacedName, int> held_levels;
  // The network policy.
  crux::Options policy;
};

// A flow between two workers, with the path that its source port takes; without links where that
// cannot be predicted. `bytes` are what it sends in one iteration, not scaled; 0 for an
// acknowledgement path. Where no port is planned, `src` and `dst` are the NIC ports it asked for.
struct PathAssignment : repac::PlannedFlow {
  plan::JobId job;
  int from_rank = 0;  // workers
  int to_rank = 0;
  FlowKey key;
  // Where no port is planned: the path Crux chose; for acknowledgements only the two NICs' links,
  // and none where NICs spray.
  fabric::LinkPath wanted_links;
  // NICs or switches spread it. It has a source port only where hashes choose, too; `links` are one
  // of the links that carry it at each switch, and NetworkPlan::sprayed has its load.
  bool sprayed = false;
};

// What sprayed flows put on links: of each job, the bytes of an iteration, not scaled, that all
// links of a bundle carry together, each the same.
struct SprayedLoads {
  struct Load {
    plan::JobId job;
    std::int32_t bundle = 0;
    double bytes = 0;
  };
  std::vector<std::vector<fabric::LinkId>> bundles;
  std::vector<Load> loads;  // by job, then by bundle
};

// How the planning went.
struct NetworkReport {
  int kept_flows = 0;     // that kept their port
  int changed_flows = 0;  // with another port than before, or none any more
  int new_flows = 0;
  int unplanned_flows = 0;
  int changed_jobs = 0;  // that had to choose paths (network_plan.h)
  crux::DecisionReport decision;
  std::string problem;         // why no job got numbers, e.g. every level is reserved
  std::string hashes_problem;  // why no flow got a port: the Fabric's hashes cannot be compiled
};

struct NetworkPlan {
  std::vector<std::optional<JobNetwork>> jobs;  // by plan::JobId
  std::vector<PathAssignment> paths;            // with NetworkInput::ports
  // Paths of acknowledgements, where a job sends one way only: from the receiver of a flow to its
  // sender. Counts in `report` are without them.
  std::vector<PathAssignment> ack_paths;
  SprayedLoads sprayed;  // with NetworkInput::ports
  NetworkReport report;
};

}  // namespace yardmaster::netplan
