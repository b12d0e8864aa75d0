// The whole planner: placement -> crux -> repac, over a snapshot.
//
// Jobs without a placement are planned one after another, highest priority first, then oldest, then
// by namespace/name; each sees what the ones before it took. Then every placed job, old and new,
// gets its intensity, paths and level, and on request its source ports.
//
// Determinism: (snapshot, options) alone decide. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/crux/decide.h"
#include "pkg/fabric/link_path.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/plan/preemption.h"
#include "pkg/plan/previous_network.h"
#include "pkg/plan/queue.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// What the network half of a plan may use, and what it starts from.
struct NetworkInput {
  // The present plan: jobs that did not change keep levels and ports. Null: plan from nothing. Must
  // outlive the call.
  const PreviousNetwork* former = nullptr;
  // Cables that no flow is to use although routing may (not noticed yet, held back after flapping,
  // miswired), besides Snapshot::cable_down, which routing has left.
  std::vector<fabric::CableId> avoid;
  // NICs that get no source ports: (host, rail).
  std::vector<std::pair<fabric::HostId, int>> exclude;
  // Switch roles whose hashes are not trusted, and why.
  std::map<std::string, std::string> mistrusted;
  // Uplinks a flow may choose among; more are thinned out evenly.
  int max_candidates = 128;
  // Also predict which share of its ideal rate each job gets, where `held_levels` hold instead of
  // the planned ones.
  bool predict_shares = false;
  std::map<workload::JobKey, int> held_levels;
  // The network policy; its seed, reserved levels and state are set by the planner.
  crux::Options policy;
};

struct PlanOptions {
  placement::PlannerOptions placement;
  bool network = true;  // intensity, priority and level
  bool paths = false;   // source ports per connection
  std::uint64_t seed = 1;
  bool replace_lost = false;  // also find new hosts for the lost ranks of placed jobs
  // Take, among places that are equal in the objective, the one at which the new job and those it
  // shares uplinks with are predicted to get most done (contention_cost.h).
  bool contention = false;
  // Also choose victims for waiting jobs, for at most this many of the first jobs of the queue that may
  // stop others; what they would get is kept from the jobs behind them. 0: for no job.
  int preemptions = 0;
  NetworkInput input;
};

struct JobPlan {
  int job = 0;               // index into Snapshot::jobs
  bool is_new = false;       // placed by this call
  bool uses_backup = false;  // on lent spares, or a replacement
  placement::GangPlan gang;
  // Where contention decided between equal places: for which, and why.
  std::string contention_note;
  std::optional<JobNetwork> network;
  bool sought_victims = false;  // a waiting job for which victims were looked for
  // Of a job that waits: the gangs to stop for it, if that helps. Without victims: the place that gangs
  // stopped for other jobs leave.
  std::optional<Preemption> preemption;
};

// A flow between two workers and the path that its source port takes; without links where that
// cannot be predicted.
struct PathAssignment : repac::FlowPath {
  int job = 0;
  int from_rank = 0;  // workers
  int to_rank = 0;
  fabric::NicPort from;
  fabric::NicPort to;
  double bytes = 0;  // sent over it in one iteration
  FlowKey key;
  fabric::LinkPath wanted_links;  // where no port is planned: the path Crux chose
  std::string reason;             // why no port is planned
};

// How the network half went.
struct NetworkReport {
  int kept_flows = 0;     // that kept their port
  int changed_flows = 0;  // with another port than before, or none any more
  int new_flows = 0;
  int unplanned_flows = 0;
  int changed_jobs = 0;  // that chose paths
  crux::DecisionReport decision;
  std::string problem;  // why no job got numbers, e.g. every level is reserved
};

struct Plan {
  std::vector<JobPlan> jobs;  // placed ones unchanged, then the waiting in planning order
  std::vector<Reservation> reservations;
  std::vector<PathAssignment> paths;
  // Paths of acknowledgements, where a job sends one way only: from the receiver of a flow to its
  // sender. Counts in `network` are without them.
  std::vector<PathAssignment> answers;
  NetworkReport network;
};

Plan MakePlan(const Snapshot& snapshot, const PlanOptions& options = {});

// Indices of the jobs that wait, in the order in which they are planned.
std::vector<int> QueueOrder(const Snapshot& snapshot);

}  // namespace yardmaster::plan
