// MoveProposals computes moves of running TrainingJobs that would admit waiting gangs or give jobs
// better places. It exports them as metrics, and requests them if the policy says so
// (move_policy.h).
//
//   yardmaster_operator_proposed_moves                    number of moves
//   yardmaster_operator_proposed_moves_price_gpu_seconds  their price
//   yardmaster_operator_proposed_moves_gain_gpu_seconds   their gain
//   yardmaster_operator_proposed_admissions               waiting gangs that they would admit
//   yardmaster_operator_asked_moves_total                 moves that the policy has requested
//   yardmaster_operator_moves_spent_gpu_seconds           price of those of the last day
//   yardmaster_operator_moves_limit_gpu_seconds           maximum price per day
//   yardmaster_operator_moves_left_out{reason}            gangs that wait, or could have a better
//       place, and that no move helps, by plan::StayReason; and moves that were not requested:
//       DayIsSpent, SegmentIsBusy
//
//   - In mode Propose, moves that gain at least their price are counted.
//   - In mode Auto, moves are counted that gain what the policy demands, that disruption budgets
//     allow, and whose jobs have not refused the policy in the last hour.
//   - Gangs whose pods exist before their place does are not moved (move_terms.h).
//
// Thread safety: one thread. Lifetimes: everything passed in outlives the object.
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
  // Called with the result of each Look and its snapshot; with empty ones after Clear.
  using Listener = std::function<void(const plan::Rebalancing&, const plan::Snapshot&)>;

  MoveProposals(metrics::Registry& registry, kube::Client& client, state::ClusterCache& cache,
                MovePolicyOptions options = {}, Listener listener = nullptr);

  // Computes the moves of this cluster, and requests one in mode Auto. Errors: those of
  // plan::ProposeMoves, with the metrics of proposals unchanged; those of reading disruption
  // budgets and of the request. `stop` cuts the search; then no move is requested.
  absl::Status Look(const state::ClusterState& cluster, std::int64_t now_ms,
                    const std::stop_token& stop = {});
  // Sets the metrics to 0, because another process leads.
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
