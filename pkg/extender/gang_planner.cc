#include "pkg/extender/gang_planner.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/slot.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/gang_status.h"
#include "pkg/extender/pin_patch.h"
#include "pkg/placement/replacement.h"
#include "pkg/plan/verifier.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

namespace {

constexpr char kFieldManager[] = "yardmaster-extender";

using NameKey = std::pair<std::string, std::string>;

NameKey KeyOf(const api::ObjectMeta& metadata) { return {metadata.namespace_name, metadata.name}; }

std::string Text(const workload::JobKey& key) { return key.text(); }

// Ranks whose pod waits behind the gate while the slot's host is out: they have to move.
std::vector<int> RanksToMove(const plan::JobState& job, const GatheredGang& gathered,
                             const placement::Cluster& cluster) {
  std::vector<int> ranks;
  for (const GangMember& member : gathered.members) {
    if (!member.rank || !member.pod->gated()) continue;
    const fabric::HostId host =
        job.assignment->host_of_rank[static_cast<std::size_t>(*member.rank)];
    if (!host.valid() || cluster.hosts[host.index()].out != placement::HostOut::kNo) {
      ranks.push_back(*member.rank);
    }
  }
  return ranks;
}

bool AnyBeingDeleted(const GatheredGang& gang) {
  return std::any_of(gang.members.begin(), gang.members.end(), [](const GangMember& member) {
    return member.pod->metadata.deleted_ms.has_value();
  });
}

// Moves a gang's occupation in the cluster from where it was to where it will be.
void Occupy(placement::Cluster& cluster, const plan::JobState& job,
            const std::vector<fabric::HostId>& hosts) {
  const auto gpus = static_cast<std::int16_t>(job.job.gpus_per_worker);
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    const fabric::HostId before =
        job.assignment ? job.assignment->host_of_rank[rank] : fabric::HostId();
    if (before == hosts[rank]) continue;
    if (before.valid()) cluster.hosts[before.index()].free_gpus += gpus;
    cluster.hosts[hosts[rank].index()].free_gpus -= gpus;
  }
}

}  // namespace

// Everything one pass knows. `snapshot` follows our own commits.
struct GangPlanner::Pass_ {
  state::World world;
  PassReport report;
  std::map<NameKey, GatheredGang> gathered;
  std::map<NameKey, std::shared_ptr<const api::Gang>> gangs;
  std::shared_ptr<plan::Snapshot> snapshot;
  std::map<workload::JobKey, GangNote> notes;

  const api::Gang& GangOf(int job) const {
    const workload::JobKey& key = snapshot->jobs[static_cast<std::size_t>(job)].job.key;
    return *gangs.at({key.namespace_name, key.name});
  }
};

GangPlanner::GangPlanner(kube::Client& client, state::WorldCache& cache, const Clock& clock,
                         MayWrite may_write, Publish publish, Notify notify, Options options)
    : client_(client),
      cache_(cache),
      clock_(clock),
      may_write_(std::move(may_write)),
      publish_(std::move(publish)),
      notify_(std::move(notify)),
      options_(std::move(options)) {}

bool GangPlanner::ReadLedger(Pass_& pass) {
  if (!may_write_()) {
    ledger_read_ = false;
    return false;
  }
  if (ledger_read_) return true;
  const auto list = kube::ListAll(client_, {kube::Gangs(), "", "", ""});
  if (!list.ok()) {
    pass.report.errors.push_back(MessageOf(list.status()));
    return false;
  }
  for (const kube::ObjectPtr& gang : list->items) cache_.Assume(state::Kind::kGang, *gang);
  ledger_read_ = true;
  return true;
}

void GangPlanner::MatchGangs(Pass_& pass) {
  for (const auto& gang : pass.world.gangs) pass.gangs[KeyOf(gang->metadata)] = gang;
  Gathered gathered = Gather(pass.world.pods);
  for (std::string& problem : gathered.problems) pass.report.problems.push_back(std::move(problem));
  for (GatheredGang& gang : gathered.gangs) {
    NameKey key{gang.namespace_name, gang.name};
    auto known = pass.gangs.find(key);
    if (known != pass.gangs.end()) {
      // Pods of another life of the job wait until the garbage collector has taken the old Gang.
      if (known->second->owner.uid != gang.owner_uid) continue;
      AssignRanks(known->second->rank_bases, gang);
    }
    pass.gathered.insert_or_assign(std::move(key), std::move(gang));
  }
}

