#include "pkg/plan/rebalance/move.h"

namespace yardmaster::plan {

namespace {

constexpr double kLeastGpus = 1e-3;

}  // namespace

bool IsBetter(const FleetObjective& a, const FleetObjective& b) {
  if (a.waiting != b.waiting) return a.waiting < b.waiting;
  if (a.places != b.places) return a.places < b.places;
  return a.lost_gpus < b.lost_gpus - kLeastGpus;
}

placement::Objective Changed(placement::Objective sum, const placement::Objective& before,
                             const placement::Objective& after) {
  using placement::Objective;
  for (std::int64_t Objective::*field :
       {&Objective::tensor_split_fabric_pods, &Objective::data_split_fabric_pods,
        &Objective::tensor_split_segments, &Objective::data_split_segments, &Objective::fabric_pods,
        &Objective::segments, &Objective::domains, &Objective::tensor_split_domains}) {
    sum.*field += after.*field - before.*field;
  }
  return sum;
}

}  // namespace yardmaster::plan
