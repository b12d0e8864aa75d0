// Moves of running gangs: what one is, what it costs and gains, and what they are to improve.
//
// A move takes one whole gang off its hosts and puts it where the planner puts it then; in between
// the gang restarts from a checkpoint. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "pkg/placement/gang_request.h"
#include "pkg/placement/objective.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// What the owner of a placed gang says about moving it.
struct MoveTerms {
  bool movable = false;  // it runs, and may be restarted elsewhere
  // Seconds that a move costs the gang: the restart, and the work since its last checkpoint.
  double lost_seconds = 0;
  std::string why_not = {};  // for people, where it is not movable
};

struct RebalanceOptions {
  placement::PlannerOptions placement{.explain = false};
  int max_moves = 8;
  // A move, or all moves for one waiting gang together, gains at least so many times its price.
  // What moves for a waiting gang change in lost GPUs is not counted.
  double min_gain = 0;
  // What is gained counts for so long, and not beyond the expected end of the gang.
  double horizon_seconds = 6 * 3600;
  // Plans of one gang, and predictions of lost GPUs, before the search for moves is cut.
  int max_plans = 2'000;
  int max_predictions = 100;
  std::stop_token stop = {};  // cuts the search, too
};

struct MoveGain {
  std::int64_t segments = 0;  // fewer that the gang stands in
  std::int64_t domains = 0;   // likewise; 0 on a fabric without domains
  double lost_gpus = 0;       // fewer GPUs that all running gangs lose to the network
  // Waiting gangs that fit once this move and those before it are done.
  std::vector<JobId> admits;
  // GPU time of what is gained by fewer lost GPUs and by starting a waiting gang now.
  double gpu_seconds = 0;
};

struct Move {
  JobId job;
  std::vector<fabric::HostId> from, to;  // by rank
  double price_gpu_seconds = 0;
  MoveGain gain;
  std::string why;  // one sentence
};

// Minimised in the order of the fields. Gangs that come to fit count among the first only, so that
// the other numbers are of the same gangs before and after.
struct FleetObjective {
  std::int64_t waiting = 0;     // gangs that wait and fit nowhere now
  placement::Objective places;  // sums over the running gangs
  double lost_gpus = 0;  // whose work they lose by being cut, and to each other (ContentionCost)
};

// Whether `a` is better than `b`. A thousandth of a lost GPU is no difference.
bool IsBetter(const FleetObjective& a, const FleetObjective& b);

// `sum` once a gang has changed its place.
placement::Objective Changed(placement::Objective sum, const placement::Objective& before,
                             const placement::Objective& after);

}  // namespace yardmaster::plan
