#include "pkg/operator/jobs/move_proposals.h"

#include "pkg/base/status.h"
#include "pkg/operator/jobs/move_terms.h"
#include "pkg/plan/rebalance/rebalance.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::op {

MoveProposals::MoveProposals(metrics::Registry& registry)
    : moves_(registry.GetGauge("yardmaster_operator_proposed_moves",
                               "moves of running jobs that would gain what they cost")),
      price_(registry.GetGauge("yardmaster_operator_proposed_moves_price_gpu_seconds",
                               "GPU seconds that the proposed moves cost")),
      gain_(registry.GetGauge("yardmaster_operator_proposed_moves_gain_gpu_seconds",
                              "GPU seconds that the proposed moves gain")),
      admissions_(registry.GetGauge("yardmaster_operator_proposed_admissions",
                                    "waiting gangs that would fit after the proposed moves")) {}

absl::Status MoveProposals::Look(const state::ClusterState& cluster, std::int64_t now_ms,
                                 const std::stop_token& stop) {
  plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  snapshot.now_ms = now_ms;
  plan::RebalanceOptions options;
  options.min_gain = 1;
  options.stop = stop;
  YM_ASSIGN_OR_RETURN(
      const plan::Rebalancing answer,
      plan::ProposeMoves(snapshot, TermsInOrder(MoveTermsOf(cluster.jobs, now_ms), snapshot),
                         options));
  double price = 0, gain = 0, admissions = 0;
  for (const plan::Move& move : answer.moves) {
    price += move.price_gpu_seconds;
    gain += move.gain.gpu_seconds;
    admissions += static_cast<double>(move.gain.admits.size());
  }
  moves_.Set(static_cast<double>(answer.moves.size()));
  price_.Set(price);
  gain_.Set(gain);
  admissions_.Set(admissions);
  return absl::OkStatus();
}

void MoveProposals::Clear() {
  for (const metrics::Gauge* gauge : {&moves_, &price_, &gain_, &admissions_}) gauge->Set(0);
}

}  // namespace yardmaster::op
