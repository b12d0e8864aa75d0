#include "pkg/operator/jobs/move_proposals.h"

#include <utility>

#include "pkg/base/status.h"
#include "pkg/kube/object.h"
#include "pkg/operator/jobs/move_snapshot.h"
#include "pkg/operator/jobs/move_terms.h"

namespace yardmaster::op {

namespace {

constexpr std::string_view kDayIsSpent = "DayIsSpent";
constexpr std::string_view kSegmentIsBusy = "SegmentIsBusy";

absl::StatusOr<std::vector<api::DisruptionBudget>> ReadBudgets(kube::Client& client) {
  std::vector<api::DisruptionBudget> budgets;
  const absl::Status read = kube::ReadAll(
      client, {kube::PodDisruptionBudgets(), "", "", ""}, [&] { budgets.clear(); },
      [&](JsonView object) {
        auto budget = api::DecodeDisruptionBudget(object);
        if (budget.ok()) budgets.push_back(*std::move(budget));
      });
  YM_RETURN_IF_ERROR(
      Annotate(read,
               "no move is asked for without disruption budgets, which the operator may list "
               "where the chart's moves.mode is Auto"));
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
                            "GPU seconds that moves by the policy were to cost in the last day")),
      limit_(registry.GetGauge("yardmaster_operator_moves_limit_gpu_seconds",
                               "GPU seconds that moves by the policy may cost in a day")) {
  const auto add = [&](std::string_view reason) {
    left_out_.emplace(
        reason, registry.GetGauge("yardmaster_operator_moves_left_out",
                                  "gangs that no move helps, and moves that were not asked for",
                                  {{"reason", std::string(reason)}}));
  };
  for (const std::string_view reason : plan::kStayReasonNames) add(reason);
  for (const std::string_view reason : {kDayIsSpent, kSegmentIsBusy}) add(reason);
}

absl::Status MoveProposals::Look(const state::ClusterState& cluster, std::int64_t now_ms,
                                 const std::stop_token& stop) {
  if (options_.mode == MovesMode::kOff) return absl::OkStatus();
  // Also where the look fails: a job may be gone at the next one.
  const double spent = spending_.Update(cluster.jobs, now_ms);
  spent_.Set(spent);
  const bool asks = options_.mode == MovesMode::kAuto;
  const plan::Snapshot snapshot = MoveSnapshot(cluster, now_ms);
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
  limit_.Set(DayLimit(options_, snapshot));
  Count(answer);
  if (listener_) listener_(answer, snapshot);
  if (!asks || stop.stop_requested()) return absl::OkStatus();
  return Ask(cluster, snapshot, answer, spent, now_ms);
}

void MoveProposals::Count(const plan::Rebalancing& proposed) {
  double price = 0, gain = 0, admissions = 0;
  for (const plan::Move& move : proposed.moves) {
    price += move.price_gpu_seconds;
    gain += move.gain.gpu_seconds;
    admissions += static_cast<double>(move.gain.admits.size());
  }
  moves_.Set(static_cast<double>(proposed.moves.size()));
  price_.Set(price);
  gain_.Set(gain);
  admissions_.Set(admissions);
  std::map<std::string_view, double> left_out;
  for (const plan::Stay& stay : proposed.stays) {
    left_out[plan::kStayReasonNames[static_cast<std::size_t>(stay.reason)]] += 1;
  }
  for (auto& [reason, gauge] : left_out_) gauge.Set(left_out[reason]);
}

absl::Status MoveProposals::Ask(const state::ClusterState& cluster, const plan::Snapshot& snapshot,
                                const plan::Rebalancing& proposed, double spent,
                                std::int64_t now_ms) {
  const MoveChoice choice =
      ChooseMove(cluster, snapshot, proposed, DayLimit(options_, snapshot) - spent);
  left_out_.at(kDayIsSpent).Set(choice.too_dear);
  left_out_.at(kSegmentIsBusy).Set(choice.busy);
  if (choice.move == nullptr) return absl::OkStatus();
  YM_ASSIGN_OR_RETURN(const bool asked, AskForMove(client_, cache_, cluster, snapshot, *choice.move,
                                                   now_ms, spending_));
  if (asked) asked_.Increment();
  return absl::OkStatus();
}

void MoveProposals::Clear() {
  for (const metrics::Gauge* gauge : {&moves_, &price_, &gain_, &admissions_, &spent_, &limit_}) {
    gauge->Set(0);
  }
  for (auto& [reason, gauge] : left_out_) gauge.Set(0);
  if (listener_) listener_({}, {});
}

}  // namespace yardmaster::op
