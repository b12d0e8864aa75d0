#include "pkg/operator/capacity/capacity_step.h"

#include <algorithm>
#include <utility>

#include "pkg/api/status_text.h"
#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/capacity/chooser.h"
#include "pkg/capacity/sum.h"
#include "pkg/operator/capacity/rental_deadline.h"
#include "pkg/operator/capacity/rental_offers.h"

namespace yardmaster::op {

namespace {

using api::RentalPhase;
using api::RentalReason;
using capacity::Micros;

constexpr std::int64_t kMsPerHour = 3'600'000;
// Cost is written this often when nothing else changes.
constexpr std::int64_t kAccountMs = 60'000;
constexpr std::int64_t kPollMs = 5'000;
constexpr std::int64_t kWatchMs = 30'000;

Micros Cost(Micros rate, std::int64_t elapsed_ms) {
  if (rate <= 0 || elapsed_ms <= 0) return 0;
  const __int128 product = static_cast<__int128>(rate) * elapsed_ms;
  const __int128 cost = (product + kMsPerHour - 1) / kMsPerHour;
  return static_cast<Micros>(std::min<__int128>(cost, capacity::kMaxSum));
}

class CapacityStepper {
 public:
  explicit CapacityStepper(const CapacityObservation& observed)
      : observed_(observed), job_(*observed.job), status_(job_.status.capacity) {
    // The API server keeps whole seconds.
    now_ms_ = observed.now_ms / 1000 * 1000;
    ended_ = job_.status.ended();
    resizing_ = job_.status.elastic.target != 0;
    wanted_ = !ended_ && !job_.run.suspended && !job_.status.queue.holds_job() && !resizing_;
  }

  CapacityStep Run() {
    Account();
    Observe();
    switch (status_.phase) {
      case RentalPhase::kNone:
      case RentalPhase::kAwaitingPrice:
        WithoutHosts();
        break;
      case RentalPhase::kRequested:
        Requested();
        break;
      case RentalPhase::kProvisioned:
        Provisioned();
        break;
      case RentalPhase::kLeaving:
        if (observed_.live_pods == 0) Begin(RentalPhase::kReleasing);
        break;
      case RentalPhase::kReleasing:
        break;
    }
    // A release begins in the same step, and may have ended already.
    if (status_.phase == RentalPhase::kReleasing) Releasing();
    step_.provide = status_.phase == RentalPhase::kRequested;
    step_.release = status_.phase == RentalPhase::kReleasing;
    Finish();
    step_.status = std::move(status_);
    return std::move(step_);
  }

 private:
  void LookAgain(std::int64_t in_ms) {
    in_ms = std::max<std::int64_t>(in_ms, 1);
    step_.look_again_ms = std::min(step_.look_again_ms.value_or(in_ms), in_ms);
  }

  void Begin(RentalPhase phase) {
    status_.phase = phase;
    status_.since_ms = now_ms_;
  }

  void Spend(Micros more) { status_.spent = capacity::AddToSum(status_.spent, more); }

  void Account() {
    if (status_.accounted_ms != 0) {
      Spend(Cost(status_.rate, now_ms_ - status_.accounted_ms));
    }
    status_.ran_seconds += RanSecondsSince(job_, status_.accounted_ms, now_ms_);
    status_.accounted_ms = std::max(status_.accounted_ms, now_ms_);
    std::erase_if(status_.avoided,
                  [&](const api::AvoidedOffer& offer) { return offer.until_ms <= now_ms_; });
  }

  // Prices, and hosts that exist, as they are now.
  void Observe() {
    if (!status_.active() && status_.phase != RentalPhase::kAwaitingPrice) return;
    const auto& provisioning = observed_.provisioning;
    for (std::size_t i = 0; i < status_.hosts.size(); ++i) {
      api::RentedHosts& part = status_.hosts[i];
      const auto* offer = FindOffer(FindPool(observed_.pools, part.pool), part.type);
      if (offer != nullptr && offer->price_per_hour.currency == status_.currency) {
        part.price = offer->price_per_hour.micros;
      }
      if (provisioning && i < provisioning->provided.size()) {
        const int before = part.provided;
        part.provided = provisioning->provided[i];
        if (i < provisioning->charged_ms.size()) Charge(part, before, provisioning->charged_ms[i]);
      }
    }
  }

  // Hosts that were not seen before, for the time until now: they come between two looks.
  void Charge(const api::RentedHosts& part, int before, const std::vector<std::int64_t>& since) {
    for (std::size_t i = static_cast<std::size_t>(before); i < since.size(); ++i) {
      if (since[i] == 0) continue;
      Spend(Cost(part.price, now_ms_ - std::max(since[i], status_.since_ms)));
    }
  }

