#include "pkg/extender/gang_planner.h"

#include <algorithm>
#include <mutex>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/parallel.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/adoption.h"
#include "pkg/extender/gang_status.h"
#include "pkg/extender/host_taints.h"
#include "pkg/placement/replacement.h"
#include "pkg/plan/verifier.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

namespace {

std::string Text(const workload::JobKey& key) { return key.text(); }

// Ranks whose pod waits behind the gate while the slot's host is out: they have to move.
std::vector<int> RanksToMove(const plan::JobState& job, const GatheredGang& gathered,
                             const placement::Cluster& cluster) {
  std::vector<int> ranks;
  if (gathered.gated == 0) return ranks;
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

GangPlanner::GangPlanner(kube::Client& client, state::WorldCache& cache, const Clock& clock,
                         MayWrite may_write, Publish publish, Notify notify, Options options)
    : client_(client),
      cache_(cache),
      clock_(clock),
      publish_(std::move(publish)),
      notify_(std::move(notify)),
      options_(std::move(options)),
      ledger_(client, cache, std::move(may_write)),
      preemption_(client, cache, ledger_, clock, notify_, options_.preemption),
      release_(client, cache, options_.release_threads) {}

bool GangPlanner::ReadLedger(PassState& pass) {
  if (!ledger_.may_write()) {
    ledger_read_ = false;
    return false;
  }
  if (ledger_read_) return true;
  const absl::Status read = ledger_.ReadAll();
  if (!read.ok()) pass.report.errors.push_back(MessageOf(read));
  ledger_read_ = read.ok();
  return ledger_read_;
}

void GangPlanner::MatchGangs(PassState& pass) {
  for (const auto& gang : pass.world.gangs) pass.gangs[KeyOf(gang->metadata)] = gang;
  gatherer_.Update(pass.world.pods);
  for (std::string& problem : gatherer_.Problems()) {
    pass.report.problems.push_back(std::move(problem));
  }
  const auto bases_of = [&pass](const std::string& namespace_name, const std::string& name,
                                const std::string& owner_uid) {
    const auto known = pass.gangs.find({namespace_name, name});
    const bool same = known != pass.gangs.end() && known->second->owner.uid == owner_uid;
    return same ? &known->second->rank_bases : nullptr;
  };
  for (auto& gang : gatherer_.Gangs(bases_of)) {
    NameKey key{gang->namespace_name, gang->name};
    // Pods of another life of the job wait until the garbage collector has taken the old Gang.
    const auto known = pass.gangs.find(key);
    if (known != pass.gangs.end() && known->second->owner.uid != gang->owner_uid) continue;
    pass.gathered.insert_or_assign(std::move(key), std::move(gang));
  }
}

PassReport GangPlanner::Pass() {
  PassState pass;
  const bool leader = ReadLedger(pass);
  pass.world = cache_.Take();
  MatchGangs(pass);
  if (leader) {
    CreateGangs(pass);
    FinishGangs(pass);
    MarkReleased(pass);
    AdoptRunning(pass);
    preemption_.CarryOn(pass);
  }
  LoadSnapshot(pass);
  PublishView(pass);
  if (leader) {
    MarkDegraded(pass);
    ReplaceLost(pass);
    PlaceWaiting(pass);
    PublishView(pass);
    release_.Run(pass);
    TaintHosts(pass);
  }
  return std::move(pass.report);
}

void GangPlanner::CreateGangs(PassState& pass) {
  std::map<NameKey, const api::TrainingJob*> jobs;
  for (const auto& job : pass.world.jobs) {
    jobs[{job->metadata.namespace_name, api::GangName(api::kTrainingJobKind, job->metadata.name)}] =
        job.get();
  }
  for (auto& [key, gathered] : pass.gathered) {
    if (pass.gangs.count(key) != 0 || gathered->deleted > 0) continue;
    auto job = jobs.find(key);
    // A TrainingJob's pods without the TrainingJob are what the garbage collector has still to
    // take.
    const bool ours = !gathered->members.empty() &&
                      gathered->members.front().membership.owner.kind == api::kTrainingJobKind;
    if (ours && (job == jobs.end() || job->second->metadata.deleted_ms)) continue;
    auto gang = MakeGang(*gathered, job == jobs.end() ? nullptr : job->second);
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
    GatheredGang ranked = *gathered;
    AssignRanks(decoded->rank_bases, ranked);
    gathered = std::make_shared<const GatheredGang>(std::move(ranked));
    pass.gangs[key] = std::make_shared<const api::Gang>(*std::move(decoded));
    ++pass.report.gangs_created;
  }
}

void GangPlanner::FinishGangs(PassState& pass) {
  for (auto& [key, gang] : pass.gangs) {
    const GatheredGang* gathered = pass.GatheredOf(key);
    if (!gang->status.committed() || gathered == nullptr) continue;
    if (!gathered->members.empty() || gathered->finished == 0) continue;
    if (IsFinished(gang->status)) continue;
    api::GangStatus status = gang->status;
    status.observed_generation = gang->metadata.generation;
    api::SetCondition(status.conditions,
                      {state::kFinishedCondition, api::ConditionStatus::kTrue, "PodsFinished",
                       "every pod has finished; the hosts are free", gang->metadata.generation, 0},
                      clock_.WallMs());
    ledger_.Write(pass, *gang, status);
  }
}

void GangPlanner::MarkReleased(PassState& pass) {
  for (auto& [key, gang] : pass.gangs) {
    const GatheredGang* gathered = pass.GatheredOf(key);
    if (!gang->status.committed() || gathered == nullptr) continue;
    if (api::IsTrue(gang->status.conditions, api::kReleasedCondition)) continue;
    if (gathered->members.empty() || gathered->gated > 0) continue;
    api::GangStatus status = gang->status;
    status.observed_generation = gang->metadata.generation;
    api::SetCondition(
        status.conditions,
        {api::kReleasedCondition, api::ConditionStatus::kTrue, "PodsReleased",
         "every pod is pinned to its host and released", gang->metadata.generation, 0},
        clock_.WallMs());
    ledger_.Write(pass, *gang, status);
  }
}

void GangPlanner::AdoptRunning(PassState& pass) {
  std::vector<NameKey> running;
  for (const auto& [key, gang] : pass.gangs) {
    const GatheredGang* gathered = pass.GatheredOf(key);
    if (gang->status.plan_generation == 0 && gathered != nullptr && AnyBound(*gathered)) {
      running.push_back(key);
    }
  }
  for (const NameKey& key : running) {
    const auto hosts = HostsOfRunningPods(*pass.GatheredOf(key), pass.gangs.at(key)->job.workers);
    if (hosts.ok()) {
      Adopt(pass, key, *hosts);
    } else {
      pass.report.problems.push_back(
          StrCat("Gang ", key.first, "/", key.second, ": pods of it run although it has no plan, ",
                 "and they do not say where each rank belongs: ", MessageOf(hosts.status()),
                 "; delete the pods to have the gang placed"));
    }
  }
}

// The plan that the pods stand for has to pass what every plan has to pass.
void GangPlanner::Adopt(PassState& pass, const NameKey& key,
                        const std::vector<std::string>& hosts) {
  const api::Gang gang = *pass.gangs.at(key);
  api::Gang placed = gang;
  placed.status.plan_generation = 1;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    placed.status.assignments.push_back({static_cast<int>(rank), hosts[rank], "", "", {}});
  }
  state::World input = pass.world;
  input.jobs.clear();
  input.gangs.clear();
  for (const auto& [other, known] : pass.gangs) {
    if (other != key && known->status.committed()) input.gangs.Put(known);
  }
  input.gangs.Put(std::make_shared<const api::Gang>(placed));
  const plan::Snapshot snapshot = state::BuildSnapshot(input);
  const std::string problem = AdoptionProblem(snapshot, {key.first, key.second});
  if (!problem.empty()) {
    pass.report.problems.push_back(StrCat("Gang ", key.first, "/", key.second,
                                          ": its running pods cannot be taken for its plan: ",
                                          problem, "; delete them to have the gang placed"));
    return;
  }
  const int index = IndexOfJob(snapshot, {key.first, key.second});
  const plan::JobState& job = snapshot.jobs[static_cast<std::size_t>(index)];
  placement::GangPlan plan;
  plan.host_of_rank = job.assignment->host_of_rank;
  plan.objective = placement::Evaluate(*snapshot.places, *job.groups, plan.host_of_rank);
  api::GangStatus status = Committed(gang, plan, job, snapshot, clock_.WallMs());
  const std::string text = "the Gang was missing; its plan was rebuilt from its running pods";
  api::SetCondition(status.conditions,
                    {api::kPlannedCondition, api::ConditionStatus::kTrue, "Adopted", text,
                     gang.metadata.generation, 0},
                    clock_.WallMs());
  if (!ledger_.Write(pass, gang, status)) return;
  ++pass.report.adopted;
  notify_({gang.owner, gang.metadata.namespace_name, true, "Adopted", text});
}

void GangPlanner::LoadSnapshot(PassState& pass) {
  state::World input = pass.world;
  input.gangs.clear();
  input.jobs.clear();  // a TrainingJob is planned through its Gang
  std::map<std::string, std::shared_ptr<const api::TrainingJob>> owners;
  for (const auto& job : pass.world.jobs) owners[job->metadata.uid] = job;
  for (const auto& [key, gang] : pass.gangs) {
    if (IsFinished(gang->status)) continue;
    const GatheredGang* gathered = pass.GatheredOf(key);
    const bool complete = gathered != nullptr && IsComplete(*gathered, gang->job.workers);
    // A gang whose pods are not all there yet is not planned; a committed one keeps its hosts.
    if (!complete && !gang->status.committed()) continue;
    // Told by AdoptRunning.
    if (!gang->status.committed() && AnyBound(*gathered)) continue;
    input.gangs.Put(gang);
    const auto owner = owners.find(gang->owner.uid);
    if (owner != owners.end()) input.jobs.Put(owner->second);  // for what only it says
  }
  pass.snapshot = std::make_shared<plan::Snapshot>(builder_.Build(input));
  pass.snapshot->now_ms = clock_.WallMs();
  PreemptionStep::KeepHosts(pass);
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

void GangPlanner::PublishView(PassState& pass) {
  publish_(std::make_shared<const View>(std::make_shared<const plan::Snapshot>(*pass.snapshot),
                                        pass.notes, pass.world.pods));
}

bool GangPlanner::Commit(PassState& pass, int job, const placement::GangPlan& plan,
                         bool may_use_backup) {
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
  if (!ledger_.Write(pass, gang, status)) return false;
  Occupy(pass.snapshot->cluster, state, plan.host_of_rank);
  state.assignment = plan::Assignment{plan.host_of_rank};
  state.lost_ranks.clear();
  pass.notes[state.job.key].waiting.clear();
  ++pass.report.committed;
  return true;
}

void GangPlanner::TellNotPlaced(PassState& pass, int job, const placement::GangPlan& plan) {
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
void GangPlanner::MarkDegraded(PassState& pass) {
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

void GangPlanner::ReplaceLost(PassState& pass) {
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

void GangPlanner::ReplaceRanks(PassState& pass, int index, const std::vector<int>& lost) {
  plan::JobState& job = pass.snapshot->jobs[static_cast<std::size_t>(index)];
  const fabric::BackupPolicy policy =
      pass.snapshot->network ? pass.snapshot->network->spec().backup : fabric::BackupPolicy{};
  const placement::GangRequest request{&job.job, job.groups.get(), job.eligible.get(), index};
  const placement::GangPlan plan = placement::ReplaceHosts(
      pass.snapshot->cluster, request, job.assignment->host_of_rank, lost, policy);
  if (plan.outcome != placement::Outcome::kPlaced) {
    TellNotPlaced(pass, index, plan);
    job.lost_ranks = lost;
    return preemption_.DecideTakeBack(pass, index);
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

void GangPlanner::PlaceWaiting(PassState& pass) {
  if (plan::QueueOrder(*pass.snapshot).empty()) return;
  plan::PlanOptions options = options_.plan;
  options.network = options.paths = false;  // the operator's part
  const plan::Plan plan = plan::MakePlan(*pass.snapshot, options);
  // Ordinary pods are kept off what waits for a job; see decisions.h.
  for (const plan::Reservation& reservation : plan.reservations) {
    for (fabric::HostId host : reservation.hosts) {
      pass.snapshot->cluster.hosts[host.index()].reserved_for = reservation.job;
    }
  }
  std::vector<int> waiting;
  for (const plan::JobPlan& job : plan.jobs) {
    if (!job.is_new) {
      if (pass.snapshot->jobs[static_cast<std::size_t>(job.job)].assignment) continue;
      TellNotPlaced(pass, job.job, job.gang);
      if (job.gang.outcome == placement::Outcome::kNotNow) waiting.push_back(job.job);
      continue;
    }
    if (!Commit(pass, job.job, job.gang, job.uses_backup)) continue;
    const api::Gang& gang = pass.GangOf(job.job);
    notify_({gang.owner, gang.metadata.namespace_name, false, "Placed",
             api::FindCondition(gang.status.conditions, api::kPlannedCondition)->message});
  }
  preemption_.Decide(pass, waiting);
}

void GangPlanner::TaintHosts(PassState& pass) {
  TaintChanges taints = HostTaintChanges(*pass.snapshot, pass.world, options_.taint_promised_hosts);
  pass.report.tainted_hosts = taints.promised;
  if (taints.changes.size() > options_.taint_changes_per_pass) {
    taints.changes.resize(options_.taint_changes_per_pass);
    pass.report.more_to_do = true;
  }
  std::mutex mutex;
  ParallelFor(taints.changes.size(), options_.release_threads, [&](std::size_t i) {
    if (!ledger_.may_write()) return;
    const TaintChange& change = taints.changes[i];
    auto node = client_.Patch({kube::Nodes(), "", change.node, ""}, kube::JsonPatch(change.patch),
                              {kFieldManager, false, false});
    if (node.ok()) cache_.Assume(state::Kind::kNode, *node);
    std::lock_guard lock(mutex);
    if (node.ok()) {
      ++pass.report.taint_changes;
    } else if (absl::IsFailedPrecondition(node.status()) || absl::IsAborted(node.status())) {
      pass.report.more_to_do = true;  // the Node is newer than what we have seen of it
    } else if (!absl::IsNotFound(node.status())) {
      pass.report.errors.push_back(MessageOf(node.status()));
    }
  });
}

}  // namespace yardmaster::extender
