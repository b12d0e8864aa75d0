#include "pkg/cli/plan_input.h"

#include <algorithm>
#include <ostream>
#include <set>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/extender/gather.h"
#include "pkg/operator/network_faults.h"
#include "pkg/operator/network_profiles.h"
#include "pkg/operator/previous_network_reader.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::cli {

namespace {

using Keys = std::set<NamespacedName>;

Keys KnownJobs(const state::ClusterState& world) {
  Keys known;
  for (const auto& gang : world.gangs) {
    known.insert(KeyOf(gang->metadata));
  }
  for (const auto& job : world.jobs) {
    known.insert(
        {job->metadata.namespace_name, api::GangName(api::kTrainingJobKind, job->metadata.name)});
  }
  return known;
}

// Pods of other controllers that have no Gang yet become one, as the extender would make it. What a
// workload's controller would make counts where no pod of that gang is there.
void AddGangsOfPods(const extender::Gathered& gathered, Keys& known, state::ClusterState& world,
                    std::ostream& err) {
  for (const extender::PodProblem& problem : gathered.problems) err << problem.text << "\n";
  for (const extender::GatheredGang& pods : gathered.gangs) {
    if (!known.insert({pods.namespace_name, pods.name}).second) continue;
    auto gang = extender::MakeGang(pods, nullptr);
    if (!gang.ok()) {
      err << MessageOf(gang.status()) << "\n";
    } else if (*gang) {
      // It is as old as its youngest pod.
      for (const extender::GangMember& member : pods.members) {
        (*gang)->metadata.created_ms =
            std::max((*gang)->metadata.created_ms, member.pod->metadata.created_ms);
      }
      world.gangs.Put(std::make_shared<const api::Gang>(**std::move(gang)));
    } else {
      err << "gang " << pods.namespace_name << "/" << pods.name << ": not planned, "
          << Count(static_cast<std::int64_t>(pods.members.size()), "pod")
          << " are there and more belong to it\n";
    }
  }
}

// Which disruption budgets cover how many pods of the placed gangs. A pod under two budgets cannot
// be evicted at all.
void AddBudgets(const std::vector<api::DisruptionBudget>& budgets,
                const state::ObjectTable<api::Pod>& pods, plan::Snapshot& snapshot) {
  if (budgets.empty()) return;
  for (const api::DisruptionBudget& budget : budgets) {
    const auto allowed = std::min<std::int64_t>(budget.disruptions_allowed, INT32_MAX);
    snapshot.budgets.push_back({StrCat(budget.metadata.namespace_name, "/", budget.metadata.name),
                                static_cast<int>(allowed)});
  }
  std::map<NamespacedName, plan::JobState*> jobs;
  for (plan::JobState& job : snapshot.jobs) {
    if (job.assignment) jobs[job.job.key] = &job;
  }
  for (const extender::GatheredGang& gang : extender::Gather(pods).gangs) {
    const auto at = jobs.find({gang.namespace_name, gang.name});
    if (at == jobs.end()) continue;
    std::map<int, int> covered;
    for (const extender::GangMember& member : gang.members) {
      int by = 0;
      for (std::size_t b = 0; b < budgets.size(); ++b) {
        if (!budgets[b].Covers(gang.namespace_name, member.pod->metadata.labels)) continue;
        ++covered[static_cast<int>(b)];
        ++by;
      }
      if (by > 1) at->second->may_be_preempted = false;
    }
    for (const auto& [budget, count] : covered) at->second->budgets.push_back({budget, count});
  }
}

ReportNames NamesOf(const state::ClusterState& world) {
  ReportNames names;
  for (const auto& job : world.jobs) {
    names[{job->metadata.namespace_name,
           api::GangName(api::kTrainingJobKind, job->metadata.name)}] = {api::kTrainingJobKind,
                                                                         job->metadata.name};
  }
  for (const auto& gang : world.gangs) {
    names[KeyOf(gang->metadata)] = {gang->owner.kind, gang->owner.name};
  }
  return names;
}

// Fills the world's gangs in, and makes the snapshot of it.
PlanInput BuildInput(Manifests& manifests, std::ostream& err) {
  for (const auto& [kind, count] : manifests.ignored) {
    err << "ignored: " << Count(count, kind)
        << " (read are Nodes, Pods, our own kinds, and workloads whose pods ask for GPUs and carry "
        << api::kParallelismAnnotation << ")\n";
  }
  Keys known = KnownJobs(manifests.world);
  AddGangsOfPods(extender::Gather(manifests.world.pods), known, manifests.world, err);
  AddGangsOfPods(extender::Gather(manifests.expected_pods), known, manifests.world, err);
  PlanInput input;
  input.names = NamesOf(manifests.world);
  input.snapshot = state::BuildSnapshot(manifests.world);
  AddBudgets(manifests.budgets, manifests.world.pods, input.snapshot);
  if (input.snapshot.network) {
    const std::string problem = op::MarkDownLinks(
        *manifests.world.fabrics.front(), *input.snapshot.network, input.snapshot.cable_down);
    if (!problem.empty()) input.snapshot.warnings.push_back(StrCat("Fabric: ", problem));
  }
  return input;
}

void TellWarnings(const plan::Snapshot& snapshot, std::ostream& err) {
  for (const std::string& warning : snapshot.warnings) err << "warning: " << warning << "\n";
}

// Measured profiles, levels and ports, out of the objects that carry them.
void ReadNetwork(const state::ClusterState& world, PlanInput& input) {
  op::GangsByKey gangs;
  for (const auto& gang : world.gangs) {
    gangs[KeyOf(gang->metadata)] = gang;
  }
  const op::PodsByGang pods = op::IndexPods(world.pods, gangs);
  plan::Snapshot& snapshot = input.snapshot;
  op::LoneTransfers transfers;  // nothing was predicted before
  for (plan::JobState& job : snapshot.jobs) {
    const auto members = pods.find(job.job.key.text());
    if (members == pods.end() || !job.problems.empty()) continue;
    const op::MeasuredJob measured =
        op::ApplyProfile(members->second, snapshot.network->spec(), std::nullopt, transfers, job);
    snapshot.warnings.insert(snapshot.warnings.end(), measured.problems.begin(),
                             measured.problems.end());
  }
  input.former = op::PreviousFromObjects(snapshot, gangs, pods);
}

}  // namespace

PlanInput InputOfFiles(Manifests manifests, std::ostream& err) {
  PlanInput input = BuildInput(manifests, err);
  TellWarnings(input.snapshot, err);
  return input;
}

PlanInput InputOfCluster(Manifests manifests, std::int64_t now_ms, std::ostream& err) {
  PlanInput input = BuildInput(manifests, err);
  input.snapshot.now_ms = now_ms;
  if (input.snapshot.network) {
    ReadNetwork(manifests.world, input);
  } else {
    // In place: g++ 12 sees an overflow in the move of a temporary string.
    input.snapshot.warnings.emplace_back(
        "there is no Fabric that can be used, so jobs are placed and get no levels and no paths; "
        "apply a Fabric, or give one with -f");
  }
  TellWarnings(input.snapshot, err);
  return input;
}

}  // namespace yardmaster::cli
