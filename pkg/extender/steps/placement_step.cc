#include "pkg/extender/steps/placement_step.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <stdexcept>

#include "pkg/base/strings.h"
#include "pkg/extender/facts/eligible_hosts.h"
#include "pkg/extender/ledger/gang_notices.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/steps/preemption_step.h"
#include "pkg/placement/partial_planner.h"
#include "pkg/plan/host_holders.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::extender {

namespace {

// But for numbers and wording.
bool SameReasons(const api::GangStatus& a, const api::GangStatus& b) {
  const auto planned = [](const api::GangStatus& status) {
    const api::Condition* c = api::FindCondition(status.conditions, api::kPlannedCondition);
    return c == nullptr ? std::string() : StrCat(static_cast<int>(c->status), c->reason);
  };
  const auto holds = [](const api::GangStatus& status, const char* type) {
    const api::Condition* c = api::FindCondition(status.conditions, type);
    return c == nullptr ? -1 : static_cast<int>(c->status);
  };
  return a.outcome == b.outcome && a.observed_generation == b.observed_generation &&
         planned(a) == planned(b) &&
         holds(a, api::kAwaitsHostsCondition) == holds(b, api::kAwaitsHostsCondition) &&
         holds(a, api::kExpeditedCondition) == holds(b, api::kExpeditedCondition) &&
         a.assignments == b.assignments &&
         std::equal(a.reasons.begin(), a.reasons.end(), b.reasons.begin(), b.reasons.end(),
                    [](const placement::Reason& x, const placement::Reason& y) {
                      return x.code == y.code && x.level == y.level;
                    }) &&
         std::equal(a.relaxations.begin(), a.relaxations.end(), b.relaxations.begin(),
                    b.relaxations.end(),
                    [](const placement::Relaxation& x, const placement::Relaxation& y) {
                      return x.outcome == y.outcome;
                    });
}

// The clock of the wait is the condition's transition, so that it goes on when another process
// leads.
void NoteAwaitedHosts(const PassFacts& facts, plan::JobId id, bool awaits,
                      api::GangStatus& status) {
  const api::Gang& gang = *facts.GangOf(id);
  const std::int64_t limit_s = facts.await_limit_ms / 1000;
  if (awaits) {
    SetCondition(status, gang, api::kAwaitsHostsCondition, true, "HostsLeaving",
                 StrCat("hosts come free that make its place, or a better one; it waits for them ",
                        "until ", limit_s, " s after the transition at most"),
                 facts.now.wall_ms);
  } else if (api::IsTrue(status.conditions, api::kAwaitsHostsCondition) &&
             plan::AwaitsUntilMs(*facts.snapshot, id, facts.await_limit_ms) <= facts.now.wall_ms) {
    SetCondition(status, gang, api::kAwaitsHostsCondition, false, "LimitReached",
                 StrCat("it has waited for hosts for ", limit_s, " s and takes what is there"),
                 facts.now.wall_ms);
  }
}

std::vector<Effect> CountWaiting(const PassFacts& facts, plan::JobId job) {
  return {Increment{&PassReport::waiting},
          Increment{&PassReport::waiting_gpus, static_cast<int>(facts.Job(job).job.gpus())}};
}

// Jobs that the plan leaves without a place; first those that have never been told why, then those
// that were told longest ago, so that reasons which change in every pass do not keep a pass from
// writing those of others.
std::vector<const plan::JobPlan*> WaitingJobs(
    const plan::Plan& plan, const plan::Snapshot& snapshot,
    const std::map<NamespacedName, std::int64_t>& reported_ms) {
  std::vector<std::pair<std::int64_t, const plan::JobPlan*>> waiting;
  for (const plan::JobPlan& job : plan.jobs) {
    const plan::JobState& state = snapshot.jobs[job.job.index()];
    if (job.is_new || state.assignment) continue;
    const auto reported = reported_ms.find(state.job.key);
    waiting.emplace_back(reported == reported_ms.end() ? -1 : reported->second, &job);
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const plan::JobPlan*> jobs;
  jobs.reserve(waiting.size());
  for (const auto& [reported, job] : waiting) jobs.push_back(job);
  return jobs;
}

GangDecision DecisionOn(const PassFacts& facts, plan::JobId id, placement::Outcome outcome) {
  const workload::Job& job = facts.Job(id).job;
  const std::int64_t waited_ms = facts.now.wall_ms - job.created_ms;
  return {outcome, static_cast<double>(std::max<std::int64_t>(0, waited_ms)) / 1000, job.priority};
}

// Where the ranks of an evacuation go: names of segments, or of domains where only domains are
// lost.
std::string TakenBy(const SegmentEvacuation& evacuation, const std::vector<fabric::HostId>& hosts,
                    const fabric::Places& places) {
  std::set<fabric::SegmentId> segments;
  std::set<fabric::DomainId> domains;
  for (const int rank : evacuation.ranks) {
    const fabric::HostId host = hosts[static_cast<std::size_t>(rank)];
    segments.insert(places.segment_of(host));
    domains.insert(places.domain_of(host));
  }
  return evacuation.segments.empty()
             ? NamesOf(std::vector<fabric::DomainId>(domains.begin(), domains.end()), places)
             : NamesOf(std::vector<fabric::SegmentId>(segments.begin(), segments.end()), places);
}

// A host that is back ends the wait for another one.
Decision EndMove(const PassFacts& facts, plan::JobId id) {
  const NamespacedName& key = facts.Job(id).job.key;
  return AndThen(
      GiveUpPreemption(facts, key, "NotNeeded", "no rank waits for a host any more"),
      [id](const PassFacts& now) -> Decision {
        const plan::JobState& job = now.Job(id);
        const GangPtr gang = now.GangOf(id);
        const api::Condition* planned =
            api::FindCondition(gang->status.conditions, api::kPlannedCondition);
        const bool waits = planned != nullptr && planned->status == api::ConditionStatus::kFalse;
        if (!waits || !job.lost_ranks.empty()) return {};
        return {{CommitGangStatus{job.job.key, gang,
                                  PlacedAsBefore(*gang, job, *now.snapshot, now.now.wall_ms)}}};
      });
}

}  // namespace

std::vector<Work> PlacementStep::MarkDegraded(const PassFacts& facts) {
  std::vector<Work> works;
  for (const plan::JobId id : facts.snapshot->job_ids()) {
    const plan::JobState& job = facts.Job(id);
    const bool was = api::IsTrue(facts.GangOf(id)->status.conditions, api::kDegradedCondition);
    if (!job.assignment || (job.lost_ranks.empty() && !was)) continue;
    works.push_back(
        {job.job.key, [id](const PassFacts& now) {
           Decision decision;
           const plan::JobState& job = now.Job(id);
           const GangPtr gang = now.GangOf(id);
           api::GangStatus status = Degraded(*gang, job, *now.snapshot, now.now.wall_ms);
           if (!job.lost_ranks.empty()) {
             decision.effects.push_back(Increment{&PassReport::degraded});
           }
           if (status != gang->status) {
             decision.effects.push_back(CommitGangStatus{job.job.key, gang, std::move(status)});
           }
           return decision;
         }});
  }
  return works;
}

// Reasons are written when they change, not when a number in them does: in a busy cluster the
// numbers move in every pass. The text is brought up to date now and then.
bool PlacementStep::IsNews(const PassFacts& facts, const api::Gang& gang,
                           const api::GangStatus& status) {
  constexpr std::int64_t kRefreshMs = 600'000;
  if (status == gang.status) return false;
  if (!SameReasons(status, gang.status)) return true;
  const auto [reported, is_new] = reported_ms_.emplace(KeyOf(gang.metadata), facts.now.steady_ms);
  return !is_new && facts.now.steady_ms - reported->second >= kRefreshMs;
}

Decision PlacementStep::ReportNotPlaced(const PassFacts& facts, plan::JobId id,
                                        const placement::GangPlan& plan, bool awaits_hosts) {
  const GangPtr gang = facts.GangOf(id);
  const NamespacedName key = KeyOf(gang->metadata);
  Decision decision{{Change(GangWaits{key, placement::Sentence(plan)})}};
  api::GangStatus status = NotPlaced(*gang, plan, facts.now.wall_ms);
  NoteAwaitedHosts(facts, id, awaits_hosts, status);
  EndExpedited(status, *gang, facts.now.wall_ms);
  if (const auto since_ms = ExpeditedSinceMs(status, facts.now.wall_ms)) {
    decision.effects.push_back(WakeIn{*since_ms + kExpediteMs - facts.now.wall_ms});
  }
  if (!IsNews(facts, *gang, status)) return decision;
  const bool decided = !facts.Job(id).assignment && gang->status.outcome != status.outcome;
  decision.effects.push_back(CommitGangStatus{key, gang, std::move(status)});
  if (decided) decision.effects.push_back(DecisionOn(facts, id, plan.outcome));
  Event event{gang->owner, key.namespace_name, true, "NotPlaced",
              StrCat(Name(plan.outcome), ": ", placement::Sentence(plan))};
  for (Event& one : OnOwnerAndPod(std::move(event), facts.GatheredOf(key))) {
    decision.effects.push_back(std::move(one));
  }
  decision.then = [this, key](const PassFacts& now, const EffectOutcomes& outcomes) {
    if (AllDone(outcomes)) reported_ms_[key] = now.now.steady_ms;
    return Decision{};
  };
  return decision;
}

std::vector<Work> PlacementStep::MoveRanks(const PassFacts& facts) {
  std::erase_if(reported_ms_,
                [&](const auto& reported) { return facts.gangs.count(reported.first) == 0; });
  std::vector<Work> works;
  for (const plan::JobId id : facts.snapshot->job_ids()) {
    const NamespacedName& key = facts.Job(id).job.key;
    if (!facts.Job(id).assignment || facts.GatheredOf(key) == nullptr) continue;
    works.push_back({key, [this, id](const PassFacts& now) { return MoveRanksOf(now, id); }});
  }
  return works;
}

Decision PlacementStep::MoveRanksOf(const PassFacts& facts, plan::JobId id) {
  const plan::JobState& job = facts.Job(id);
  if (facts.IsStopping(job.job.key)) return {};
  const gather::GatheredGang& gathered = *facts.GatheredOf(job.job.key);
  const std::optional<SegmentEvacuation> evacuation = EvacuationOf(job, gathered, *facts.snapshot);
  if (evacuation && evacuation->may_go) return Evacuate(facts, id, *evacuation);
  std::vector<int> lost = RanksToMove(*facts.snapshot, job, gathered, facts.GangOf(id)->status);
  if (evacuation) {
    std::erase_if(lost, [&](int rank) {
      return std::binary_search(evacuation->ranks.begin(), evacuation->ranks.end(), rank);
    });
    if (lost.empty()) return {};
  }
  return lost.empty() ? MoveToUntried(facts, id) : ReplaceRanks(facts, id, lost);
}

Decision PlacementStep::MoveToUntried(const PassFacts& facts, plan::JobId id) {
  const plan::Snapshot& snapshot = *facts.snapshot;
  const api::GangStatus& status = facts.GangOf(id)->status;
  plan::JobState job = facts.Job(id);
  const std::vector<int> ranks =
      RanksOnTriedHosts(snapshot, job, *facts.GatheredOf(job.job.key), status);
  const auto untried = ranks.empty() ? nullptr : UntriedHosts(snapshot, job, status);
  if (untried == nullptr) return EndMove(facts, id);
  job.eligible = untried;
  placement::GangPlan plan = ReplaceUntriedFirst(snapshot, id, job, status, ranks);
  return plan.outcome == placement::Outcome::kPlaced ? Move(facts, id, std::move(plan), ranks)
                                                     : EndMove(facts, id);
}

Decision PlacementStep::ReplaceRanks(const PassFacts& facts, plan::JobId id,
                                     const std::vector<int>& lost) {
  const plan::Snapshot& snapshot = *facts.snapshot;
  placement::GangPlan plan =
      ReplaceUntriedFirst(snapshot, id, facts.Job(id), facts.GangOf(id)->status, lost);
  if (plan.outcome != placement::Outcome::kPlaced) {
    return AndThen(ReportNotPlaced(facts, id, plan), [this, id, lost](const PassFacts& now) {
      return decider_.TakeBack(now, id, lost);
    });
  }
  return Move(facts, id, std::move(plan), lost);
}

Decision PlacementStep::Move(const PassFacts& facts, plan::JobId id, placement::GangPlan plan,
                             const std::vector<int>& ranks) {
  const NamespacedName& key = facts.Job(id).job.key;
  const std::vector<fabric::HostId> hosts = plan.host_of_rank;
  Decision decision{{CommitPlan{key, id, std::move(plan), /*may_use_backup=*/true},
                     Increment{&PassReport::replaced_ranks, static_cast<int>(ranks.size())}}};
  const fabric::Places& places = *facts.snapshot->places;
  for (int rank : ranks) {
    const fabric::HostId host = hosts[static_cast<std::size_t>(rank)];
    decision.effects.push_back(Event{facts.GangOf(id)->owner, key.namespace_name, false,
                                     "HostReplaced",
                                     StrCat("rank ", rank, " moves to ", places.name(host),
                                            " in segment ", places.name(places.segment_of(host)))});
  }
  return decision;
}

Decision PlacementStep::Evacuate(const PassFacts& facts, plan::JobId id,
                                 const SegmentEvacuation& evacuation) {
  const plan::Snapshot& snapshot = *facts.snapshot;
  const plan::JobState& job = facts.Job(id);
  const placement::GangRequest request = plan::RequestOf(job, id);
  placement::GangPlan plan = placement::PlanEvacuation(
      snapshot.cluster, request, job.assignment->host_of_rank, evacuation.ranks, options_.placement,
      [&](const std::vector<fabric::HostId>& hosts) {
        return plan::VerifyPlacement(snapshot, id, hosts, /*may_use_backup=*/false);
      });
  const bool only_domains = evacuation.segments.empty();
  bool may_use_backup = false;
  if (plan.outcome != placement::Outcome::kPlaced && only_domains) {
    placement::GangPlan with_backup =
        ReplaceUntriedFirst(snapshot, id, job, facts.GangOf(id)->status, evacuation.ranks);
    may_use_backup = with_backup.outcome == placement::Outcome::kPlaced;
    if (may_use_backup) plan = std::move(with_backup);
  }
  if (plan.outcome != placement::Outcome::kPlaced) {
    plan::NameHolders(snapshot, plan::HoldingJobs(snapshot), plan);
    plan.reasons.insert(plan.reasons.begin(), LostPlaceReason(evacuation, snapshot));
    return ReportNotPlaced(facts, id, plan);
  }
  const std::string taken = TakenBy(evacuation, plan.host_of_rank, *snapshot.places);
  const auto ranks = static_cast<std::int64_t>(evacuation.ranks.size());
  return {
      {CommitPlan{job.job.key, id, std::move(plan), may_use_backup},
       Increment{&PassReport::replaced_ranks, static_cast<int>(ranks)},
       Event{facts.GangOf(id)->owner, job.job.key.namespace_name, false,
             only_domains ? "DomainLeft" : "SegmentLeft",
             StrCat(Count(ranks, "rank"), ranks == 1 ? " moves" : " move", " from ",
                    LostPlacesOf(evacuation, *snapshot.places), ", which is lost, to ", taken)}}};
}

Decision PlacementStep::PlanQueue(const PassFacts& facts) {
  plan_ = {};
  deciding_ = true;
  if (plan::QueueOrder(*facts.snapshot).empty()) return {};
  try {
    return PlanOnce(facts);
  } catch (const std::exception& error) {
    return AndThen(IsolateFaulty(facts, error.what()),
                   [this](const PassFacts& now) { return PlanOnce(now); });
  }
}

Decision PlacementStep::PlanOnce(const PassFacts& facts) {
  Decision decision;
  plan_ = decider_.PlanQueue(facts, options_, decision.effects);
  if (!decider_.MayStopOthers(facts, plan_)) return decision;
  decision.effects.push_back(ReadBudgets{});
  decision.then = [this](const PassFacts& now, const EffectOutcomes&) {
    if (now.budgets) plan_ = decider_.PlanWithVictims(now, options_);
    return Decision{};
  };
  return decision;
}

Decision PlacementStep::IsolateFaulty(const PassFacts& facts, const std::string& error) const {
  Decision decision;
  const std::vector<plan::JobId> queue = plan::QueueOrder(*facts.snapshot);
  plan::Snapshot others = *facts.snapshot;
  for (const plan::JobId id : queue) others.jobs[id.index()].problems = {"left out"};
  make_plan_(others, options_);
  for (const plan::JobId id : queue) {
    plan::Snapshot alone = others;
    alone.jobs[id.index()].problems = facts.Job(id).problems;
    try {
      make_plan_(alone, options_);
    } catch (const std::exception& cause) {
      decision.effects.push_back(IsolateGang{facts.Job(id).job.key, "planning it", cause.what()});
    }
  }
  if (decision.effects.empty()) throw std::runtime_error(error);
  return decision;
}

std::vector<Work> PlacementStep::ReportWaiting(const PassFacts& facts) {
  std::vector<Work> works;
  for (const plan::JobPlan* job : WaitingJobs(plan_, *facts.snapshot, reported_ms_)) {
    works.push_back(
        {facts.Job(job->job).job.key, [this, job](const PassFacts& now) {
           Decision decision = ReportNotPlaced(now, job->job, job->gang, job->awaited.has_value());
           const auto counted = CountWaiting(now, job->job);
           decision.effects.insert(decision.effects.begin(), counted.begin(), counted.end());
           return decision;
         }});
  }
  return works;
}

std::vector<Work> PlacementStep::PlaceQueue(const PassFacts& facts) {
  std::vector<Work> works;
  for (const plan::JobPlan& job : plan_.jobs) {
    const plan::JobState& state = facts.Job(job.job);
    if (job.is_new) {
      works.push_back(
          {state.job.key, [this, &job](const PassFacts& now) { return Place(now, job); }});
    } else if (!state.assignment && job.gang.outcome == placement::Outcome::kNotNow) {
      works.push_back(
          {state.job.key, [this, &job](const PassFacts& now) { return StopOthers(now, job); }});
    }
  }
  return works;
}

Decision PlacementStep::Place(const PassFacts& facts, const plan::JobPlan& job) {
  Decision decision{{CommitPlan{facts.Job(job.job).job.key, job.job, job.gang, job.uses_backup}}};
  decision.then = [this, &job](const PassFacts& now, const EffectOutcomes& outcomes) -> Decision {
    if (outcomes.front().result == EffectOutcome::Result::kLeft) {
      deciding_ = false;
      plan_.reservations.push_back({job.job, job.gang.host_of_rank, std::nullopt});
      return {CountWaiting(now, job.job)};
    }
    if (!outcomes.front().done()) return {};
    const api::Gang& gang = *now.GangOf(job.job);
    std::string message =
        api::FindCondition(gang.status.conditions, api::kPlannedCondition)->message;
    if (!job.contention_note.empty()) message += StrCat("; ", job.contention_note);
    for (const std::string& warning : job.warnings) message += StrCat("; warning: ", warning);
    return {{Event{gang.owner, gang.metadata.namespace_name, false, "Placed", std::move(message)},
             DecisionOn(now, job.job, placement::Outcome::kPlaced)}};
  };
  return decision;
}

// A decision counts on the promises before it.
Decision PlacementStep::StopOthers(const PassFacts& facts, const plan::JobPlan& job) {
  if (!deciding_) return {};
  const bool records = !facts.GangOf(job.job)->status.preemption && job.preemption &&
                       !job.preemption->victims.empty();
  Decision decision = decider_.Decide(facts, job);
  if (!records) return decision;
  return AndThen(std::move(decision), [this, id = job.job](const PassFacts& now) {
    deciding_ = now.GangOf(id)->status.preemption.has_value();
    return Decision{};
  });
}

Decision PlacementStep::ReserveHosts(const PassFacts& facts) const {
  Decision decision;
  for (const plan::Reservation& reservation : plan_.reservations) {
    decision.effects.push_back(Change(HostsReserved{reservation.job, reservation.hosts}));
  }
  for (const plan::JobPlan& job : plan_.jobs) {
    if (!job.awaited) continue;
    decision.effects.push_back(Change(HostsReserved{job.job, job.awaited->hosts}));
    decision.effects.push_back(
        WakeIn{std::max<std::int64_t>(0, job.awaited->until_ms - facts.now.wall_ms) + 1});
  }
  return decision;
}

}  // namespace yardmaster::extender
