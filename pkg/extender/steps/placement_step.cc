#include "pkg/extender/steps/placement_step.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <set>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/ledger/eligible_hosts.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/extender/ledger/plan_commit.h"
#include "pkg/extender/ledger/refusals.h"
#include "pkg/placement/partial_planner.h"
#include "pkg/placement/replacement.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::extender {

namespace {

// Ranks whose pod waits behind the gate while the slot's host is out, avoided or refused: they have
// to move.
std::vector<int> RanksToMove(const plan::JobState& job, const GatheredGang& gathered,
                             const plan::Snapshot& snapshot, const api::GangStatus& status) {
  std::vector<int> ranks;
  if (gathered.gated == 0) return ranks;
  const std::vector<fabric::HostId>& hosts = job.assignment->host_of_rank;
  for (const GangMember& member : gathered.members) {
    if (!member.rank || !member.pod->gated()) continue;
    if (*member.rank < 0 || static_cast<std::size_t>(*member.rank) >= hosts.size()) continue;
    const fabric::HostId host = hosts[static_cast<std::size_t>(*member.rank)];
    if (!host.valid() ||
        snapshot.cluster.hosts[host.index()].unavailable != placement::Unavailability::kNo ||
        Avoids(*member.pod, snapshot.places->name(host)) ||
        IsRefused(status, *member.rank, snapshot.places->name(host), snapshot.now_ms)) {
      ranks.push_back(*member.rank);
    }
  }
  return ranks;
}

// But for numbers and wording.
bool SaysTheSame(const api::GangStatus& a, const api::GangStatus& b) {
  const auto planned = [](const api::GangStatus& status) {
    const api::Condition* c = api::FindCondition(status.conditions, api::kPlannedCondition);
    return c == nullptr ? std::string() : StrCat(static_cast<int>(c->status), c->reason);
  };
  return a.outcome == b.outcome && a.observed_generation == b.observed_generation &&
         planned(a) == planned(b) && a.assignments == b.assignments &&
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

// Jobs that the plan leaves without a place; first those that have never been told why, then those that were told
// longest ago, so that reasons which change in every pass do not keep a pass from writing those of others.
std::vector<const plan::JobPlan*> WaitingJobs(
    const plan::Plan& plan, const plan::Snapshot& snapshot,
    const std::map<NamespacedName, std::int64_t>& told_ms) {
  std::vector<std::pair<std::int64_t, const plan::JobPlan*>> waiting;
  for (const plan::JobPlan& job : plan.jobs) {
    const plan::JobState& state = snapshot.jobs[job.job.index()];
    if (job.is_new || state.assignment) continue;
    const auto told = told_ms.find(state.job.key);
    waiting.emplace_back(told == told_ms.end() ? -1 : told->second, &job);
  }
  std::stable_sort(waiting.begin(), waiting.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<const plan::JobPlan*> jobs;
  jobs.reserve(waiting.size());
  for (const auto& [told, job] : waiting) jobs.push_back(job);
  return jobs;
}

}  // namespace

void PlacementStep::Run(PassState& pass) {
  std::erase_if(told_ms_, [&](const auto& told) { return pass.gangs.count(told.first) == 0; });
  std::erase_if(failed_, [&](const NamespacedName& key) { return pass.gangs.count(key) == 0; });
  MarkDegraded(pass);
  ReplaceLost(pass);
  PlaceWaiting(pass);
}

// Reasons are written when they change, not when a number in them does: in a busy cluster the
// numbers move in every pass. The text is brought up to date now and then.
bool PlacementStep::IsNews(const api::Gang& gang, const api::GangStatus& status) {
  constexpr std::int64_t kRefreshMs = 600'000;
  if (status == gang.status) return false;
  if (!SaysTheSame(status, gang.status)) return true;
  const auto [told, is_new] = told_ms_.emplace(KeyOf(gang.metadata), clock_.SteadyMs());
  return !is_new && clock_.SteadyMs() - told->second >= kRefreshMs;
}

void PlacementStep::CountDecision(PassState& pass, const plan::JobState& job,
                                  placement::Outcome outcome) const {
  const std::int64_t waited_ms = std::max<std::int64_t>(0, clock_.WallMs() - job.job.created_ms);
  pass.report.decisions.push_back({outcome, static_cast<double>(waited_ms) / 1000});
}

void PlacementStep::TellNotPlaced(PassState& pass, plan::JobId job, const placement::GangPlan& plan,
                                  WorkShare* share) {
  const api::Gang gang = pass.GangOf(job);
  const api::GangStatus status = NotPlaced(gang, plan, clock_.WallMs());
  pass.notes[pass.snapshot->jobs[job.index()].job.key].waiting = placement::Sentence(plan);
  if (!IsNews(gang, status) || (share != nullptr && share->IsOver(pass.report))) return;
  const auto write = [&] { return ledger_.Write(pass, gang, status); };
  if (!(share != nullptr ? share->Spend(write) : write())) return;
  told_ms_[KeyOf(gang.metadata)] = clock_.SteadyMs();
  const plan::JobState& state = pass.snapshot->jobs[job.index()];
  if (!state.assignment && gang.status.outcome != status.outcome) {
    CountDecision(pass, state, plan.outcome);
  }
  ObjectNotice notice{gang.owner, gang.metadata.namespace_name, true, "NotPlaced",
                      StrCat(Name(plan.outcome), ": ", placement::Sentence(plan))};
  notify_(notice);
  // Also where people look first: at a pod that stays pending. One stands for all.
  const GatheredGang* gathered = pass.GatheredOf(KeyOf(gang.metadata));
  if (gathered == nullptr || gathered->members.empty()) return;
  const api::ObjectMeta& pod = gathered->members.front().pod->metadata;
  notice.regarding = {"v1", "Pod", pod.name, pod.uid, false};
  notify_(notice);
}

// A host of a placed gang is lost: people see it before and while its rank moves.
void PlacementStep::MarkDegraded(PassState& pass) {
  for (const plan::JobId id : pass.snapshot->job_ids()) {
    const plan::JobState& job = pass.snapshot->jobs[id.index()];
    const api::Gang& gang = pass.GangOf(id);
    const bool was = api::IsTrue(gang.status.conditions, api::kDegradedCondition);
    if (!job.assignment || (job.lost_ranks.empty() && !was)) continue;
    pass.handling = job.job.key;
    const api::GangStatus status = Degraded(gang, job, *pass.snapshot, clock_.WallMs());
    if (!job.lost_ranks.empty()) ++pass.report.degraded;
    if (status != gang.status) ledger_.Write(pass, gang, status);
  }
  pass.handling.reset();
}

void PlacementStep::ReplaceLost(PassState& pass) {
  for (const plan::JobId id : pass.snapshot->job_ids()) {
    const plan::JobState& job = pass.snapshot->jobs[id.index()];
    const NamespacedName& key = job.job.key;
    const GatheredGang* gathered = pass.GatheredOf(key);
    if (!job.assignment || gathered == nullptr || pass.stopping.count(key) != 0) continue;
    pass.handling = key;
    const std::optional<Departure> departure = DepartureOf(job, *gathered, *pass.snapshot);
    if (departure && departure->may_go) {
      LeaveSegments(pass, id, *departure);
      continue;
    }
    std::vector<int> lost = RanksToMove(job, *gathered, *pass.snapshot, pass.gangs.at(key)->status);
    if (departure) {
      std::erase_if(lost, [&](int rank) {
        return std::binary_search(departure->ranks.begin(), departure->ranks.end(), rank);
      });
      if (lost.empty()) continue;
    }
    if (!lost.empty()) {
      ReplaceRanks(pass, id, lost);
    } else {
      preemption_.GiveUp(pass, key, "NotNeeded", "no rank waits for a host any more");
      // A host that is back ends the wait for another one.
      const std::shared_ptr<const api::Gang> gang = pass.gangs.at(key);
      const api::Condition* planned =
          api::FindCondition(gang->status.conditions, api::kPlannedCondition);
      if (planned != nullptr && planned->status == api::ConditionStatus::kFalse &&
          job.lost_ranks.empty()) {
        ledger_.Write(pass, *gang, PlacedAsBefore(*gang, job, *pass.snapshot, clock_.WallMs()));
      }
    }
  }
  pass.handling.reset();
}

void PlacementStep::ReplaceRanks(PassState& pass, plan::JobId id, const std::vector<int>& lost) {
  plan::JobState& job = pass.snapshot->jobs[id.index()];
  const fabric::BackupPolicy policy =
      pass.snapshot->network ? pass.snapshot->network->spec().backup : fabric::BackupPolicy{};
  const placement::GangRequest request{&job.job, job.groups.get(), job.eligible.get(), id.value};
  const placement::GangPlan plan = placement::ReplaceHosts(
      pass.snapshot->cluster, request, job.assignment->host_of_rank, lost, policy);
  if (plan.outcome != placement::Outcome::kPlaced) {
    TellNotPlaced(pass, id, plan);
    job.lost_ranks = lost;
    return decider_.DecideTakeBack(pass, id);
  }
  if (!CommitPlan(pass, ledger_, clock_, id, plan, /*may_use_backup=*/true)) return;
  pass.report.replaced_ranks += static_cast<int>(lost.size());
  const api::Gang& gang = pass.GangOf(id);
  const fabric::Places& places = *pass.snapshot->places;
  for (int rank : lost) {
    const fabric::HostId host = plan.host_of_rank[static_cast<std::size_t>(rank)];
    notify_({gang.owner, gang.metadata.namespace_name, false, "HostReplaced",
             StrCat("rank ", rank, " moves to ", places.name(host), " in segment ",
                    places.name(places.segment_of(host)))});
  }
}

void PlacementStep::LeaveSegments(PassState& pass, plan::JobId id, const Departure& departure) {
  plan::JobState& job = pass.snapshot->jobs[id.index()];
  const placement::GangRequest request{&job.job, job.groups.get(), job.eligible.get(), id.value};
  placement::GangPlan plan = placement::PlanDeparture(
      pass.snapshot->cluster, request, job.assignment->host_of_rank, departure.ranks,
      options_.placement, [&](const std::vector<fabric::HostId>& hosts) {
        return plan::VerifyPlacement(*pass.snapshot, id, hosts, /*may_use_backup=*/false);
      });
  if (plan.outcome != placement::Outcome::kPlaced) {
    plan.reasons.insert(plan.reasons.begin(), LostSegmentReason(departure, *pass.snapshot));
    return TellNotPlaced(pass, id, plan);
  }
  if (!CommitPlan(pass, ledger_, clock_, id, plan, /*may_use_backup=*/false)) return;
  pass.report.replaced_ranks += static_cast<int>(departure.ranks.size());
  std::set<fabric::SegmentId> taken;
  for (const int rank : departure.ranks) {
    taken.insert(
        pass.snapshot->places->segment_of(plan.host_of_rank[static_cast<std::size_t>(rank)]));
  }
  const api::Gang& gang = pass.GangOf(id);
  const auto ranks = static_cast<std::int64_t>(departure.ranks.size());
  notify_({gang.owner, gang.metadata.namespace_name, false, "SegmentLeft",
           StrCat(Count(ranks, "rank"), ranks == 1 ? " moves" : " move", " from segment ",
                  NamesOf(departure.segments, *pass.snapshot->places), ", which is lost, to ",
                  NamesOf({taken.begin(), taken.end()}, *pass.snapshot->places))});
}

// If it throws, the gangs of the queue are planned one by one, and those that make it throw are put
// in quarantine.
plan::Plan PlacementStep::PlanQueue(PassState& pass) {
  try {
    return decider_.PlanQueue(pass, options_);
  } catch (const std::exception& error) {
    pass.report.errors.push_back(StrCat("planning the queue failed: ", error.what()));
  }
  const std::vector<plan::JobId> queue = plan::QueueOrder(*pass.snapshot);
  for (const plan::JobId id : queue) {
    plan::Snapshot alone = *pass.snapshot;
    for (const plan::JobId other : queue) {
      if (other != id) alone.jobs[other.index()].problems = {"left out"};
    }
    plan::JobState& job = pass.snapshot->jobs[id.index()];
    const NamespacedName& key = job.job.key;
    const bool sound =
        quarantine_.Contain(pass, key, "planning it", [&] { plan::MakePlan(alone, options_); });
    if (!sound) job.problems = {"it is in quarantine: planning it failed"};
  }
  return decider_.PlanQueue(pass, options_);
}

bool PlacementStep::Place(PassState& pass, const plan::JobPlan& job) {
  if (!CommitPlan(pass, ledger_, clock_, job.job, job.gang, job.uses_backup)) return false;
  const api::Gang& gang = pass.GangOf(job.job);
  std::string message = api::FindCondition(gang.status.conditions, api::kPlannedCondition)->message;
  if (!job.contention_note.empty()) message += StrCat("; ", job.contention_note);
  for (const std::string& warning : job.warnings) message += StrCat("; warning: ", warning);
  notify_({gang.owner, gang.metadata.namespace_name, false, "Placed", std::move(message)});
  CountDecision(pass, pass.snapshot->jobs[job.job.index()], placement::Outcome::kPlaced);
  return true;
}

void PlacementStep::PlaceWaiting(PassState& pass) {
  planning_ms_ = 0;
  if (plan::QueueOrder(*pass.snapshot).empty()) return;
  const std::int64_t begin_ms = clock_.SteadyMs();
  plan::Plan plan = PlanQueue(pass);
  planning_ms_ = clock_.SteadyMs() - begin_ms;
  // At least as long as the plan took; otherwise most of each pass would be planning the same queue again.
  const std::int64_t share_ms = std::max(slice_ms_, planning_ms_);
  WorkShare promises(clock_, share_ms);
  WorkShare retries(clock_, share_ms);
  WorkShare reasons(clock_, share_ms);
  for (const plan::JobPlan* job : WaitingJobs(plan, *pass.snapshot, told_ms_)) {
    pass.handling = pass.snapshot->jobs[job->job.index()].job.key;
    ++pass.report.waiting;
    TellNotPlaced(pass, job->job, job->gang, &reasons);
  }
  bool deciding = true;
  for (const plan::JobPlan& job : plan.jobs) {
    const NamespacedName key = pass.snapshot->jobs[job.job.index()].job.key;
    pass.handling = key;
    WorkShare& share = failed_.count(key) != 0 ? retries : promises;
    if (job.is_new && share.IsOver(pass.report)) {
      ++pass.report.waiting;
      plan.reservations.push_back({job.job, job.gang.host_of_rank, std::nullopt});
      deciding = false;
    } else if (job.is_new) {
      if (share.Spend([&] { return Place(pass, job); })) {
        failed_.erase(key);
      } else {
        failed_.insert(key);
      }
    } else if (!pass.snapshot->jobs[job.job.index()].assignment &&
               job.gang.outcome == placement::Outcome::kNotNow) {
      // A decision counts on the promises before it.
      deciding = deciding && !promises.IsOver(pass.report) &&
                 promises.Spend([&] { return decider_.Decide(pass, job); });
    }
  }
  pass.handling.reset();
  // Ordinary pods are kept off what waits for a job; see decisions.h. Only now: gangs that may fill
  // reserved hosts meanwhile have done so.
  for (const plan::Reservation& reservation : plan.reservations) {
    for (fabric::HostId host : reservation.hosts) {
      pass.snapshot->cluster.hosts[host.index()].reserved_for = reservation.job.value;
    }
  }
}

}  // namespace yardmaster::extender