PassReport GangPlanner::Pass() {
  Pass_ pass;
  const bool leader = ReadLedger(pass);
  pass.world = cache_.Take();
  MatchGangs(pass);
  if (leader) {
    CreateGangs(pass);
    FinishGangs(pass);
    MarkReleased(pass);
  }
  LoadSnapshot(pass);
  PublishView(pass);
  if (leader) {
    ReplaceLost(pass);
    PlaceWaiting(pass);
    PublishView(pass);
    ReleasePods(pass);
  }
  return std::move(pass.report);
}

void GangPlanner::CreateGangs(Pass_& pass) {
  std::map<NameKey, const api::TrainingJob*> jobs;
  for (const auto& job : pass.world.jobs) {
    jobs[{job->metadata.namespace_name, api::GangName(api::kTrainingJobKind, job->metadata.name)}] =
        job.get();
  }
  for (auto& [key, gathered] : pass.gathered) {
    if (pass.gangs.count(key) != 0 || AnyBeingDeleted(gathered)) continue;
    auto job = jobs.find(key);
    // A TrainingJob's pods without the TrainingJob are what the garbage collector has still to
    // take.
    const bool ours = !gathered.members.empty() &&
                      gathered.members.front().membership.owner.kind == api::kTrainingJobKind;
    if (ours && (job == jobs.end() || job->second->metadata.deleted_ms)) continue;
    auto gang = MakeGang(gathered, job == jobs.end() ? nullptr : job->second);
    if (!gang.ok()) {
      pass.report.problems.push_back(MessageOf(gang.status()));
      continue;
    }
    if (!*gang) continue;
    auto created = client_.Create({kube::Gangs(), key.first, "", ""}, api::EncodeGang(**gang),
                                  {kFieldManager, false, false});
    if (!created.ok()) {
      pass.report.errors.push_back(MessageOf(created.status()));
      continue;
    }
    cache_.Assume(state::Kind::kGang, *created);
    auto decoded = api::DecodeGang(*created);
    if (!decoded.ok()) {
      pass.report.errors.push_back(MessageOf(decoded.status()));
      continue;
    }
    AssignRanks(decoded->rank_bases, gathered);
    pass.gangs[key] = std::make_shared<const api::Gang>(*std::move(decoded));
    ++pass.report.gangs_created;
  }
}

void GangPlanner::FinishGangs(Pass_& pass) {
  for (auto& [key, gang] : pass.gangs) {
    auto gathered = pass.gathered.find(key);
    if (!gang->status.committed() || gathered == pass.gathered.end()) continue;
    if (!gathered->second.members.empty() || gathered->second.finished == 0) continue;
    if (api::IsTrue(gang->status.conditions, state::kFinishedCondition)) continue;
    api::GangStatus status = gang->status;
    status.observed_generation = gang->metadata.generation;
    api::SetCondition(status.conditions,
                      {state::kFinishedCondition, api::ConditionStatus::kTrue, "PodsFinished",
                       "every pod has finished; the hosts are free", gang->metadata.generation, 0},
                      clock_.WallMs());
    WriteStatus(pass, *gang, status);
  }
}

void GangPlanner::MarkReleased(Pass_& pass) {
  for (auto& [key, gang] : pass.gangs) {
    auto gathered = pass.gathered.find(key);
    if (!gang->status.committed() || gathered == pass.gathered.end()) continue;
    if (api::IsTrue(gang->status.conditions, api::kReleasedCondition)) continue;
    const std::vector<GangMember>& members = gathered->second.members;
    const bool all_released =
        !members.empty() && std::none_of(members.begin(), members.end(),
                                         [](const auto& member) { return member.pod->gated(); });
    if (!all_released) continue;
    api::GangStatus status = gang->status;
    status.observed_generation = gang->metadata.generation;
    api::SetCondition(
        status.conditions,
        {api::kReleasedCondition, api::ConditionStatus::kTrue, "PodsReleased",
         "every pod is pinned to its host and released", gang->metadata.generation, 0},
        clock_.WallMs());
    WriteStatus(pass, *gang, status);
  }
}

void GangPlanner::LoadSnapshot(Pass_& pass) {
  state::World input = pass.world;
  input.gangs.clear();
  input.jobs.clear();  // a TrainingJob is planned through its Gang
  for (const auto& [key, gang] : pass.gangs) {
    if (api::IsTrue(gang->status.conditions, state::kFinishedCondition)) continue;
    auto gathered = pass.gathered.find(key);
    const bool complete =
        gathered != pass.gathered.end() && IsComplete(gathered->second, gang->job.workers);
    // A gang whose pods are not all there yet is not planned; a committed one keeps its hosts.
    if (!complete && !gang->status.committed()) continue;
    if (!gang->status.committed() && AnyBound(gathered->second)) {
      pass.report.problems.push_back(
          StrCat("Gang ", key.first, "/", key.second,
                 ": some of its pods are on nodes already although no plan of it was committed; ",
                 "delete the pods to have the gang placed"));
      continue;
    }
    input.gangs.push_back(gang);
  }
  pass.snapshot = std::make_shared<plan::Snapshot>(state::BuildSnapshot(input));
  pass.snapshot->now_ms = clock_.WallMs();
  for (const std::string& warning : pass.snapshot->warnings) {
    pass.report.problems.push_back(warning);
  }
  for (const std::string& problem : pass.world.problems) pass.report.problems.push_back(problem);
  for (const auto& [key, gang] : pass.gangs) {
    GangNote& note = pass.notes[{key.first, key.second}];
    note.rank_bases = gang->rank_bases;
    if (const api::Condition* planned =
            api::FindCondition(gang->status.conditions, api::kPlannedCondition)) {
      if (planned->status != api::ConditionStatus::kTrue) note.waiting = planned->message;
    }
  }
}

