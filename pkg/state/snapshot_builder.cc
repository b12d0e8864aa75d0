#include "pkg/state/snapshot_builder.h"

#include <algorithm>
#include <map>
#include <optional>

#include "pkg/api/names.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"
#include "pkg/plan/backup_pool.h"
#include "pkg/state/host_builder.h"

namespace yardmaster::state {

namespace {

using fabric::HostId;
using workload::JobKey;

// Groups are listed GPU by GPU; nobody's fabric is larger than this.
constexpr std::int64_t kMaxWorld = 1 << 20;

// A pod as a rank of a gang.
struct PodRank {
  JobKey gang;
  std::optional<int> rank;  // nothing: only the gang's rank bases can say
  std::optional<api::Membership> membership;
};

// The slot was made from what labels say; they are read first, because that needs no JSON for each
// pod in each pass.
std::optional<PodRank> RankOfPod(const api::Pod& pod) {
  if (api::WantsGang(pod)) {
    auto membership = api::ResolveMembership(pod);
    if (membership.ok() && *membership) {
      return PodRank{{pod.metadata.namespace_name, (*membership)->gang_name},
                     std::nullopt,
                     *std::move(*membership)};
    }
  }
  const auto text = api::Find(pod.metadata.annotations, api::kSlotAnnotation);
  if (!text) return std::nullopt;
  absl::StatusOr<api::Slot> slot = api::DecodeSlot(*text);
  if (!slot.ok()) return std::nullopt;
  return PodRank{{pod.metadata.namespace_name, slot->gang}, slot->rank, std::nullopt};
}

bool Ended(const api::TrainingJob& job) {
  return api::IsTrue(job.status.conditions, "Succeeded") ||
         api::IsTrue(job.status.conditions, "Failed") || job.metadata.deleted_ms.has_value();
}

class JobBuilder {
 public:
  JobBuilder(const World& world, const Hosts& hosts, plan::Snapshot& snapshot)
      : world_(world), hosts_(hosts), snapshot_(snapshot) {}

  void Run() {
    for (const auto& job : world_.jobs) {
      job_of_gang_[GangKeyOf(*job)] = job.get();
    }
    for (const auto& gang : world_.gangs) AddGang(*gang);
    for (const auto& [key, job] : job_of_gang_) AddTrainingJob(key, *job);
    std::sort(entries_.begin(), entries_.end(),
              [](const Entry& a, const Entry& b) { return a.state.job.key < b.state.job.key; });
    CollectPods();
    PlaceByPods();
    Occupy();
    NarrowHosts();
    for (Entry& entry : entries_) {
      FindLostRanks(entry);
      snapshot_.jobs.push_back(std::move(entry.state));
    }
  }

 private:
  struct Entry {
    plan::JobState state;
    const api::NodeConstraints* constraints = nullptr;
    std::vector<api::RankBase> rank_bases;
    bool has_gang = false;
  };

  static JobKey GangKeyOf(const api::TrainingJob& job) {
    return {job.metadata.namespace_name, api::GangName(api::kTrainingJobKind, job.metadata.name)};
  }

  // The TrainingJob behind a gang, whatever the gang is called, or null.
  const api::TrainingJob* TakeOwner(const api::Gang& gang) {
    if (gang.owner.kind != api::kTrainingJobKind) return nullptr;
    const auto it = job_of_gang_.find(
        {gang.metadata.namespace_name, api::GangName(gang.owner.kind, gang.owner.name)});
    if (it == job_of_gang_.end()) return nullptr;
    const api::TrainingJob* job = it->second;
    if (!gang.owner.uid.empty() && !job->metadata.uid.empty() &&
        gang.owner.uid != job->metadata.uid) {
      return nullptr;  // of an earlier object of the same name
    }
    job_of_gang_.erase(it);
    return job;
  }

  void AddGang(const api::Gang& gang) {
    const api::TrainingJob* job = TakeOwner(gang);
    if (api::IsTrue(gang.status.conditions, kFinishedCondition)) return;
    Entry entry;
    entry.has_gang = true;
    entry.constraints = &gang.constraints;
    entry.rank_bases = gang.rank_bases;
    const std::int64_t created =
        job != nullptr ? job->metadata.created_ms : gang.metadata.created_ms;
    entry.state.job = api::ToJob(gang.job, {gang.metadata.namespace_name, gang.metadata.name},
                                 gang.owner.uid, created, hosts_.gpus_per_host);
    if (job != nullptr) entry.state.grace_seconds = job->checkpoint.grace_seconds;
    CheckJob(entry.state);
    if (!gang.status.assignments.empty()) ReadAssignment(gang, entry.state);
    if (entry.state.assignment && gang.status.committed_ms != 0) {
      entry.state.started_ms = gang.status.committed_ms;
    }
    entries_.push_back(std::move(entry));
  }

  void AddTrainingJob(const JobKey& key, const api::TrainingJob& job) {
    if (Ended(job)) return;
    Entry entry;
    entry.constraints = &job.constraints;
    entry.rank_bases = {{"", 0}};
    entry.state.job =
        api::ToJob(job.job, key, job.metadata.uid, job.metadata.created_ms, hosts_.gpus_per_host);
    entry.state.grace_seconds = job.checkpoint.grace_seconds;
    CheckJob(entry.state);
    entries_.push_back(std::move(entry));
  }

