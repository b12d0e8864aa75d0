#include "pkg/extender/placement_step.h"

#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/gang_status.h"
#include "pkg/placement/replacement.h"
#include "pkg/placement/worker_need.h"
#include "pkg/plan/verifier.h"

namespace yardmaster::extender {

namespace {

// Ranks whose pod waits behind the gate while the slot's host is out: they have to move.
std::vector<int> RanksToMove(const plan::JobState& job, const GatheredGang& gathered,
                             const placement::Cluster& cluster) {
  std::vector<int> ranks;
  if (gathered.gated == 0) return ranks;
  for (const GangMember& member : gathered.members) {
    if (!member.rank || !member.pod->gated()) continue;
    const fabric::HostId host =
        job.assignment->host_of_rank[static_cast<std::size_t>(*member.rank)];
    if (!host.valid() ||
        cluster.hosts[host.index()].unavailable != placement::Unavailability::kNo) {
      ranks.push_back(*member.rank);
    }
  }
  return ranks;
}

}  // namespace

PlacementStep::PlacementStep(Ledger& ledger, PreemptionStep& preemption, PreemptionDecider& decider,
                             const Clock& clock, Notify notify, plan::PlanOptions options)
    : ledger_(ledger),
      preemption_(preemption),
      decider_(decider),
      clock_(clock),
      notify_(std::move(notify)),
      options_(std::move(options)) {
  options_.network = options_.paths = false;  // the operator's part
}

void PlacementStep::Run(PassState& pass) {
  MarkDegraded(pass);
  ReplaceLost(pass);
  PlaceWaiting(pass);
}

bool PlacementStep::Commit(PassState& pass, int job, const placement::GangPlan& plan,
                           bool may_use_backup) {
  plan::JobState& state = pass.snapshot->jobs[static_cast<std::size_t>(job)];
  const api::Gang gang = pass.GangOf(job);
  absl::Status sound =
      plan::VerifyPlacement(*pass.snapshot, job, plan.host_of_rank, may_use_backup);
  if (!sound.ok()) {
    pass.report.errors.push_back(
        StrCat("Gang ", state.job.key.text(),
               ": a plan did not pass the verifier and was dropped: ", MessageOf(sound)));
    return false;
  }
  const api::GangStatus status = Committed(gang, plan, state, *pass.snapshot, clock_.WallMs());
  if (!ledger_.Write(pass, gang, status)) return false;
  static const std::vector<fabric::HostId> kNone;
  placement::MoveOccupation(pass.snapshot->cluster, state.job,
                            state.assignment ? state.assignment->host_of_rank : kNone,
                            plan.host_of_rank);
  state.assignment = plan::Assignment{plan.host_of_rank};
  state.lost_ranks.clear();
  pass.notes[state.job.key].waiting.clear();
  ++pass.report.committed;
  return true;
}

void PlacementStep::TellNotPlaced(PassState& pass, int job, const placement::GangPlan& plan) {
  const api::Gang gang = pass.GangOf(job);
  ++pass.report.waiting;
  const api::GangStatus status = NotPlaced(gang, plan, clock_.WallMs());
  pass.notes[pass.snapshot->jobs[static_cast<std::size_t>(job)].job.key].waiting = Explain(plan);
  // Said once per text, not once per pass.
  if (status == gang.status || !ledger_.Write(pass, gang, status)) return;
  Notice notice{gang.owner, gang.metadata.namespace_name, true, "NotPlaced",
                StrCat(Name(plan.outcome), ": ", Explain(plan))};
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
  for (std::size_t i = 0; i < pass.snapshot->jobs.size(); ++i) {
    const plan::JobState& job = pass.snapshot->jobs[i];
    const api::Gang& gang = pass.GangOf(static_cast<int>(i));
    const bool was = api::IsTrue(gang.status.conditions, api::kDegradedCondition);
    if (!job.assignment || (job.lost_ranks.empty() && !was)) continue;
    const api::GangStatus status = Degraded(gang, job, *pass.snapshot, clock_.WallMs());
    if (!job.lost_ranks.empty()) ++pass.report.degraded;
    if (status != gang.status) ledger_.Write(pass, gang, status);
  }
}

void PlacementStep::ReplaceLost(PassState& pass) {
  for (std::size_t i = 0; i < pass.snapshot->jobs.size(); ++i) {
    const plan::JobState& job = pass.snapshot->jobs[i];
    const NameKey key{job.job.key.namespace_name, job.job.key.name};
    const GatheredGang* gathered = pass.GatheredOf(key);
    if (!job.assignment || gathered == nullptr || pass.stopping.count(key) != 0) continue;
    const std::vector<int> lost = RanksToMove(job, *gathered, pass.snapshot->cluster);
    if (!lost.empty()) {
      ReplaceRanks(pass, static_cast<int>(i), lost);
    } else {
      preemption_.GiveUp(pass, key, "NotNeeded", "no rank waits for a host any more");
    }
  }
}

void PlacementStep::ReplaceRanks(PassState& pass, int index, const std::vector<int>& lost) {
  plan::JobState& job = pass.snapshot->jobs[static_cast<std::size_t>(index)];
  const fabric::BackupPolicy policy =
      pass.snapshot->network ? pass.snapshot->network->spec().backup : fabric::BackupPolicy{};
  const placement::GangRequest request{&job.job, job.groups.get(), job.eligible.get(), index};
  const placement::GangPlan plan = placement::ReplaceHosts(
      pass.snapshot->cluster, request, job.assignment->host_of_rank, lost, policy);
  if (plan.outcome != placement::Outcome::kPlaced) {
    TellNotPlaced(pass, index, plan);
    job.lost_ranks = lost;
    return decider_.DecideTakeBack(pass, index);
  }
  if (!Commit(pass, index, plan, /*may_use_backup=*/true)) return;
  pass.report.replaced_ranks += static_cast<int>(lost.size());
  const api::Gang& gang = pass.GangOf(index);
  const fabric::Places& places = *pass.snapshot->places;
  for (int rank : lost) {
    const fabric::HostId host = plan.host_of_rank[static_cast<std::size_t>(rank)];
    notify_({gang.owner, gang.metadata.namespace_name, false, "HostReplaced",
             StrCat("rank ", rank, " moves to ", places.name(host), " in segment ",
                    places.name(places.segment_of(host)))});
  }
}

void PlacementStep::PlaceWaiting(PassState& pass) {
  if (plan::QueueOrder(*pass.snapshot).empty()) return;
  const plan::Plan plan = decider_.PlanQueue(pass, options_);
  bool deciding = true;
  for (const plan::JobPlan& job : plan.jobs) {
    if (!job.is_new) {
      if (pass.snapshot->jobs[static_cast<std::size_t>(job.job)].assignment) continue;
      TellNotPlaced(pass, job.job, job.gang);
      if (job.gang.outcome != placement::Outcome::kNotNow) continue;
      deciding = deciding && decider_.Decide(pass, job);
      continue;
    }
    if (!Commit(pass, job.job, job.gang, job.uses_backup)) continue;
    const api::Gang& gang = pass.GangOf(job.job);
    notify_({gang.owner, gang.metadata.namespace_name, false, "Placed",
             api::FindCondition(gang.status.conditions, api::kPlannedCondition)->message});
  }
  // Ordinary pods are kept off what waits for a job; see decisions.h. Only now: gangs that may fill
  // reserved hosts meanwhile have done so.
  for (const plan::Reservation& reservation : plan.reservations) {
    for (fabric::HostId host : reservation.hosts) {
      pass.snapshot->cluster.hosts[host.index()].reserved_for = reservation.job;
    }
  }
}

}  // namespace yardmaster::extender