void GangPlanner::PublishView(Pass_& pass) {
  publish_(std::make_shared<const View>(std::make_shared<const plan::Snapshot>(*pass.snapshot),
                                        pass.notes));
}

bool GangPlanner::WriteStatus(Pass_& pass, const api::Gang& gang, const api::GangStatus& status) {
  api::Gang next = gang;
  next.status = status;
  auto written =
      client_.Replace({kube::Gangs(), gang.metadata.namespace_name, gang.metadata.name, "status"},
                      api::EncodeGang(next), {kFieldManager, false, false});
  if (!written.ok()) {
    pass.report.errors.push_back(MessageOf(written.status()));
    return false;
  }
  cache_.Assume(state::Kind::kGang, *written);
  auto decoded = api::DecodeGang(*written);
  if (decoded.ok()) {
    pass.gangs[KeyOf(gang.metadata)] = std::make_shared<const api::Gang>(*std::move(decoded));
  }
  return true;
}

bool GangPlanner::Commit(Pass_& pass, int job, const placement::GangPlan& plan,
                         bool may_use_backup) {
  if (!may_write_()) return false;
  plan::JobState& state = pass.snapshot->jobs[static_cast<std::size_t>(job)];
  const api::Gang gang = pass.GangOf(job);
  absl::Status sound =
      plan::VerifyPlacement(*pass.snapshot, job, plan.host_of_rank, may_use_backup);
  if (!sound.ok()) {
    pass.report.errors.push_back(
        StrCat("Gang ", Text(state.job.key),
               ": a plan did not pass the verifier and was dropped: ", MessageOf(sound)));
    return false;
  }
  const api::GangStatus status = Committed(gang, plan, state, *pass.snapshot, clock_.WallMs());
  if (!WriteStatus(pass, gang, status)) return false;
  Occupy(pass.snapshot->cluster, state, plan.host_of_rank);
  state.assignment = plan::Assignment{plan.host_of_rank};
  state.lost_ranks.clear();
  pass.notes[state.job.key].waiting.clear();
  ++pass.report.committed;
  return true;
}

void GangPlanner::TellNotPlaced(Pass_& pass, int job, const placement::GangPlan& plan) {
  const api::Gang gang = pass.GangOf(job);
  ++pass.report.waiting;
  const api::GangStatus status = NotPlaced(gang, plan, clock_.WallMs());
  pass.notes[pass.snapshot->jobs[static_cast<std::size_t>(job)].job.key].waiting = Explain(plan);
  // Said once per text, not once per pass.
  if (status == gang.status || !WriteStatus(pass, gang, status)) return;
  Notice notice{gang.owner, gang.metadata.namespace_name, true, "NotPlaced",
                StrCat(Name(plan.outcome), ": ", Explain(plan))};
  notify_(notice);
  // Also where people look first: at a pod that stays pending. One stands for all.
  auto gathered = pass.gathered.find(KeyOf(gang.metadata));
  if (gathered == pass.gathered.end() || gathered->second.members.empty()) return;
  const api::ObjectMeta& pod = gathered->second.members.front().pod->metadata;
  notice.regarding = {"v1", "Pod", pod.name, pod.uid, false};
  notify_(notice);
}

