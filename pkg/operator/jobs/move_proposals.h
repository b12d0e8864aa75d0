// Whether moves of running TrainingJobs would let waiting gangs start, or give jobs better places,
// as metrics. It moves nothing: `kubectl yardmaster rebalance` says which moves they are.
//
//   yardmaster_operator_proposed_moves                    moves
//   yardmaster_operator_proposed_moves_price_gpu_seconds  what they cost
//   yardmaster_operator_proposed_moves_gain_gpu_seconds   what they gain
//   yardmaster_operator_proposed_admissions               waiting gangs that would fit then
//
// Only moves that gain at least what they cost are counted. Disruption budgets are not read here.
// Thread safety: one thread. Lifetimes: the registry outlives it.
#pragma once

#include <cstdint>
#include <stop_token>

#include "absl/status/status.h"

#include "pkg/metrics/registry.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

class MoveProposals {
 public:
  explicit MoveProposals(metrics::Registry& registry);

  // Counts those of this cluster. Errors: of plan::ProposeMoves; the metrics are as they were.
  // `stop` cuts the search.
  absl::Status Look(const state::ClusterState& cluster, std::int64_t now_ms,
                    const std::stop_token& stop = {});
  // Another process says them.
  void Clear();

 private:
  const metrics::Gauge moves_;
  const metrics::Gauge price_;
  const metrics::Gauge gain_;
  const metrics::Gauge admissions_;
};

}  // namespace yardmaster::op
