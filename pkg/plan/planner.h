// Places the jobs of a snapshot. What placed jobs get of the network is pkg/netplan's part.
//
// Jobs without a placement are planned one after another, highest priority first, then oldest, then
// by namespace/name; each sees what the ones before it took.
//
// Determinism: (snapshot, options) alone decide. Thread safety: pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/placement/gang_planner.h"
#include "pkg/plan/leaving_hosts.h"
#include "pkg/plan/place_policy.h"
#include "pkg/plan/preemption.h"
#include "pkg/plan/queue.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

struct PlanOptions {
  placement::PlannerOptions placement;
  Policies policies;  // what is done besides the search for free places
};

struct JobPlan {
  JobId job;
  bool is_new = false;       // placed by this call
  bool uses_backup = false;  // on lent spares, or a replacement
  placement::GangPlan gang;
  // Where contention decided between equal places: for which, and why.
  std::string contention_note;
  // Of a job placed by this call: what its author should know of the place, each with the fix.
  std::vector<std::string> warnings;
  // A waiting job that waits for hosts which come free soon. They and the rest of its place are
  // kept for it.
  std::optional<AwaitedHosts> awaited;
  bool sought_victims = false;  // a waiting job for which victims were looked for
  // Of a job that waits: the gangs to stop for it, if that helps. Without victims: the place that
  // gangs stopped for other jobs leave.
  std::optional<Preemption> preemption;
};

struct Plan {
  // Placed ones by id, unchanged but for replaced hosts, then the waiting ones in planning order.
  std::vector<JobPlan> jobs;
  std::vector<Reservation> reservations;
};

Plan MakePlan(const Snapshot& snapshot, const PlanOptions& options = {});

}  // namespace yardmaster::plan
