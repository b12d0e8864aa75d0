// Moves of running TrainingJobs that would let waiting gangs start, or give jobs better places: as
// metrics, and, where the policy says so, asked for (move_policy.h).
//
//   yardmaster_operator_proposed_moves                    moves
//   yardmaster_operator_proposed_moves_price_gpu_seconds  what they cost
//   yardmaster_operator_proposed_moves_gain_gpu_seconds   what they gain
//   yardmaster_operator_proposed_admissions               waiting gangs that would fit then
//   yardmaster_operator_asked_moves_total                 moves that the policy has asked for
//   yardmaster_operator_moves_spent_gpu_seconds           what those of the last day have cost
//   yardmaster_operator_moves_limit_gpu_seconds           what they may cost in a day
//   yardmaster_operator_moves_left_out{reason}            gangs that wait, or could stand better,
//       and that no move helps, by plan::StayReason; and moves that were not asked for: DayIsSpent,
//       SegmentIsBusy
//
// Only moves that gain at least what they cost are counted; where the policy asks for them, at
// least what it wants, and only those that disruption budgets allow and that no job refused it in
// the last hour. Gangs whose pods do not follow their place stay (move_terms.h). Thread safety: one
// thread. Lifetimes: everything passed in outlives it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string_view>

#include "absl/status/status.h"

#include "pkg/kube/client.h"
#include "pkg/metrics/registry.h"
#include "pkg/operator/jobs/move_policy.h"
#include "pkg/plan/rebalance/rebalance.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

class MoveProposals {
 public:
  // Told what each Look has found in its snapshot; after Clear: nothing.
  using Listener = std::function<void(const plan::Rebalancing&, const plan::Snapshot&)>;

  MoveProposals(metrics::Registry& registry, kube::Client& client, state::ClusterCache& cache,
                MovePolicyOptions options = {}, Listener listener = nullptr);

  // Counts those of this cluster, and asks for one where that is the policy. Errors: of
  // plan::ProposeMoves, then the metrics of proposals are as they were; of reading disruption
  // budgets and of asking. `stop` cuts the search, and nothing is asked for then.
  absl::Status Look(const state::ClusterState& cluster, std::int64_t now_ms,
                    const std::stop_token& stop = {});
  // Another process says them.
  void Clear();

 private:
  absl::Status Ask(const state::ClusterState& cluster, const plan::Snapshot& snapshot,
                   const plan::Rebalancing& proposed, double spent, std::int64_t now_ms);
  void Count(const plan::Rebalancing& proposed);

  kube::Client& client_;
  state::ClusterCache& cache_;
  const MovePolicyOptions options_;
  const Listener listener_;
  MoveSpending spending_;
  const metrics::Gauge moves_;
  const metrics::Gauge price_;
  const metrics::Gauge gain_;
  const metrics::Gauge admissions_;
  const metrics::Counter asked_;
  const metrics::Gauge spent_;
  const metrics::Gauge limit_;
  std::map<std::string_view, metrics::Gauge> left_out_;  // by reason
};

}  // namespace yardmaster::op