  // Why the caps do not say what may be spent; empty: they do.
  std::string CapProblem() const {
    if (!MayRent(job_)) {
      return "spec.capacity has no cost cap any more, and hosts are rented only below one; give it "
             "maxCostPerHour or maxTotalCost";
    }
    const std::string currency = job_.capacity.currency();
    const bool has_rented = status_.active() || status_.spent > 0;
    if (!has_rented || currency == status_.currency) return "";
    return StrCat("the caps of spec.capacity are in ", currency,
                  " and the job has rented hosts in ", status_.currency,
                  ", and none is converted; write the caps in ", status_.currency);
  }

  // What the hosts may cost together per hour, now; absent: anything.
  std::optional<Micros> HourlyCap() const {
    if (!job_.capacity.max_cost_per_hour) return std::nullopt;
    return job_.capacity.max_cost_per_hour->micros;
  }

  bool AboveCap() const {
    const std::optional<Micros> cap = HourlyCap();
    return cap && status_.price() > *cap;
  }

  std::string Price(Micros micros) const {
    return capacity::FormatMoney({micros, status_.currency});
  }

  // Pods first, where there are any.
  void Leave(RentalReason reason, std::string message) {
    status_.reason = reason;
    status_.message = std::move(message);
    if (wanted_) ++status_.moves;
    Begin(observed_.live_pods > 0 ? RentalPhase::kLeaving : RentalPhase::kReleasing);
  }

  // True: it is left because the job does not want hosts any more.
  bool LeftAsUnwanted() {
    if (wanted_) return false;
    status_.reason = ended_ ? RentalReason::kJobEnded : RentalReason::kSuspended;
    status_.message = ended_      ? "the job has ended"
                      : resizing_ ? "the job changes its size"
                                  : "the job is suspended";
    // Its own rules end the pods: a checkpoint before a suspension, none after the end.
    if (observed_.live_pods == 0) Begin(RentalPhase::kReleasing);
    return true;
  }

  bool LeftForItsPrice() {
    if (std::string problem = CapProblem(); !problem.empty()) {
      Leave(RentalReason::kBudgetSpent, std::move(problem));
      return true;
    }
    if (AboveCap()) {
      Leave(RentalReason::kPriceAboveCap,
            StrCat("the hosts cost ", Price(status_.price()), "/h now, and maxCostPerHour is ",
                   Price(*HourlyCap())));
      return true;
    }
    if (!job_.capacity.max_total_cost) return false;
    const Micros left = job_.capacity.max_total_cost->micros - status_.spent;
    const Micros rate = status_.price();
    const std::int64_t stop_ms = 1000 * state::StopSeconds(job_);
    if (left <= Cost(rate, stop_ms)) {
      Leave(RentalReason::kBudgetSpent,
            StrCat(Price(status_.spent), " of maxTotalCost (",
                   Price(job_.capacity.max_total_cost->micros),
                   ") are spent; the rest pays for the last checkpoint. Raise it to go on"));
      return true;
    }
    if (rate > 0) {
      const __int128 lasts_ms = static_cast<__int128>(left) * kMsPerHour / rate - stop_ms;
      if (lasts_ms < kMsPerHour) LookAgain(static_cast<std::int64_t>(lasts_ms));
    }
    return false;
  }

  // What of the deadline decides on hosts; absent: there is none, or it has passed.
  std::optional<capacity::DeadlineNeed> Deadline() const {
    auto need = DeadlineNeedOf(job_, status_, observed_.pools, now_ms_);
    if (need && need->seconds_left <= 0) need.reset();
    return need;
  }

  bool NeedsHostsThatStay(bool running) const {
    const auto need = Deadline();
    return need && !capacity::MayUseRevocableHosts(*need, running);
  }

  std::string AtRisk() const {
    return StrCat("; the deadline ", FormatTime(job_.capacity.deadline_ms), " is at risk");
  }

  // Hosts that are taken back are left for others that stay while the deadline can still be kept,
  // if there are such hosts below the caps. Otherwise the message reports the risk.
  bool LeftForItsDeadline() {
    if (!observed_.may_choose || !HasRevocableHosts(status_)) return false;
    std::string risk;
    if (NeedsHostsThatStay(/*running=*/true)) {
      risk = AtRisk();
      if (job_.capacity.deadline_policy == api::DeadlinePolicy::kOnDemand) {
        const Answer answer = Ask(WithoutRevocableOffers(OffersToTry(observed_.pools, status_)));
        if (answer.outcome.choice) {
          Leave(RentalReason::kDeadline, DescribeDeadline(job_, *Deadline()));
          return true;
        }
        risk += StrCat(": no hosts that stay: ", answer.problem);
      }
    }
    status_.message = StrCat(DescribeHosts(status_), " are there", risk);
    return false;
  }

