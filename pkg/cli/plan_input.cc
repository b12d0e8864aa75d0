#include "pkg/cli/plan_input.h"

#include <algorithm>
#include <ostream>
#include <set>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/base/strings.h"
#include "pkg/cli/output/node_names.h"
#include "pkg/extender/observe/pods_as_gangs.h"
#include "pkg/gather/gather.h"
#include "pkg/operator/jobs/move_snapshot.h"
#include "pkg/operator/network/previous_network_reader.h"
#include "pkg/operator/network/reported_profiles.h"
#include "pkg/operator/telemetry/lossy_cables.h"
#include "pkg/operator/telemetry/network_faults.h"
#include "pkg/state/device_overlay.h"
#include "pkg/state/guessed_places.h"
#include "pkg/state/node_facts.h"
#include "pkg/state/snapshot_builder.h"
#include "pkg/state/used_fabric.h"

namespace yardmaster::cli {

namespace {

using Keys = std::set<NamespacedName>;
using Sources = std::map<NamespacedName, std::shared_ptr<const WorkloadSource>>;

Keys KnownJobs(const state::ClusterState& cluster) {
  Keys known;
  for (const auto& gang : cluster.gangs) {
    known.insert(KeyOf(gang->metadata));
  }
  for (const auto& job : cluster.jobs) {
    known.insert(
        {job->metadata.namespace_name, api::GangName(api::kTrainingJobKind, job->metadata.name)});
  }
  return known;
}

// A gang, or a pod that wants to be in one, that is not planned.
struct NotPlanned {
  NamespacedName pod;  // one of its pods
  std::string gang;    // "gang ns/name: ", or nothing where the text says what it is about
  std::string why;
  std::optional<gather::IncompleteGang> incomplete;  // a set that has pods
  bool too_few() const {
    return incomplete && incomplete->cause == gather::Incompleteness::kPodsMissing;
  }
};

// `problem`: why its pods are no gang, whatever pods come.
NotPlanned Explained(const gather::GatheredGang& pods, const gather::DeclaredSizes& declared,
                     const absl::Status& problem) {
  NotPlanned out;
  const auto& some = pods.members.empty() ? pods.leaving : pods.members;
  if (!some.empty()) out.pod = KeyOf(some.front().pod->metadata);
  out.gang = StrCat("gang ", pods.namespace_name, "/", pods.name, ": ");
  out.incomplete = gather::IncompletenessOf(pods, nullptr, nullptr, declared);
  if (!out.incomplete) {
    out.why = "not planned, its pods have finished or are being deleted";
    return out;
  }
  if (problem.ok()) {
    out.why = StrCat("not planned, ", out.incomplete->text);
    return out;
  }
  out.gang.clear();
  out.incomplete->cause = gather::Incompleteness::kInvalid;
  out.why = out.incomplete->text = MessageOf(problem);
  return out;
}

// "rank 3", "ranks 0, 3".
std::string EndedRanks(const gather::GatheredGang& pods, const api::Gang& gang) {
  std::vector<std::string> ranks;
  for (const gather::Replica& replica : pods.ended) {
    const auto rank = api::RankOf(gang.rank_bases, replica.subgroup, replica.index);
    if (rank) ranks.push_back(StrCat(*rank));
  }
  return StrCat(ranks.size() == 1 ? "rank " : "ranks ", Join(ranks, ", "));
}

// `gang` where its pods run on given Nodes and it cannot be planned as it runs: some of the Nodes
// have no place, or some ranks have ended, and nothing says any more where these ran.
std::optional<GangLeftAlone> RunsAsItIs(const gather::GatheredGang& pods, const api::Gang& gang,
                                        const state::ClusterState& cluster) {
  gather::GatheredGang ranked = pods;
  gather::AssignRanks(gang.rank_bases, gang.job.workers, ranked);
  const auto fabric = state::UsedFabric(cluster.fabrics);
  const fabric::FabricSpec spec = fabric == nullptr ? fabric::FabricSpec{} : fabric->spec;
  GangLeftAlone out{KeyOf(gang.metadata), {gang.owner.kind, gang.owner.name}, {}, ""};
  std::set<std::string> without;
  for (const gather::GangMember& member : ranked.members) {
    const auto node = cluster.nodes.Find({"", member.pod->node_name});
    if (node == nullptr) return std::nullopt;
    api::AssignmentEntry entry;
    entry.rank = *member.rank;
    entry.host = member.pod->node_name;
    if (const auto place = state::PlaceOf(*node, spec).place) {
      entry.fabric_pod = place->fabric_pod;
      entry.segment = place->segment;
    } else {
      without.insert(entry.host);
    }
    out.assignments.push_back(std::move(entry));
  }
  if (!without.empty()) {
    out.why = StrCat("runs on Nodes without a place in the fabric, and is left there: ",
                     HostNames({without.begin(), without.end()}),
                     "; label them with their fabric pod and segment");
  } else if (!pods.ended.empty()) {
    out.why =
        StrCat("runs without ", EndedRanks(pods, gang), ", which ended, and is left where it is");
  } else {
    return std::nullopt;
  }
  return out;
}

// Pods of other controllers that have no Gang yet become one, as the extender would make it. What a
// workload's controller would make counts where no pod of that gang is there.
// `sources`: of the workloads that the pods are expected of; they and the PodGroups say how many
// there are where the pods do not.
std::vector<NotPlanned> AddGangsOfPods(const gather::Gathered& gathered, const Sources& sources,
                                       const PodGroups& groups, Keys& known,
                                       state::ClusterState& cluster,
                                       std::vector<GangLeftAlone>& left_alone) {
  std::vector<NotPlanned> out;
  for (const gather::PodProblem& problem : gathered.problems) {
    out.push_back({{problem.namespace_name, problem.pod}, "", problem.text, std::nullopt});
  }
  for (const gather::GatheredGang& pods : gathered.gangs) {
    if (!known.insert({pods.namespace_name, pods.name}).second) continue;
    gather::DeclaredSizes declared = SizesOf(groups, pods);
    auto gang = gather::MakeGang(pods, nullptr, declared);
    if ((!gang.ok() || !*gang) && !pods.members.empty() && pods.held_by_others == 0) {
      const auto source = sources.find(KeyOf(pods.members.front().pod->metadata));
      if (source != sources.end() && source->second->pods) {
        declared.of_owner = source->second->pods;
        gang = gather::MakeGang(pods, nullptr, declared);
      }
    }
    if (gang.ok() && *gang) {
      // It is as old as its youngest pod.
      for (const gather::GangMember& member : pods.members) {
        (*gang)->metadata.created_ms =
            std::max((*gang)->metadata.created_ms, member.pod->metadata.created_ms);
      }
      if (auto as_it_is = RunsAsItIs(pods, **gang, cluster)) {
        left_alone.push_back(*std::move(as_it_is));
        continue;
      }
      extender::PlaceOnHosts(extender::HostsOfPods(pods, **gang, cluster), **gang);
      cluster.gangs.Put(std::make_shared<const api::Gang>(**std::move(gang)));
      continue;
    }
    out.push_back(Explained(pods, declared, gang.status()));
  }
  return out;
}

// The controller of a pod that waits and can be in no gang, or the pod.
std::optional<PodsOfNoGang> OfNoGang(const NotPlanned& left_out,
                                     const state::ClusterState& cluster) {
  const auto pod = cluster.pods.Find(left_out.pod);
  if (pod == nullptr || !pod->node_name.empty()) return std::nullopt;
  PodsOfNoGang out{left_out.pod.namespace_name, {"Pod", left_out.pod.name}, left_out.why};
  const api::OwnerReference* controller = pod->metadata.controller();
  if (controller != nullptr) out.owner = {controller->kind, controller->name};
  return out;
}

void AddGangsOfPods(Manifests& manifests, PlanInput& input, std::ostream& err) {
  Keys known = KnownJobs(manifests.cluster);
  Keys of_no_gang;
  for (NotPlanned& left_out :
       AddGangsOfPods(gather::Gather(manifests.cluster.pods), {}, manifests.pod_groups, known,
                      manifests.cluster, input.left_alone)) {
    err << left_out.gang << left_out.why << "\n";
    if (left_out.incomplete) {
      input.incomplete.push_back(*std::move(left_out.incomplete));
    } else if (left_out.gang.empty()) {
      const auto none = OfNoGang(left_out, manifests.cluster);
      if (none &&
          of_no_gang.insert({none->namespace_name, none->owner.kind + "/" + none->owner.name})
              .second) {
        input.of_no_gang.push_back(*none);
      }
    }
  }
  // One line for all pods of a workload.
  std::set<const WorkloadSource*> said;
  for (const NotPlanned& left_out :
       AddGangsOfPods(gather::Gather(manifests.expected_pods), manifests.workload_of_pod,
                      manifests.pod_groups, known, manifests.cluster, input.left_alone)) {
    const auto at = manifests.workload_of_pod.find(left_out.pod);
    if (at == manifests.workload_of_pod.end() || !said.insert(at->second.get()).second) continue;
    const bool waits = !left_out.gang.empty() && !left_out.too_few();
    if (waits) {
      err << left_out.gang << left_out.why << "\n";
      continue;
    }
    const std::string problem =
        left_out.too_few()
            ? StrCat("its pods are fewer than they say; count the GPUs of all its pods in ",
                     api::kParallelismAnnotation)
            : left_out.why;
    input.refused.push_back({at->second, problem});
    err << at->second->where << ": " << at->second->kind << " " << at->second->key.text() << ": "
        << problem << "\n";
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
  for (const gather::GatheredGang& gang : gather::Gather(pods).gangs) {
    const auto at = jobs.find({gang.namespace_name, gang.name});
    if (at == jobs.end()) continue;
    std::map<int, int> covered;
    for (const gather::GangMember& member : gang.members) {
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

ReportNames NamesOf(const state::ClusterState& cluster) {
  ReportNames names;
  for (const auto& job : cluster.jobs) {
    names[{job->metadata.namespace_name,
           api::GangName(api::kTrainingJobKind, job->metadata.name)}] = {api::kTrainingJobKind,
                                                                         job->metadata.name};
  }
  for (const auto& gang : cluster.gangs) {
    names[KeyOf(gang->metadata)] = {gang->owner.kind, gang->owner.name};
  }
  return names;
}

// A suspended job asks for no place.
void LeaveOutSuspended(state::ClusterState& cluster, std::ostream& err) {
  const int erased = op::EraseJobsWithoutHosts(
      cluster, [](const api::TrainingJob& job) { return job.run.suspended; });
  if (erased > 0) err << "not planned: " << Count(erased, "suspended TrainingJob") << "\n";
}

// Of Nodes, of pods, and of pods that are expected.
void CountDevices(Manifests& manifests) {
  state::DeviceOverlay overlay;
  manifests.cluster = overlay.Apply(std::move(manifests.cluster));
  for (auto& pod : manifests.expected_pods) pod = overlay.WithClaims(pod);
}

// As the operator has them. REQUIRES: the snapshot has a network.
std::vector<fabric::CableId> LossyOf(const api::Fabric& fabric,
                                     const state::ObjectTable<api::Node>& nodes,
                                     const plan::Snapshot& snapshot) {
  std::vector<fabric::CableId> down;
  for (std::size_t c = 0; c < snapshot.cable_down.size(); ++c) {
    if (snapshot.cable_down[c] != 0) down.emplace_back(static_cast<std::int32_t>(c));
  }
  return op::ReadLossyCables(fabric, nodes, *snapshot.network, down).cables;
}

// Fills the gangs in, and makes the snapshot of the cluster.
PlanInput BuildInput(Manifests& manifests, std::ostream& err) {
  std::vector<std::string> ignored;
  for (const auto& [kind, count] : manifests.ignored) ignored.push_back(Count(count, kind));
  if (!ignored.empty()) {
    err << "ignored: " << Join(ignored, ", ")
        << " (read are Nodes, Pods, our own kinds, and workloads, not suspended, deleted or ended, "
        << "whose pods ask for GPUs and carry " << api::kParallelismAnnotation
        << ", or are still to be created and numbered)\n";
  }
  CountDevices(manifests);
  PlanInput input;
  AddGangsOfPods(manifests, input, err);
  LeaveOutSuspended(manifests.cluster, err);
  input.names = NamesOf(manifests.cluster);
  for (const auto& job : manifests.cluster.jobs) {
    if (!job->elastic.enabled) continue;
    input.elastic[{job->metadata.namespace_name,
                   api::GangName(api::kTrainingJobKind, job->metadata.name)}] = job;
  }
  input.snapshot = state::BuildSnapshot(manifests.cluster);
  AddBudgets(manifests.budgets, manifests.cluster.pods, input.snapshot);
  if (input.snapshot.network) {
    const api::Fabric& fabric = *state::UsedFabric(manifests.cluster.fabrics);
    const std::string problem =
        op::MarkDownLinks(fabric, *input.snapshot.network, input.snapshot.cable_down);
    if (!problem.empty()) input.snapshot.warnings.push_back(StrCat("Fabric: ", problem));
    input.lossy = LossyOf(fabric, manifests.cluster.nodes, input.snapshot);
  }
  return input;
}

// What takes the place of a Fabric among files. `guesses`: of places.
std::string NoFabricText(const std::vector<std::string>& guesses) {
  const fabric::FabricSpec standard;
  const std::string by = guesses.empty()
                             ? StrCat("by the Nodes' labels ", standard.fabric_pod_label, " and ",
                                      standard.segment_label)
                             : StrCat("where Nodes seem to stand (", Join(guesses, "; "), ")");
  return StrCat("there is no Fabric in the input, so jobs are placed ", by,
                ", and get no levels and no paths; give a Fabric with -f (kubectl yardmaster "
                "fabric render or fabric import writes one)");
}

// Measured profiles, levels and ports, out of the objects that carry them.
void ReadNetwork(const state::ClusterState& cluster, PlanInput& input) {
  const op::PodsByGang pods = op::IndexPods(cluster.pods, cluster.gangs);
  plan::Snapshot& snapshot = input.snapshot;
  const std::vector<std::string> problems = op::ApplyReportedProfiles(pods, snapshot);
  snapshot.warnings.insert(snapshot.warnings.end(), problems.begin(), problems.end());
  input.previous = op::PreviousFromObjects(snapshot, cluster.gangs, pods);
}

}  // namespace

PlanInput InputOfFiles(Manifests manifests, std::ostream& err) {
  const bool no_fabric = manifests.cluster.fabrics.empty();
  std::vector<std::string> guesses;
  if (no_fabric) {
    state::GuessedPlaces guessed = state::WithGuessedPlaces(manifests.cluster.nodes);
    manifests.cluster.nodes = std::move(guessed.nodes);
    guesses = std::move(guessed.notes);
  }
  PlanInput input = BuildInput(manifests, err);
  if (no_fabric) input.snapshot.warnings.push_back(NoFabricText(guesses));
  PrintWarnings(input.snapshot.warnings, err);
  return input;
}

PlanInput InputOfCluster(Manifests manifests, std::int64_t now_ms, std::ostream& err) {
  PlanInput input = BuildInput(manifests, err);
  input.snapshot.now_ms = now_ms;
  if (input.snapshot.network) {
    ReadNetwork(manifests.cluster, input);
  } else {
    // In place: g++ 12 sees an overflow in the move of a temporary string.
    input.snapshot.warnings.emplace_back(
        "there is no Fabric that can be used, so jobs are placed and get no levels and no paths; "
        "apply a Fabric, or give one with -f");
  }
  PrintWarnings(input.snapshot.warnings, err);
  return input;
}

}  // namespace yardmaster::cli
