#include "pkg/extender/adoption_step.h"

#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/extender/adoption.h"
#include "pkg/extender/gang_status.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::extender {

void AdoptionStep::Run(PassState& pass) {
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
void AdoptionStep::Adopt(PassState& pass, const NameKey& key,
                         const std::vector<std::string>& hosts) {
  const api::Gang gang = *pass.gangs.at(key);
  api::Gang placed = gang;
  placed.status.plan_generation = 1;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    placed.status.assignments.push_back({static_cast<int>(rank), hosts[rank], "", "", {}});
  }
  state::ClusterState input = pass.world;
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

}  // namespace yardmaster::extender