  void CheckJob(plan::JobState& state) {
    const workload::Job& job = state.job;
    if (std::int64_t{1} * job.workers * job.gpus_per_worker > kMaxWorld) {
      state.problems.push_back(StrCat("spec.workers: ", job.workers, " workers of ",
                                      job.gpus_per_worker, " GPUs are more than ", kMaxWorld,
                                      " GPUs; split the job"));
    } else {
      state.problems = workload::Problems(job, hosts_.gpus_per_host);
    }
    if (state.problems.empty()) {
      state.groups = workload::GroupsOf(job.parallelism, job.workers, job.gpus_per_worker);
    }
  }

  void ReadAssignment(const api::Gang& gang, plan::JobState& state) {
    plan::Assignment assignment;
    const auto& entries = gang.status.assignments;
    for (std::size_t i = 0; i < entries.size(); ++i) {
      const HostId host = snapshot_.places->FindHost(entries[i].host);
      if (!host.valid()) {
        state.problems.push_back(StrCat("status.assignments[", i, "].host: there is no Node ",
                                        entries[i].host, " and its place is not known; ",
                                        "restore the Node or delete the Gang"));
        return;
      }
      assignment.host_of_rank.push_back(host);
    }
    state.assignment = std::move(assignment);
  }

  Entry* FindEntry(const JobKey& key) {
    const auto it = std::lower_bound(
        entries_.begin(), entries_.end(), key,
        [](const Entry& entry, const JobKey& k) { return entry.state.job.key < k; });
    return it != entries_.end() && it->state.job.key == key ? &*it : nullptr;
  }

  // Bound, unfinished pods with GPUs on hosts we know, and what ranks they are.
  void CollectPods() {
    for (const auto& pod : world_.pods) {
      if (pod->finished() || pod->node_name.empty() || pod->gpus <= 0) continue;
      BoundPod bound;
      bound.host = snapshot_.places->FindHost(pod->node_name);
      if (!bound.host.valid()) continue;
      bound.gpus = pod->gpus;
      if (std::optional<PodRank> rank = RankOfPod(*pod)) {
        bound.entry = FindEntry(rank->gang);
        bound.rank = rank->rank;
        if (bound.entry != nullptr && !bound.rank && rank->membership) {
          bound.rank = api::RankOf(bound.entry->rank_bases, *rank->membership);
        }
      }
      pods_.push_back(bound);
    }
  }

  // A TrainingJob that runs although its Gang is not here is placed where its pods are.
  void PlaceByPods() {
    std::map<Entry*, std::map<int, HostId>> ranks;
    for (const BoundPod& pod : pods_) {
      if (pod.entry == nullptr || pod.entry->has_gang || !pod.rank) continue;
      auto [it, fresh] = ranks[pod.entry].emplace(*pod.rank, pod.host);
      if (!fresh) it->second = std::min(it->second, pod.host);
    }
    for (const auto& [entry, hosts] : ranks) {
      const int workers = entry->state.job.workers;
      if (static_cast<int>(hosts.size()) != workers || hosts.begin()->first != 0 ||
          hosts.rbegin()->first != workers - 1) {
        continue;
      }
      plan::Assignment assignment;
      for (const auto& [rank, host] : hosts) assignment.host_of_rank.push_back(host);
      entry->state.assignment = std::move(assignment);
    }
  }

  void Occupy() {
    std::vector<std::int64_t> used(snapshot_.cluster.hosts.size(), 0);
    for (const Entry& entry : entries_) {
      if (!entry.state.assignment) continue;
      for (HostId host : entry.state.assignment->host_of_rank) {
        used[host.index()] += entry.state.job.gpus_per_worker;
      }
    }
    for (const BoundPod& pod : pods_) {
      if (!OnItsSlot(pod)) used[pod.host.index()] += pod.gpus;
    }
    for (HostId host : snapshot_.places->hosts()) {
      placement::HostState& state = snapshot_.cluster.hosts[host.index()];
      if (used[host.index()] > state.gpus && hosts_.node_of_host[host.index()] != nullptr) {
        snapshot_.warnings.push_back(StrCat("Node ", snapshot_.places->name(host), ": ",
                                            Count(used[host.index()], "GPU"),
                                            " are held or promised and it has ", state.gpus));
      }
      state.free_gpus =
          static_cast<std::int16_t>(std::max<std::int64_t>(0, state.gpus - used[host.index()]));
    }
  }

  struct BoundPod {
    HostId host;
    std::int64_t gpus = 0;
    Entry* entry = nullptr;
    std::optional<int> rank;
  };

  static bool OnItsSlot(const BoundPod& pod) {
    if (pod.entry == nullptr || !pod.entry->state.assignment || !pod.rank) return false;
    const auto& hosts = pod.entry->state.assignment->host_of_rank;
    return *pod.rank >= 0 && *pod.rank < static_cast<int>(hosts.size()) &&
           hosts[static_cast<std::size_t>(*pod.rank)] == pod.host;
  }