  std::int64_t TimeoutMs() const { return ProvisionTimeoutMs(status_, observed_.pools); }

  void Requested() {
    if (LeftAsUnwanted() || LeftForItsPrice()) return;
    const auto& provisioning = observed_.provisioning;
    if (provisioning && !provisioning->failed.empty()) {
      AvoidOffers(status_, provisioning->failed_parts, now_ms_);
      return Leave(RentalReason::kNotProvided, provisioning->failed);
    }
    // Pods from before the rental are on their way out.
    if (provisioning && provisioning->complete) {
      status_.message = StrCat(DescribeHosts(status_), " are there");
      return Begin(RentalPhase::kProvisioned);
    }
    const std::int64_t left_ms = status_.since_ms + TimeoutMs() - now_ms_;
    if (left_ms <= 0) {
      AvoidOffers(status_, {}, now_ms_);
      return Leave(
          RentalReason::kNotProvided,
          StrCat(DescribeHosts(status_), " were not provided within ", TimeoutMs() / 1000, " s"));
    }
    LookAgain(std::min(kPollMs, left_ms));
  }

  void Provisioned() {
    if (LeftAsUnwanted()) return;
    const auto& provisioning = observed_.provisioning;
    if (!observed_.lost.empty()) {
      AvoidOffers(status_, observed_.lost_parts, now_ms_);
      return Leave(RentalReason::kReclaimed, observed_.lost);
    }
    if (provisioning && !provisioning->failed.empty()) {
      AvoidOffers(status_, provisioning->failed_parts, now_ms_);
      return Leave(RentalReason::kReclaimed, provisioning->failed);
    }
    if (LeftForItsPrice() || LeftForItsDeadline()) return;
    LookAgain(kWatchMs);
    if (observed_.placed) return;
    const std::int64_t left_ms = status_.since_ms + TimeoutMs() - now_ms_;
    // A job that was placed before and lost its hosts otherwise waits no longer than a new one. One
    // whose pods are refused is never seen to wait.
    if (left_ms <= 0 && (observed_.waits || IsStalled())) {
      AvoidOffers(status_, {}, now_ms_);
      return Leave(
          RentalReason::kNotPlaced,
          StrCat(
              "the job was not placed on ", DescribeHosts(status_), " within ", TimeoutMs() / 1000,
              " s: ", IsStalled() ? MessageOfCondition("Stalled") : MessageOfCondition("Planned")));
    }
    if (left_ms > 0) LookAgain(left_ms);
  }

  void Releasing() {
    if (!observed_.provisioning || !observed_.provisioning->gone || observed_.live_pods > 0) {
      return LookAgain(kPollMs);
    }
    if (!observed_.may_choose) return LookAgain(1);
    // Pods that are made before the Gang has given the hosts back would be those of its lost ranks,
    // which move within the segment that the hosts were in.
    if (observed_.placed && !ended_) return LookAgain(kPollMs);
    std::string problem = wanted_ ? CapProblem() : "";
    const bool awaits_price = wanted_ && problem.empty() &&
                              status_.reason == RentalReason::kPriceAboveCap &&
                              job_.capacity.on_price_rise == api::OnPriceRise::kWait;
    for (api::RentedHosts& part : status_.hosts) part.provided = 0;
    Begin(awaits_price ? RentalPhase::kAwaitingPrice : RentalPhase::kNone);
    if (!awaits_price) status_.hosts.clear();
    if (!problem.empty()) return Refuse(RentalReason::kBudgetSpent, std::move(problem));
    // A job that was not placed shows first that its pods can be made.
    const bool moves = wanted_ && status_.reason != RentalReason::kBudgetSpent &&
                       status_.reason != RentalReason::kNotPlaced;
    if (moves) Choose();
  }

  void WithoutHosts() {
    std::string problem = CapProblem();
    if (status_.phase == RentalPhase::kAwaitingPrice &&
        (!wanted_ || observed_.placed || !problem.empty())) {
      Begin(RentalPhase::kNone);
      status_.hosts.clear();
      if (wanted_ && !problem.empty()) Refuse(RentalReason::kBudgetSpent, std::move(problem));
      return;
    }
    if (!wanted_ || observed_.placed || !MayRent(job_)) return;
    if (observed_.waits && !problem.empty()) {
      return Refuse(RentalReason::kBudgetSpent, std::move(problem));
    }
    if (observed_.waits) Choose();
  }

  void Refuse(RentalReason reason, std::string message) {
    status_.reason = reason;
    status_.message = std::move(message);
    for (const api::AvoidedOffer& offer : status_.avoided) LookAgain(offer.until_ms - now_ms_);
  }

