#include "pkg/state/occupation.h"

#include <algorithm>
#include <utility>

#include "pkg/api/names.h"
#include "pkg/api/slot.h"

namespace yardmaster::state {

using fabric::HostId;
using workload::JobKey;

void Occupation::Update(const ObjectTable<api::Pod>& pods, const HostIndex& hosts,
                        const HostChanges& changes, JobIndex& jobs, std::set<JobKey>& changed) {
  if (changes.renumbered) Renumber(*hosts.places(), changes);
  ObjectTable<api::Pod>::Differences(pods_, pods, [&](const auto& before, const auto& after) {
    if (before != nullptr) Remove(*before, changed);
    if (after != nullptr && !after->finished() && !after->node_name.empty() && after->gpus > 0) {
      Add(Read(after), *hosts.places(), changed);
    }
  });
  pods_ = pods;
  if (changes.renumbered) {
    for (const auto& [key, share] : shares_) changed.insert(key);
    for (const auto& [key, job] : jobs.jobs()) changed.insert(key);
  }
  for (const JobKey& key : changed) Count(key, jobs.Find(key));
}

// The slot was made from what labels say; they are read first, because that needs no JSON.
Occupation::BoundPod Occupation::Read(std::shared_ptr<const api::Pod> pod) {
  BoundPod bound{pod, HostId(), std::nullopt, std::nullopt, std::nullopt};
  const std::string& ns = pod->metadata.namespace_name;
  if (api::WantsGang(*pod)) {
    auto membership = api::ResolveMembership(*pod);
    if (membership.ok() && *membership) {
      bound.gang = JobKey{ns, (*membership)->gang_name};
      bound.membership = *std::move(*membership);
      return bound;
    }
  }
  const auto text = api::Find(pod->metadata.annotations, api::kSlotAnnotation);
  if (!text) return bound;
  absl::StatusOr<api::Slot> slot = api::DecodeSlot(*text);
  if (!slot.ok()) return bound;
  bound.gang = JobKey{ns, slot->gang};
  bound.rank = slot->rank;
  return bound;
}

void Occupation::Add(BoundPod pod, const fabric::Places& places, std::set<JobKey>& changed) {
  pod.host = places.FindHost(pod.pod->node_name);
  if (pod.gang) {
    gang_of_pod_.emplace(pod.pod.get(), *pod.gang);
    changed.insert(*pod.gang);
    auto& pods = shares_[*pod.gang].pods;
    pods.insert_or_assign(pod.pod->metadata.name, std::move(pod));
    return;
  }
  if (pod.host.valid()) held_[pod.host.index()] += pod.pod->gpus;
  const api::Pod* key = pod.pod.get();
  loose_.emplace(key, std::move(pod));
}

void Occupation::Remove(const api::Pod& pod, std::set<JobKey>& changed) {
  if (const auto at = gang_of_pod_.find(&pod); at != gang_of_pod_.end()) {
    changed.insert(at->second);
    shares_[at->second].pods.erase(pod.metadata.name);
    gang_of_pod_.erase(at);
  } else if (const auto loose = loose_.find(&pod); loose != loose_.end()) {
    if (loose->second.host.valid()) held_[loose->second.host.index()] -= pod.gpus;
    loose_.erase(loose);
  }
}

void Occupation::Renumber(const fabric::Places& places, const HostChanges& changes) {
  const auto move = [&](BoundPod& pod) {
    HostId to;
    if (pod.host.valid() && !changes.moved_to.empty()) to = changes.moved_to[pod.host.index()];
    pod.host = to.valid() ? to : places.FindHost(pod.pod->node_name);
  };
  held_.assign(static_cast<std::size_t>(places.num_hosts()), 0);
  for (auto& [key, share] : shares_) {
    share.held.clear();
    for (auto& [name, pod] : share.pods) move(pod);
  }
  for (auto& [key, pod] : loose_) {
    move(pod);
    if (pod.host.valid()) held_[pod.host.index()] += pod.pod->gpus;
  }
}

void Occupation::Count(const JobKey& key, KeptJob* job) {
  Share& share = shares_[key];
  for (const auto& [host, gpus] : share.held) held_[host.index()] -= gpus;
  share.held.clear();
  if (job == nullptr && share.pods.empty()) {
    shares_.erase(key);
    return;
  }
  if (job != nullptr && job->gang == nullptr) job->state.assignment = PlaceByPods(share, *job);
  if (job != nullptr && job->state.assignment) {
    for (HostId host : job->state.assignment->host_of_rank) {
      Hold(host, job->state.job.gpus_per_worker, share);
    }
  }
  for (const auto& [name, pod] : share.pods) {
    if (pod.host.valid() && !OnItsSlot(pod, job)) Hold(pod.host, pod.pod->gpus, share);
  }
}

std::optional<int> Occupation::RankOf(const BoundPod& pod, const KeptJob& job) {
  return pod.membership ? job.RankOf(*pod.membership) : pod.rank;
}

bool Occupation::OnItsSlot(const BoundPod& pod, const KeptJob* job) {
  if (job == nullptr || !job->state.assignment) return false;
  const std::optional<int> rank = RankOf(pod, *job);
  const auto& hosts = job->state.assignment->host_of_rank;
  return rank && *rank >= 0 && *rank < static_cast<int>(hosts.size()) &&
         hosts[static_cast<std::size_t>(*rank)] == pod.host;
}

// A TrainingJob that runs although its Gang is not here is placed where its pods are.
std::optional<plan::Assignment> Occupation::PlaceByPods(const Share& share, const KeptJob& job) {
  std::map<int, HostId> host_of_rank;
  for (const auto& [name, pod] : share.pods) {
    const std::optional<int> rank = RankOf(pod, job);
    if (!rank || !pod.host.valid()) continue;
    const auto [at, fresh] = host_of_rank.emplace(*rank, pod.host);
    if (!fresh) at->second = std::min(at->second, pod.host);
  }
  const int workers = job.state.job.workers;
  if (workers < 1 || static_cast<int>(host_of_rank.size()) != workers ||
      host_of_rank.begin()->first != 0 || host_of_rank.rbegin()->first != workers - 1) {
    return std::nullopt;
  }
  plan::Assignment assignment;
  for (const auto& [rank, host] : host_of_rank) assignment.host_of_rank.push_back(host);
  return assignment;
}

void Occupation::Hold(HostId host, std::int64_t gpus, Share& share) {
  held_[host.index()] += gpus;
  share.held.push_back({host, gpus});
}

}  // namespace yardmaster::state
