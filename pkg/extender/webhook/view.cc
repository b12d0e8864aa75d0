#include "pkg/extender/webhook/view.h"

#include <algorithm>
#include <utility>

#include "pkg/api/rank_resolver.h"

namespace yardmaster::extender {

View::View(std::shared_ptr<const plan::Snapshot> snapshot, std::map<NamespacedName, GangNote> notes,
           Pods pods)
    : snapshot_(std::move(snapshot)), notes_(std::move(notes)), pods_(std::move(pods)) {
  const fabric::Places& places = *snapshot_->places;
  free_gpus_.resize(static_cast<std::size_t>(places.num_segments()));
  total_gpus_.resize(static_cast<std::size_t>(places.num_segments()));
  for (fabric::HostId host : places.hosts()) {
    const placement::HostState& state = snapshot_->cluster.hosts[host.index()];
    if (state.backup || state.unavailable != placement::Unavailability::kNo) continue;
    free_gpus_[places.segment_of(host).index()] += state.free_gpus;
    total_gpus_[places.segment_of(host).index()] += state.gpus;
  }
}

const plan::JobState* View::FindGang(const NamespacedName& key) const {
  const std::vector<plan::JobState>& jobs = snapshot_->jobs;  // ascending by key
  const auto at = std::lower_bound(
      jobs.begin(), jobs.end(), key,
      [](const plan::JobState& job, const NamespacedName& wanted) { return job.job.key < wanted; });
  return at == jobs.end() || at->job.key != key ? nullptr : &*at;
}

std::optional<std::int64_t> View::GpusFreedBy(const std::vector<std::string>& uids) const {
  std::int64_t freed = 0;
  if (uids.empty()) return freed;
  for (const std::string& uid : uids) {
    const api::Pod* pod = FindPod(uid);
    if (pod == nullptr) continue;
    if (api::WantsGang(*pod)) return std::nullopt;
    freed += api::GpusOf(*pod, gpu_resource());
  }
  return freed;
}

const api::Pod* View::FindPod(std::string_view uid) const {
  std::call_once(pods_indexed_, [this] {
    pod_by_uid_.reserve(pods_.size());
    for (const auto& pod : pods_) pod_by_uid_.emplace(pod->metadata.uid, pod.get());
  });
  const auto at = pod_by_uid_.find(uid);
  return at == pod_by_uid_.end() ? nullptr : at->second;
}

const GangNote* View::FindNote(const NamespacedName& key) const {
  auto at = notes_.find(key);
  return at == notes_.end() ? nullptr : &at->second;
}

}  // namespace yardmaster::extender