void GangPlanner::ReplaceLost(Pass_& pass) {
  const fabric::BackupPolicy policy =
      pass.snapshot->network ? pass.snapshot->network->spec().backup : fabric::BackupPolicy{};
  for (std::size_t i = 0; i < pass.snapshot->jobs.size(); ++i) {
    plan::JobState& job = pass.snapshot->jobs[i];
    auto gathered = pass.gathered.find({job.job.key.namespace_name, job.job.key.name});
    if (!job.assignment || gathered == pass.gathered.end()) continue;
    const std::vector<int> lost = RanksToMove(job, gathered->second, pass.snapshot->cluster);
    if (lost.empty()) continue;
    placement::GangRequest request;
    request.job = &job.job;
    request.groups = &job.groups;
    request.eligible = job.eligible.get();
    const placement::GangPlan plan = placement::ReplaceHosts(
        pass.snapshot->cluster, request, job.assignment->host_of_rank, lost, policy);
    if (plan.outcome != placement::Outcome::kPlaced) {
      TellNotPlaced(pass, static_cast<int>(i), plan);
      continue;
    }
    if (!Commit(pass, static_cast<int>(i), plan, /*may_use_backup=*/true)) continue;
    pass.report.replaced_ranks += static_cast<int>(lost.size());
    const api::Gang& gang = pass.GangOf(static_cast<int>(i));
    for (int rank : lost) {
      const fabric::HostId host = plan.host_of_rank[static_cast<std::size_t>(rank)];
      notify_(
          {gang.owner, gang.metadata.namespace_name, false, "HostReplaced",
           StrCat("rank ", rank, " moves to ", pass.snapshot->places->name(host), " in segment ",
                  pass.snapshot->places->name(pass.snapshot->places->segment_of(host)))});
    }
  }
}

void GangPlanner::PlaceWaiting(Pass_& pass) {
  plan::PlanOptions options = options_.plan;
  options.network = options.paths = false;  // the operator's part
  const plan::Plan plan = plan::MakePlan(*pass.snapshot, options);
  // Ordinary pods are kept off what waits for a job; see decisions.h.
  for (const plan::Reservation& reservation : plan.reservations) {
    for (fabric::HostId host : reservation.hosts) {
      pass.snapshot->cluster.hosts[host.index()].reserved_for = reservation.job;
    }
  }
  for (const plan::JobPlan& job : plan.jobs) {
    if (!job.is_new) {
      if (pass.snapshot->jobs[static_cast<std::size_t>(job.job)].assignment) continue;
      TellNotPlaced(pass, job.job, job.gang);
      continue;
    }
    if (!Commit(pass, job.job, job.gang, job.uses_backup)) continue;
    const api::Gang& gang = pass.GangOf(job.job);
    notify_({gang.owner, gang.metadata.namespace_name, false, "Placed",
             api::FindCondition(gang.status.conditions, api::kPlannedCondition)->message});
  }
}

void GangPlanner::ReleasePods(Pass_& pass) {
  struct Release {
    PodPtr pod;
    const api::AssignmentEntry* slot;
    std::string gang;
    bool backup;
  };
  std::vector<Release> work;
  for (const auto& [key, gathered] : pass.gathered) {
    auto gang = pass.gangs.find(key);
    if (gang == pass.gangs.end() || !gang->second->status.committed()) continue;
    for (const GangMember& member : gathered.members) {
      const auto& slots = gang->second->status.assignments;
      if (!member.pod->gated() || !member.rank) continue;
      if (static_cast<std::size_t>(*member.rank) >= slots.size()) continue;
      const api::AssignmentEntry& slot = slots[static_cast<std::size_t>(*member.rank)];
      const fabric::HostId host = pass.snapshot->places->FindHost(slot.host);
      // A rank whose host is out waits for its replacement instead.
      if (!host.valid()) continue;
      const placement::HostState& state = pass.snapshot->cluster.hosts[host.index()];
      if (state.out != placement::HostOut::kNo) continue;
      work.push_back({member.pod, &slot, gang->second->metadata.name, state.backup});
    }
  }
  std::mutex mutex;
  ParallelFor(work.size(), options_.release_threads, [&](std::size_t i) {
    const Release& release = work[i];
    const api::ObjectMeta& metadata = release.pod->metadata;
    const kube::Target target{kube::Pods(), metadata.namespace_name, metadata.name, ""};
    const Pin pin{release.slot->host,
                  api::EncodeSlot({release.gang, release.slot->rank, release.slot->fabric_pod,
                                   release.slot->segment, release.slot->stages}),
                  release.backup};
    auto released = [&]() -> absl::StatusOr<nlohmann::json> {
      YM_ASSIGN_OR_RETURN(const nlohmann::json pod, client_.Get(target));
      YM_ASSIGN_OR_RETURN(const nlohmann::json patch, PinAndReleasePatch(pod, pin));
      return client_.Patch(target, kube::JsonPatch(patch), {kFieldManager, false, false});
    }();
    if (released.ok()) cache_.Assume(state::Kind::kPod, *released);
    std::lock_guard lock(mutex);
    if (released.ok()) {
      ++pass.report.released_pods;
    } else if (!absl::IsNotFound(released.status())) {
      pass.report.errors.push_back(MessageOf(released.status()));
    }
  });
}

}  // namespace yardmaster::extender