  void Choose() {
    if (observed_.renting_is_off) {
      return Refuse(RentalReason::kNoRoom,
                    "renting hosts is off; an administrator turns it on by capacity.enabled of the "
                    "chart");
    }
    const std::vector<api::CapacityPool> all = OffersToTry(observed_.pools, status_);
    const bool needs_to_stay =
        status_.reason == RentalReason::kDeadline || NeedsHostsThatStay(/*running=*/false);
    const bool asks_to_stay =
        needs_to_stay && job_.capacity.deadline_policy == api::DeadlinePolicy::kOnDemand;
    Answer answer = Ask(asks_to_stay ? WithoutRevocableOffers(all) : all);
    std::string at_risk = needs_to_stay && !asks_to_stay ? AtRisk() : "";
    if (asks_to_stay && !answer.outcome.choice) {
      at_risk = StrCat(AtRisk(), ": no hosts that stay: ", answer.problem);
      answer = Ask(all);
    }
    if (!answer.outcome.choice) return Refuse(answer.reason, answer.problem + at_risk);
    ++status_.generation;
    status_.hosts = RentedBy(*answer.outcome.choice, *answer.question, answer.pools, job_.requests,
                             status_.generation);
    status_.currency = job_.capacity.currency();
    status_.reason = RentalReason::kNone;
    status_.message =
        state::DescribeChoice(*answer.outcome.choice, *answer.question, status_.currency) + at_risk;
    Begin(RentalPhase::kRequested);
    LookAgain(kPollMs);
  }

  // The cheapest hosts of these pools, or why there are none.
  struct Answer {
    std::vector<api::CapacityPool> pools;
    std::optional<state::CapacityQuestion> question;
    capacity::ChoiceOutcome outcome;
    RentalReason reason = RentalReason::kNone;
    std::string problem;
  };
  Answer Ask(std::vector<api::CapacityPool> pools) const {
    Answer answer;
    answer.pools = std::move(pools);
    auto question = state::AskForCapacity(job_, answer.pools, observed_.rentals, status_.spent);
    if (!question.ok()) {
      answer.reason = RentalReason::kNoRoom;
      answer.problem = MessageOf(question.status());
      return answer;
    }
    answer.question = *std::move(question);
    const capacity::Need& need = answer.question->need;
    answer.outcome = capacity::Choose(answer.question->offers, need);
    if (answer.outcome.choice) return answer;
    const std::optional<Micros>& lowest = answer.outcome.lowest_price;
    const bool price = lowest && need.max_price && *lowest > *need.max_price;
    const bool budget = price && need.max_price != HourlyCap();
    answer.reason = budget  ? RentalReason::kBudgetSpent
                    : price ? RentalReason::kPriceAboveCap
                            : RentalReason::kNoRoom;
    answer.problem =
        state::DescribeRefusal(answer.outcome, *answer.question, job_.capacity.currency());
    return answer;
  }

  bool IsStalled() const { return api::IsTrue(job_.status.conditions, "Stalled"); }

  std::string MessageOfCondition(const char* type) const {
    const api::Condition* condition = api::FindCondition(job_.status.conditions, type);
    return condition == nullptr ? "" : condition->message;
  }

  // What is paid from now on. The passing of time alone does not cause a write.
  void Finish() {
    status_.message = api::CutStatusText(std::move(status_.message));
    status_.rate = status_.active() ? status_.price_of_provided() : 0;
    const api::CapacityStatus& before = job_.status.capacity;
    const std::int64_t elapsed_ms = status_.accounted_ms - before.accounted_ms;
    api::CapacityStatus same = status_;
    same.spent = before.spent;
    same.accounted_ms = before.accounted_ms;
    same.ran_seconds = before.ran_seconds;
    const bool counts = before.rate > 0 || status_.ran_seconds > before.ran_seconds;
    if (same == before && (!counts || elapsed_ms < kAccountMs)) {
      status_ = before;
      if (counts) LookAgain(kAccountMs - elapsed_ms);
    } else if (status_.rate > 0 || counts) {
      LookAgain(kAccountMs);
    }
  }

  const CapacityObservation& observed_;
  const api::TrainingJob& job_;
  api::CapacityStatus status_;
  CapacityStep step_;
  std::int64_t now_ms_ = 0;
  bool ended_ = false;
  bool resizing_ = false;  // to another size, without pods meanwhile
  bool wanted_ = false;
};

}  // namespace

bool MayRent(const api::TrainingJob& job) { return job.capacity.has_cap(); }

CapacityStep NextCapacityStep(const CapacityObservation& observed) {
  return CapacityStepper(observed).Run();
}

}  // namespace yardmaster::op
