#include "pkg/extender/facts/pass_facts.h"

#include <algorithm>
#include <utility>

#include "pkg/extender/facts/planning_snapshot.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/placement/worker_need.h"

namespace yardmaster::extender {

namespace {

// Where the snapshot has another idea of the gang's hosts.
bool HoldsOthers(const GangPtr& before, const api::Gang& now) {
  const bool held = before != nullptr && HoldsHosts(before->status);
  if (held != HoldsHosts(now.status)) return true;
  if (!held) return false;
  const bool promised = before->status.is_promised_next();
  return before->status.assignments != now.status.assignments ||
         promised != now.status.is_promised_next() ||
         (promised && before->status.move->assignments != now.status.move->assignments);
}

void Take(PassFacts& facts, GangRead change) {
  const NamespacedName key = KeyOf(change.gang->metadata);
  const GangPtr before = facts.FindGang(key);
  const bool decides = change.gang->status.preemption || (before && before->status.preemption);
  const bool decided_again =
      change.gang->status.preemption && (!before || !before->status.preemption);
  const bool promised_again =
      change.gang->status.is_promised_next() && (!before || !before->status.is_promised_next());
  if (HoldsOthers(before, *change.gang)) facts.not_in_snapshot.insert(key);
  facts.indeterminate.erase(key);
  if (!HoldsHosts(change.gang->status)) facts.marks[GangMark::kStopping].erase(key);
  if (change.pods != nullptr) facts.gathered[key] = std::move(change.pods);
  facts.gangs[key] = std::move(change.gang);
  if (decides || facts.victims.count(key) != 0) facts.victims = VictimsOf(facts);
  if (decided_again && facts.snapshot) AddHolds(PreemptionHolds(*facts.gangs.at(key)), facts);
  if (promised_again && facts.snapshot) AddHolds(MoveHolds(*facts.gangs.at(key)), facts);
}

void Take(PassFacts& facts, const GangDeleted& change) {
  const GangPtr before = facts.FindGang(change.gang);
  if (before == nullptr) return;
  if (HoldsHosts(before->status)) facts.not_in_snapshot.insert(change.gang);
  facts.gangs.erase(change.gang);
  facts.victims = VictimsOf(facts);
}

void Take(PassFacts& facts, GangMayBecome change) {
  const NamespacedName key = KeyOf(change.attempted->metadata);
  facts.indeterminate[key] = std::move(change.attempted);
  if (facts.snapshot) AddHolds(IndeterminateHolds(facts, *facts.indeterminate.at(key)), facts);
}

void Take(PassFacts& facts, Placed change) {
  plan::JobState& job = facts.snapshot->jobs[change.job.index()];
  if (change.resized) job = Resized(job);
  static const std::vector<fabric::HostId> kNone;
  placement::MoveOccupation(facts.snapshot->cluster, job.job,
                            job.assignment ? job.assignment->host_of_rank : kNone,
                            change.host_of_rank);
  job.assignment = plan::Assignment{std::move(change.host_of_rank)};
  job.lost_ranks.clear();
  facts.waiting.erase(job.job.key);
  facts.not_in_snapshot.erase(job.job.key);
}

void Take(PassFacts& facts, GangMarked change) {
  facts.marks[change.mark].insert(std::move(change.gang));
}

void Take(PassFacts& facts, GangIsolated change) {
  if (facts.snapshot) {
    const plan::JobId id = IdOfJob(*facts.snapshot, change.gang);
    if (id.valid() && !facts.Job(id).assignment) {
      facts.snapshot->jobs[id.index()].problems = {"it is in quarantine"};
    }
  }
  facts.isolated[change.gang] = std::move(change.reason);
  facts.victims = VictimsOf(facts);
}

void Take(PassFacts& facts, GangWaits change) {
  facts.waiting[change.gang] = std::move(change.why);
}

void Take(PassFacts& facts, const HostsReserved& change) {
  std::vector<Hold> holds;
  for (const fabric::HostId host : change.hosts) {
    holds.push_back({facts.snapshot->places->name(host), HoldReason::kReservation,
                     facts.Job(change.job).job.key});
  }
  AddHolds(std::move(holds), facts);
}

void Take(PassFacts& facts, PriorityLeft change) {
  facts.left_priority = std::max(change.priority, facts.left_priority.value_or(change.priority));
}

void Take(PassFacts& facts, BudgetsRead change) { facts.budgets = std::move(change.budgets); }

void Take(PassFacts& facts, VolumesRead change) { facts.volumes = std::move(change.volumes); }

}  // namespace

void Apply(Change change, PassFacts& facts) {
  std::visit([&](auto& learned) { Take(facts, std::move(learned)); }, change);
}

GangPtr HoldingVictim(const Gangs& gangs, const api::VictimReference& victim) {
  const auto at = gangs.find({victim.namespace_name, victim.name});
  if (at == gangs.end() || at->second->metadata.uid != victim.uid) return nullptr;
  return HoldsHosts(at->second->status) ? at->second : nullptr;
}

std::map<NamespacedName, NamespacedName> VictimsOf(const PassFacts& facts) {
  std::map<NamespacedName, NamespacedName> victims;
  for (const auto& [key, gang] : facts.gangs) {
    if (!gang->status.preemption || facts.isolated.count(key) != 0) continue;
    for (const api::VictimReference& victim : gang->status.preemption->victims) {
      if (HoldingVictim(facts.gangs, victim) == nullptr) continue;
      victims.emplace(NamespacedName{victim.namespace_name, victim.name}, key);
    }
  }
  return victims;
}

plan::JobId IdOfJob(const plan::Snapshot& snapshot, const NamespacedName& key) {
  const auto at = std::lower_bound(
      snapshot.jobs.begin(), snapshot.jobs.end(), key,
      [](const plan::JobState& job, const NamespacedName& k) { return job.job.key < k; });
  if (at == snapshot.jobs.end() || at->job.key != key) return {};
  return plan::JobId(static_cast<std::int32_t>(at - snapshot.jobs.begin()));
}

}  // namespace yardmaster::extender
