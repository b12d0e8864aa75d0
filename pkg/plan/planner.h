// The whole planner: placement -> crux -> repac, over a snapshot.
//
// Jobs without a placement are planned one after another, highest priority first, then oldest, then
// by namespace/name; each sees what the ones before it took. Then every placed job, old and new,
// gets its intensity, paths and level, and on request its source ports.
//
// Determinism: (snapshot, options) alone decide. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/placement/gang_planner.h"
#include "pkg/plan/queue.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

struct PlanOptions {
  placement::PlannerOptions placement;
  bool network = true;  // intensity, priority and level
  bool paths = false;   // source ports per connection
  std::uint64_t seed = 1;
  bool replace_lost = false;  // also find new hosts for the lost ranks of placed jobs
  // Prefer, among equal places, those whose uplinks carry less of the other jobs' traffic.
  bool contention = false;
};

// Crux's numbers of a placed job (formats: "network").
struct JobNetwork {
  double flop_per_iteration = 0;
  double communication_seconds = 0;
  double intensity = 0;
  double priority = 0;
  int level = 0;
};

struct JobPlan {
  int job = 0;               // index into Snapshot::jobs
  bool is_new = false;       // placed by this call
  bool uses_backup = false;  // on lent spares, or a replacement
  placement::GangPlan gang;
  std::optional<JobNetwork> network;
};

// One connection and the source port that takes it along `links`.
struct PathAssignment {
  int job = 0;
  int from_rank = 0;  // workers
  int to_rank = 0;
  fabric::NicPort from;
  fabric::NicPort to;
  std::uint16_t source_port = 0;
  std::vector<fabric::LinkId> links;  // empty: unpredictable
};

struct Plan {
  std::vector<JobPlan> jobs;  // placed ones as they stand, then the waiting in planning order
  std::vector<Reservation> reservations;
  std::vector<PathAssignment> paths;
};

Plan MakePlan(const Snapshot& snapshot, const PlanOptions& options = {});

// Indices of the jobs that wait, in the order in which they are planned.
std::vector<int> QueueOrder(const Snapshot& snapshot);

}  // namespace yardmaster::plan