  // Kubernetes' own taints tell of a node's health; they come and go and put it out for everybody.
  static bool IsHealthTaint(const api::Taint& taint) {
    return taint.key.rfind("node.kubernetes.io/", 0) == 0;
  }

  // Written by us, and released pods tolerate them: backup hosts and promised GPUs are counted, so
  // these taints say nothing more.
  static bool IsOurTaint(const api::Taint& taint) {
    return taint.key == api::kBackupKey || taint.key == api::kPromisedKey;
  }

  static bool Repelled(const api::Node& node, const std::vector<api::Toleration>& tolerations) {
    return std::any_of(node.taints.begin(), node.taints.end(), [&](const api::Taint& taint) {
      return !IsOurTaint(taint) && !IsHealthTaint(taint) && !api::Tolerates(tolerations, taint);
    });
  }

  static bool Unhealthy(const api::Node& node) {
    return std::any_of(node.taints.begin(), node.taints.end(), [](const api::Taint& taint) {
      return IsHealthTaint(taint) && taint.effect != api::TaintEffect::kPreferNoSchedule;
    });
  }

  // Sets `eligible` of every job, shared between equal constraints. A taint that some job tolerates
  // is a fence that keeps the others out for good; one that nobody tolerates is a fault that may be
  // mended, and puts the host out.
  void NarrowHosts() {
    std::map<api::NodeConstraints, std::shared_ptr<const std::vector<std::uint8_t>>> masks;
    for (const Entry& entry : entries_) masks[*entry.constraints];
    std::vector<std::uint8_t> fenced(hosts_.node_of_host.size(), 0);
    for (std::size_t h = 0; h < fenced.size(); ++h) {
      const api::Node* node = hosts_.node_of_host[h];
      if (node == nullptr) continue;
      const bool tolerated = std::any_of(masks.begin(), masks.end(), [&](const auto& mask) {
        return !Repelled(*node, mask.first.tolerations);
      });
      fenced[h] = tolerated && Repelled(*node, {}) ? 1 : 0;
      placement::HostState& state = snapshot_.cluster.hosts[h];
      if (state.out != placement::HostOut::kNo) continue;
      if (Unhealthy(*node) || (!tolerated && Repelled(*node, {}))) {
        state.out = placement::HostOut::kTainted;
      }
    }
    for (auto& [constraints, mask] : masks) mask = Mask(constraints, fenced);
    for (Entry& entry : entries_) entry.state.eligible = masks.at(*entry.constraints);
  }

  // Null when every host fits.
  std::shared_ptr<const std::vector<std::uint8_t>> Mask(const api::NodeConstraints& constraints,
                                                        const std::vector<std::uint8_t>& fenced) {
    auto mask = std::make_shared<std::vector<std::uint8_t>>(hosts_.node_of_host.size(), 1);
    bool all = true;
    for (std::size_t h = 0; h < mask->size(); ++h) {
      const api::Node* node = hosts_.node_of_host[h];
      if (node == nullptr) continue;
      const bool out = fenced[h] != 0 && Repelled(*node, constraints.tolerations);
      (*mask)[h] = !out && api::Selects(constraints, *node) ? 1 : 0;
      all = all && (*mask)[h] != 0;
    }
    if (all) return nullptr;
    return mask;
  }

  // A rank is lost when its host is gone or NotReady, or throws its pods out.
  void FindLostRanks(Entry& entry) {
    if (!entry.state.assignment) return;
    const auto& hosts = entry.state.assignment->host_of_rank;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      const api::Node* node = hosts_.node_of_host[hosts[rank].index()];
      const bool gone = node == nullptr || snapshot_.cluster.hosts[hosts[rank].index()].out ==
                                               placement::HostOut::kNotReady;
      if (gone || Evicts(*node, entry.constraints->tolerations)) {
        entry.state.lost_ranks.push_back(static_cast<int>(rank));
      }
    }
  }

  static bool Evicts(const api::Node& node, const std::vector<api::Toleration>& tolerations) {
    return std::any_of(node.taints.begin(), node.taints.end(), [&](const api::Taint& taint) {
      return taint.effect == api::TaintEffect::kNoExecute && !IsOurTaint(taint) &&
             !api::Tolerates(tolerations, taint);
    });
  }

  const World& world_;
  const Hosts& hosts_;
  plan::Snapshot& snapshot_;
  std::map<JobKey, const api::TrainingJob*> job_of_gang_;  // that have no Gang (yet)
  std::vector<Entry> entries_;
  std::vector<BoundPod> pods_;
};

}  // namespace

plan::Snapshot BuildSnapshot(const World& world) {
  plan::Snapshot snapshot;
  const Hosts hosts = BuildHosts(world.fabrics, world.nodes, world.gangs, snapshot);
  JobBuilder(world, hosts, snapshot).Run();
  plan::ApplyBackupPolicy(snapshot);
  for (const std::string& problem : world.problems) snapshot.warnings.push_back(problem);
  return snapshot;
}

}  // namespace yardmaster::state
