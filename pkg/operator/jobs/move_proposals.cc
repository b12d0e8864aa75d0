#include "pkg/operator/jobs/move_proposals.h"

#include <utility>

#include "pkg/base/status.h"
#include "pkg/kube/object.h"
#include "pkg/operator/jobs/move_terms.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::op {

namespace {

absl::StatusOr<std::vector<api::DisruptionBudget>> ReadBudgets(kube::Client& client) {
  std::vector<api::DisruptionBudget> budgets;
  YM_RETURN_IF_ERROR(kube::ReadAll(
      client, {kube::PodDisruptionBudgets(), "", "", ""}, [&] { budgets.clear(); },
      [&](JsonView object) {
        auto budget = api::DecodeDisruptionBudget(object);
        if (budget.ok()) budgets.push_back(*std::move(budget));
      }));
  return budgets;
}

}  // namespace

MoveProposals::MoveProposals(metrics::Registry& registry, kube::Client& client,
                             state::ClusterCache& cache, MovePolicyOptions options,
                             Listener listener)
    : client_(client),
      cache_(cache),
      options_(options),
      listener_(std::move(listener)),
      moves_(registry.GetGauge("yardmaster_operator_proposed_moves",
                               "moves of running jobs that would gain what they cost")),
      price_(registry.GetGauge("yardmaster_operator_proposed_moves_price_gpu_seconds",
                               "GPU seconds that the proposed moves cost")),
      gain_(registry.GetGauge("yardmaster_operator_proposed_moves_gain_gpu_seconds",
                              "GPU seconds that the proposed moves gain")),
      admissions_(registry.GetGauge("yardmaster_operator_proposed_admissions",
                                    "waiting gangs that would fit after the proposed moves")),
      asked_(registry.GetCounter("yardmaster_operator_asked_moves_total",
                                 "moves of running jobs that the policy has asked for")),
      spent_(
          registry.GetGauge("yardmaster_operator_moves_spent_gpu_seconds",
                            "GPU seconds that moves by the policy were to cost in the last day")) {}

absl::Status MoveProposals::Look(const state::ClusterState& cluster, std::int64_t now_ms,
                                 const std::stop_token& stop) {
  if (options_.mode == MovesMode::kOff) return absl::OkStatus();
  // Also where the look fails: a job may be gone at the next one.
  const double spent = spending_.Update(cluster.jobs, now_ms);
  spent_.Set(spent);
  const bool asks = options_.mode == MovesMode::kAuto;
  plan::Snapshot snapshot = state::BuildSnapshot(cluster);
  snapshot.now_ms = now_ms;
  plan::RebalanceOptions options;
  options.min_gain = asks ? options_.min_gain : 1;
  options.stop = stop;
  TermsByGang terms = MoveTermsOf(cluster.jobs, now_ms, options_.least_run_ms);
  KeepFollowing(cluster.gangs, terms);
  if (asks) {
    KeepWilling(cluster.jobs, now_ms, terms);
    YM_ASSIGN_OR_RETURN(const auto budgets, ReadBudgets(client_));
    KeepWithinBudgets(budgets, cluster.pods, terms);
  }
  YM_ASSIGN_OR_RETURN(const plan::Rebalancing answer,
                      plan::ProposeMoves(snapshot, TermsInOrder(terms, snapshot), options));
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
  if (listener_) listener_(answer, snapshot);
  if (!asks || stop.stop_requested()) return absl::OkStatus();
  return Ask(cluster, snapshot, answer, spent, now_ms);
}

absl::Status MoveProposals::Ask(const state::ClusterState& cluster, const plan::Snapshot& snapshot,
                                const plan::Rebalancing& proposed, double spent,
                                std::int64_t now_ms) {
  const plan::Move* move =
      ChooseMove(cluster, snapshot, proposed, options_.gpu_seconds_per_day - spent);
  if (move == nullptr) return absl::OkStatus();
  YM_ASSIGN_OR_RETURN(const bool asked,
                      AskForMove(client_, cache_, cluster, snapshot, *move, now_ms, spending_));
  if (asked) asked_.Increment();
  return absl::OkStatus();
}

void MoveProposals::Clear() {
  for (const metrics::Gauge* gauge : {&moves_, &price_, &gain_, &admissions_, &spent_}) {
    gauge->Set(0);
  }
  if (listener_) listener_({}, {});
}

}  // namespace yardmaster::op
