// Defines moves of running gangs, their price and gain, and the objective that they improve.
//
// A move takes a whole gang off its hosts and puts it on other hosts. In between the gang restarts
// from a checkpoint.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "pkg/placement/gang_request.h"
#include "pkg/placement/objective.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::plan {

// Whether a placed gang may be moved, and at what price.
struct MoveTerms {
  bool movable = false;  // it runs and may be restarted on other hosts
  // Price in seconds: the restart, and the work since the last checkpoint.
  double lost_seconds = 0;
  std::string why_not = {};  // reason if it is not movable
};

struct RebalanceOptions {
  placement::PlannerOptions placement{.explain = false};
  int max_moves = 8;
  // Minimum ratio of gain to price of a move, or of all moves for one waiting gang together. For
  // the latter, changes in lost GPUs are not counted.
  double min_gain = 0;
  // Time for which a gain counts, at most until the expected end of the gang.
  double horizon_seconds = 6 * 3600;
  // Maximum number of plans of one gang, and of predictions of lost GPUs. The search is cut after
  // that.
  int max_plans = 2'000;
  int max_predictions = 100;
  std::stop_token stop = {};  // also cuts the search
};

struct MoveGain {
  std::int64_t segments = 0;  // reduction of the gang's segments
  std::int64_t domains = 0;   // reduction of its domains; 0 without domains
  double lost_gpus = 0;       // reduction of the GPUs that all running gangs lose to the network
  // Waiting gangs that fit after this move and those before it.
  std::vector<JobId> admits;
  // GPU time gained by fewer lost GPUs and by the earlier start of a waiting gang.
  double gpu_seconds = 0;
};

struct Move {
  JobId job;
  std::vector<fabric::HostId> from, to;  // by rank
  double price_gpu_seconds = 0;
  MoveGain gain;
  std::string why;  // one sentence
};

// Minimised in the order of the fields. Gangs that become placed affect only `waiting`, so that the
// other numbers compare the same gangs.
struct FleetObjective {
  std::int64_t waiting = 0;     // gangs that wait and do not fit
  placement::Objective places;  // sums over the running gangs
  double lost_gpus = 0;         // GPU equivalents lost to the network (ContentionCost)
};

// Whether `a` is better than `b`. Differences of less than a thousandth of a lost GPU do not count.
bool IsBetter(const FleetObjective& a, const FleetObjective& b);

// Returns `sum` after a gang has changed its place.
placement::Objective Changed(placement::Objective sum, const placement::Objective& before,
                             const placement::Objective& after);

}  // namespace yardmaster::plan
