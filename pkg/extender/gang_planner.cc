#include "pkg/extender/gang_planner.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/status.h"
#include "pkg/extender/gang_status.h"

namespace yardmaster::extender {

GangPlanner::GangPlanner(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
                         Fence fence, Publish publish, Notify notify, Options options)
    : client_(client),
      cache_(cache),
      clock_(clock),
      publish_(std::move(publish)),
      ledger_(client, cache, std::move(fence), options.ledger),
      budgets_(client),
      preemption_(client, budgets_, ledger_, clock, notify, options.eviction_threads),
      decider_(preemption_, budgets_, ledger_, clock, notify, options.preemption),
      adoption_(ledger_, clock, notify),
      placement_(ledger_, preemption_, decider_, clock, notify, std::move(options.plan)),
      release_(client, cache, ledger_, options.release_threads),
      taints_(client, cache, ledger_, options.taints),
      revocation_(ledger_, preemption_, clock, notify) {}

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
  budgets_.Forget();
  const bool leader = ledger_.BeginPass(pass.report);
  pass.world = cache_.Take();
  MatchGangs(pass);
  if (leader) {
    CreateGangs(pass);
    FinishGangs(pass);
    MarkReleased(pass);
    adoption_.Run(pass);
    preemption_.CarryOn(pass);
  }
  LoadSnapshot(pass);
  if (leader && revocation_.Run(pass)) LoadSnapshot(pass);
  PublishView(pass);
  if (leader && ledger_.may_write()) {
    placement_.Run(pass);
    PublishView(pass);
    release_.Run(pass);
    taints_.Run(pass);
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
    if (!ledger_.may_write()) return;
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

void GangPlanner::LoadSnapshot(PassState& pass) {
  state::ClusterState input = pass.world;
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
    // Told by the adoption step.
    if (!gang->status.committed() && AnyBound(*gathered)) continue;
    input.gangs.Put(gang);
    const auto owner = owners.find(gang->owner.uid);
    if (owner != owners.end()) input.jobs.Put(owner->second);  // for what only it says
  }
  pass.snapshot = std::make_shared<plan::Snapshot>(builder_.Build(input));
  pass.snapshot->now_ms = clock_.WallMs();
  PreemptionStep::KeepHosts(pass);
  ledger_.HoldHostsInDoubt(pass);
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

}  // namespace yardmaster::extender
