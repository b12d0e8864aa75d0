#include "pkg/extender/facts/planning_snapshot.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "pkg/extender/facts/departures.h"
#include "pkg/extender/facts/eligible_hosts.h"
#include "pkg/extender/facts/placed_first.h"
#include "pkg/extender/ledger/gang_status.h"
#include "pkg/placement/worker_need.h"

namespace yardmaster::extender {

namespace {

// Of a gang without a place.
bool MayGetAPlace(const PassFacts& facts, const api::Gang& gang,
                  const gather::GatheredGang* gathered) {
  if (MayBePlacedFirst(facts, gang)) {
    return !IsFinished(gang.status) && facts.isolated.count(KeyOf(gang.metadata)) == 0;
  }
  return gathered != nullptr && gather::IsComplete(*gathered, gang.job.workers) &&
         gathered->held_by_others == 0 && !gather::AnyBound(*gathered) &&
         !gather::NamesHosts(*gathered) && !gather::IsLeftToCore(*gathered) &&
         !IsFinished(gang.status) && facts.isolated.count(KeyOf(gang.metadata)) == 0;
}

bool IsPlanned(const PassFacts& facts, const api::Gang& gang) {
  const NamespacedName key = KeyOf(gang.metadata);
  if (gang.status.committed()) {
    return !IsFinished(gang.status) && facts.isolated.count(key) == 0;
  }
  if (!MayGetAPlace(facts, gang, facts.GatheredOf(key))) return false;
  if (facts.Is(key, GangMark::kLeftOut)) return false;
  // One for which others were stopped keeps the place that they left.
  const bool is_behind = facts.left_priority && gang.job.priority < *facts.left_priority;
  return gang.status.preemption || !(is_behind || facts.backing_off.count(key) != 0);
}

void TakeWorker(plan::Snapshot& snapshot, const api::Gang& gang, fabric::HostId host) {
  workload::Job job;
  job.gpus_per_worker = gang.job.gpus_per_worker;
  static const fabric::FabricSpec kDefault;
  const fabric::FabricSpec& spec =
      snapshot.network != nullptr ? snapshot.network->spec() : kDefault;
  job.counts_gpus = gang.job.gpu_resource == spec.gpu_resource;
  job.requests = gang.requests;
  placement::WorkerNeed(snapshot.cluster, job).Take(snapshot.cluster, host);
}

void AddHold(const Hold& hold, PassFacts& facts) {
  plan::Snapshot& snapshot = *facts.snapshot;
  const fabric::HostId host = snapshot.places->FindHost(hold.host);
  if (!host.valid()) return;
  placement::HostState& state = snapshot.cluster.hosts[host.index()];
  const plan::JobId job = IdOfJob(snapshot, hold.holder);
  switch (hold.reason) {
    case HoldReason::kIsolated:
      state.free_gpus = 0;
      return;
    case HoldReason::kMove:
      return TakeWorker(snapshot, *facts.gangs.at(hold.holder), host);
    case HoldReason::kIndeterminateWrite:
      return TakeWorker(snapshot, *facts.indeterminate.at(hold.holder), host);
    case HoldReason::kPreemption:
    case HoldReason::kReservation:
      if (job.valid()) {
        state.reserved_for = job.value;
      } else if (const GangPtr gang = facts.FindGang(hold.holder);
                 gang != nullptr && MayGetAPlace(facts, *gang, facts.GatheredOf(hold.holder))) {
        state.free_gpus = 0;  // for a gang that is planned in another pass
      }
  }
}

// Of a gang without a place. 0: its time for that is over, or others are stopped for it. So is the
// time of one that began in the future, by the clock of another process.
std::optional<std::int64_t> AwaitsSinceMs(const PassFacts& facts, const api::Gang& gang) {
  if (gang.status.preemption) return 0;
  const api::Condition* awaits =
      api::FindCondition(gang.status.conditions, api::kAwaitsHostsCondition);
  if (awaits == nullptr) return std::nullopt;
  const bool goes_on =
      awaits->status == api::ConditionStatus::kTrue && awaits->transition_ms <= facts.now.wall_ms;
  return goes_on ? awaits->transition_ms : 0;
}

// What the gang's pods and status say besides its Gang's spec.
void Refine(const PassFacts& facts, plan::JobId id, plan::Snapshot& snapshot) {
  plan::JobState& job = snapshot.jobs[id.index()];
  const api::Gang& gang = *facts.gangs.at(job.job.key);
  const api::GangStatus& status = gang.status;
  const gather::GatheredGang* gathered = facts.GatheredOf(job.job.key);
  // Of a gang that runs in full no rank is placed.
  if (job.assignment && (gathered == nullptr || gathered->unbound == 0)) return;
  if (facts.volumes != nullptr && gathered != nullptr) {
    LimitToVolumes(*facts.volumes, *gathered, facts.cluster.nodes, snapshot, job);
  }
  job.eligible = EligibleNow(snapshot, job, gathered, status, AvoidedByJob(facts, gang));
  // Of a gang that gave its place back after hosts were refused to it.
  if (!job.assignment) job.preferred = UntriedHosts(snapshot, job, status);
  const api::Condition* requeued = api::FindCondition(status.conditions, api::kRequeuedCondition);
  if (!job.assignment && requeued != nullptr) {
    job.job.created_ms = std::max(job.job.created_ms, requeued->transition_ms);
  }
  if (job.assignment) return;
  job.awaits_since_ms = AwaitsSinceMs(facts, gang);
  if (const api::Condition* planned = api::FindCondition(status.conditions, api::kPlannedCondition);
      planned != nullptr && planned->status == api::ConditionStatus::kFalse &&
      planned->transition_ms <= facts.now.wall_ms && status.plan_generation > 0) {
    job.gave_back_ms = planned->transition_ms;
  }
  job.expedited_since_ms = ExpeditedSinceMs(status, facts.now.wall_ms);
}

}  // namespace

state::ClusterState PlannedObjects(const PassFacts& facts) {
  std::vector<GangPtr> gangs;
  std::vector<std::shared_ptr<const api::TrainingJob>> jobs;
  for (const auto& [key, gang] : facts.gangs) {
    if (!IsPlanned(facts, *gang)) continue;
    gangs.push_back(gang);
    // For what only the TrainingJob says. One that is not this gang's would be a job of its own.
    if (gang->owner.kind != api::kTrainingJobKind) continue;
    const auto owner = facts.cluster.jobs.Find({key.namespace_name, gang->owner.name});
    if (owner == nullptr || owner->metadata.uid != gang->owner.uid) continue;
    if (key.name == api::GangName(api::kTrainingJobKind, gang->owner.name)) jobs.push_back(owner);
  }
  state::ClusterState objects = facts.cluster;
  objects.gangs = state::ObjectTable<api::Gang>::Of(std::move(gangs));
  // A TrainingJob is planned through its Gang.
  objects.jobs = state::ObjectTable<api::TrainingJob>::Of(std::move(jobs));
  return objects;
}

std::vector<Unreadable> SetSnapshot(plan::Snapshot snapshot, PassFacts& facts) {
  snapshot.now_ms = facts.now.wall_ms;
  facts.holds.clear();
  facts.snapshot = std::move(snapshot);
  std::vector<Unreadable> unreadable;
  for (const plan::JobId id : facts.snapshot->job_ids()) {
    try {
      Refine(facts, id, *facts.snapshot);
    } catch (const std::exception& error) {
      unreadable.push_back({facts.Job(id).job.key, error.what()});
    }
  }
  if (facts.await_limit_ms > 0) facts.snapshot->leaving = DeparturesOf(facts);
  AddHolds(HoldsOf(facts), facts);
  facts.not_in_snapshot.clear();
  return unreadable;
}

std::vector<Hold> PreemptionHolds(const api::Gang& gang) {
  std::vector<Hold> holds;
  if (!gang.status.preemption) return holds;
  for (const std::string& host : gang.status.preemption->hosts) {
    holds.push_back({host, HoldReason::kPreemption, KeyOf(gang.metadata)});
  }
  return holds;
}

std::vector<Hold> MoveHolds(const api::Gang& gang) {
  std::vector<Hold> holds;
  if (!gang.status.is_promised_next()) return holds;
  const auto role_of = [&](int rank) {
    return std::count_if(gang.roles.begin(), gang.roles.end(),
                         [&](const api::GangRole& role) { return role.first_rank <= rank; });
  };
  // What ranks of one role have on a host serves any of them there.
  std::map<std::pair<std::string_view, std::ptrdiff_t>, int> present;
  for (const api::AssignmentEntry& slot : gang.status.assignments) {
    ++present[{slot.host, role_of(slot.rank)}];
  }
  for (const api::AssignmentEntry& slot : gang.status.move->assignments) {
    int& left = present[{slot.host, role_of(slot.rank)}];
    if (left-- > 0) continue;
    holds.push_back({slot.host, HoldReason::kMove, KeyOf(gang.metadata)});
  }
  return holds;
}

std::vector<Hold> IndeterminateHolds(const PassFacts& facts, const api::Gang& attempted) {
  std::vector<Hold> holds;
  const NamespacedName key = KeyOf(attempted.metadata);
  const GangPtr now = facts.FindGang(key);
  const auto has = [](const std::vector<api::AssignmentEntry>& slots, int rank,
                      const std::string& host) {
    const auto at = static_cast<std::size_t>(rank);
    return at < slots.size() && slots[at].host == host;
  };
  const auto add = [&](const std::vector<api::AssignmentEntry>& slots) {
    for (const api::AssignmentEntry& slot : slots) {
      const bool has_it =
          now != nullptr && (has(now->status.assignments, slot.rank, slot.host) ||
                             (now->status.is_promised_next() &&
                              has(now->status.move->assignments, slot.rank, slot.host)));
      if (!has_it) holds.push_back({slot.host, HoldReason::kIndeterminateWrite, key});
    }
  };
  add(attempted.status.assignments);
  if (attempted.status.is_promised_next()) add(attempted.status.move->assignments);
  return holds;
}

std::vector<Hold> HoldsOf(const PassFacts& facts) {
  std::vector<Hold> holds;
  for (const auto& [key, reason] : facts.isolated) {
    const GangPtr gang = facts.FindGang(key);
    if (gang == nullptr) continue;
    for (const api::AssignmentEntry& slot : gang->status.assignments) {
      holds.push_back({slot.host, HoldReason::kIsolated, key});
    }
    for (std::vector<Hold> more : {PreemptionHolds(*gang), MoveHolds(*gang)}) {
      for (Hold& hold : more) holds.push_back({std::move(hold.host), HoldReason::kIsolated, key});
    }
  }
  for (const auto& [key, gang] : facts.gangs) {
    if (!gang->status.preemption) continue;
    for (Hold& hold : PreemptionHolds(*gang)) holds.push_back(std::move(hold));
  }
  for (const auto& [key, attempted] : facts.indeterminate) {
    for (Hold& hold : IndeterminateHolds(facts, *attempted)) holds.push_back(std::move(hold));
  }
  return holds;
}

void AddHolds(std::vector<Hold> holds, PassFacts& facts) {
  for (const Hold& hold : holds) AddHold(hold, facts);
  std::move(holds.begin(), holds.end(), std::back_inserter(facts.holds));
}

plan::JobState Resized(const plan::JobState& job) {
  plan::JobState resized = job;
  resized.job = job.resize->job;
  resized.groups = job.resize->groups;
  resized.resize = nullptr;
  return resized;
}

std::map<fabric::HostId, std::int64_t> MoreGpusNext(const plan::JobState& job) {
  std::map<fabric::HostId, std::int64_t> more;
  if (!job.next) return more;
  int rank = 0;
  for (const fabric::HostId host : job.next->host_of_rank) more[host] += job.job.HostGpusOf(rank++);
  rank = 0;
  for (const fabric::HostId host : job.assignment->host_of_rank) {
    const int gpus = job.job.HostGpusOf(rank++);
    const auto at = more.find(host);
    if (at != more.end()) at->second -= gpus;
  }
  std::erase_if(more, [](const auto& entry) { return entry.second <= 0; });
  return more;
}

std::vector<std::int64_t> PromisedGpus(const plan::Snapshot& snapshot) {
  std::vector<std::int64_t> promised(snapshot.cluster.hosts.size(), 0);
  for (const plan::JobState& job : snapshot.jobs) {
    if (!job.assignment) continue;
    int rank = 0;
    for (fabric::HostId host : job.assignment->host_of_rank) {
      const int gpus = job.job.HostGpusOf(rank++);
      if (host.valid()) promised[host.index()] += gpus;
    }
    for (const auto& [host, gpus] : MoreGpusNext(job)) promised[host.index()] += gpus;
  }
  return promised;
}

}  // namespace yardmaster::extender
