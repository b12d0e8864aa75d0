#include "pkg/extender/observe/observer.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "pkg/plan/contention_cost.h"
#include "pkg/state/guessed_places.h"

namespace yardmaster::extender {

namespace {

using fabric::HostId;

std::vector<std::string> NamesOf(const fabric::Places& places, const std::vector<HostId>& hosts) {
  std::vector<std::string> names;
  for (const HostId host : hosts) names.push_back(host.valid() ? places.name(host) : "");
  return names;
}

// The cluster with that gang as the only one that waits, and without its pods.
state::ClusterState WithoutPlace(const PodsAsGangs& observed, const NamespacedName& key) {
  state::ClusterState cluster = observed.cluster;
  cluster.jobs = {};
  std::vector<std::shared_ptr<const api::Gang>> gangs;
  for (const auto& gang : observed.cluster.gangs) {
    if (KeyOf(gang->metadata) == key) {
      api::Gang waiting = *gang;
      PlaceOnHosts({}, waiting);
      gangs.push_back(std::make_shared<const api::Gang>(std::move(waiting)));
    } else if (!gang->status.assignments.empty()) {
      gangs.push_back(gang);
    }
  }
  cluster.gangs = state::ObjectTable<api::Gang>::Of(std::move(gangs));
  const auto pods = observed.pods_of.find(key);
  if (pods == observed.pods_of.end()) return cluster;
  for (const NamespacedName& pod : pods->second) cluster.pods.Erase(pod);
  return cluster;
}

// `cost`: of a snapshot in which the job has no place; null: no Fabric.
std::optional<double> ContentionOf(const plan::ContentionCost* cost, plan::JobId job,
                                   const std::vector<HostId>& hosts) {
  if (cost == nullptr) return std::nullopt;
  const auto of = cost->Of(job, hosts);
  if (!of || of->lone_flop_rate <= 0) return 0;  // it sends nothing between segments
  return std::max(0.0, 1 - of->gained_flop_rate / of->lone_flop_rate);
}

std::vector<HostId> HostsOf(const fabric::Places& places, const std::vector<std::string>& names) {
  std::vector<HostId> hosts;
  for (const std::string& name : names) hosts.push_back(places.FindHost(name));
  return hosts;
}

bool AllValid(const std::vector<HostId>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [](HostId host) { return host.valid(); });
}

}  // namespace

Observer::Compared Observer::Compare(const PodsAsGangs& observed, const NamespacedName& key,
                                     state::SnapshotBuilder& builder,
                                     std::vector<std::string> hosts) {
  Compared out;
  const plan::Snapshot snapshot = builder.Build(WithoutPlace(observed, key));
  std::optional<plan::ContentionCost> cost;
  if (snapshot.network != nullptr) cost.emplace(snapshot);
  const plan::ContentionCost* const known = cost ? &*cost : nullptr;
  for (const plan::JobPlan& job : plan::MakePlan(snapshot).jobs) {
    if (snapshot.jobs[job.job.index()].job.key != key) continue;
    out.contention = ContentionOf(known, job.job, HostsOf(*snapshot.places, hosts));
    out.outcome = job.gang.outcome;
    out.message = placement::Sentence(job.gang);
    if (job.gang.outcome == placement::Outcome::kPlaced) {
      out.planned = {job.gang.objective, ContentionOf(known, job.job, job.gang.host_of_rank)};
    }
  }
  out.hosts = std::move(hosts);
  return out;
}

void Observer::Fill(const PodsAsGangs& observed, const plan::Snapshot& snapshot,
                    const plan::JobPlan& job, state::SnapshotBuilder& builder, int& comparisons,
                    ObservedGang& out) {
  const plan::JobState& state = snapshot.jobs[job.job.index()];
  out.workers = state.job.workers;
  out.gpus = state.job.gpus();
  out.lost_ranks = static_cast<int>(state.lost_ranks.size());
  if (!state.assignment) {
    out.outcome = job.gang.outcome;
    out.message = placement::Sentence(job.gang);
    if (out.outcome == placement::Outcome::kPlaced) out.planned = {job.gang.objective, {}};
    return;
  }
  const std::vector<HostId>& hosts = state.assignment->host_of_rank;
  if (!AllValid(hosts)) return;
  if (job.gang.outcome == placement::Outcome::kPlaced) out.replaceable_ranks = out.lost_ranks;
  out.actual = {placement::Evaluate(*snapshot.places, *state.groups, hosts), {}};
  std::vector<std::string> names = NamesOf(*snapshot.places, hosts);
  auto at = compared_.find(state.job.key);
  if (at == compared_.end() || at->second.hosts != names) {
    if (comparisons == max_comparisons_) {
      has_more_ = true;
      return;
    }
    ++comparisons;
    at = compared_
             .insert_or_assign(state.job.key,
                               Compare(observed, state.job.key, builder, std::move(names)))
             .first;
  }
  out.actual->contention = at->second.contention;
  out.planned = at->second.planned;
  out.outcome = at->second.outcome;
  out.message = at->second.message;
}

Observation Observer::Observe(const state::ClusterState& cluster) {
  Observation out;
  state::ClusterState placed = cluster;
  if (cluster.fabrics.empty()) {
    state::GuessedPlaces guessed = state::WithGuessedPlaces(cluster.nodes);
    placed.nodes = std::move(guessed.nodes);
    out.notes = std::move(guessed.notes);
  }
  const PodsAsGangs observed = WithGangsOfPods(placed);
  // The clusters that gangs are compared in differ from this one by a gang each.
  state::SnapshotBuilder builder;
  const plan::Snapshot snapshot = builder.Build(observed.cluster);
  out.notes.insert(out.notes.end(), snapshot.warnings.begin(), snapshot.warnings.end());
  plan::PlanOptions options;
  options.policies = {plan::ReplaceLostRanks()};
  has_more_ = false;
  int comparisons = 0;
  std::set<NamespacedName> running;
  for (const plan::JobPlan& job : plan::MakePlan(snapshot, options).jobs) {
    const plan::JobState& state = snapshot.jobs[job.job.index()];
    const NamespacedName& key = state.job.key;
    if (state.assignment) running.insert(key);
    ObservedGang gang;
    gang.namespace_name = key.namespace_name;
    gang.name = key.name;
    gang.kind = api::kGangKind;
    if (const auto known = observed.cluster.gangs.Find(key)) {
      gang.kind = known->owner.kind;
      gang.name = known->owner.name;
    }
    gang.guessed = observed.guessed.count(key) != 0;
    Fill(observed, snapshot, job, builder, comparisons, gang);
    out.gangs.push_back(std::move(gang));
  }
  std::stable_sort(out.gangs.begin(), out.gangs.end(), [](const auto& a, const auto& b) {
    return std::tie(a.namespace_name, a.name, a.kind) < std::tie(b.namespace_name, b.name, b.kind);
  });
  for (auto at = compared_.begin(); at != compared_.end();) {
    at = running.count(at->first) == 0 ? compared_.erase(at) : std::next(at);
  }
  return out;
}

}  // namespace yardmaster::extender
