// Places the jobs of a snapshot. pkg/netplan plans the network of placed jobs.
//
// Jobs without a place are planned one after another, in the order of queue.h (priority first).
// Each sees what the jobs before it took.
//
// Determinism: a function of (snapshot, options). Thread safety: pure functions.
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
  Policies policies;  // what is done in addition to the search for free places
};

struct JobPlan {
  JobId job;
  bool is_new = false;       // placed by this call
  bool uses_backup = false;  // the place uses lent spares, or is a replacement
  placement::GangPlan gang;
  // If contention decided between equal places: for which one, and why.
  std::string contention_note;
  // For a job placed by this call: warnings about its place, each with the fix.
  std::vector<std::string> warnings;
  // For a waiting job: the hosts that will soon be free, for which it waits, and the rest of its
  // place. They are kept for it.
  std::optional<AwaitedHosts> awaited;
  bool sought_victims = false;  // for a waiting job: victims were searched
  // For a waiting job: the gangs to stop for it, if that helps. Without victims: the place that
  // gangs stopped for other jobs leave.
  std::optional<Preemption> preemption;
};

struct Plan {
  // Placed jobs by id, unchanged except for replaced hosts; then waiting jobs in planning order.
  std::vector<JobPlan> jobs;
  std::vector<Reservation> reservations;
};

Plan MakePlan(const Snapshot& snapshot, const PlanOptions& options = {});

}  // namespace yardmaster::plan
