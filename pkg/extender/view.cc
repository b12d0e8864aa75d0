#include "pkg/extender/view.h"

#include <set>
#include <utility>

#include "pkg/api/rank_resolver.h"

namespace yardmaster::extender {

View::View(std::shared_ptr<const plan::Snapshot> snapshot,
           std::map<workload::JobKey, GangNote> notes, Pods pods)
    : snapshot_(std::move(snapshot)), notes_(std::move(notes)), pods_(std::move(pods)) {
  for (std::size_t i = 0; i < snapshot_->jobs.size(); ++i) {
    by_key_.emplace(snapshot_->jobs[i].job.key, static_cast<int>(i));
  }
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

const plan::JobState* View::FindGang(const workload::JobKey& key) const {
  auto at = by_key_.find(key);
  if (at == by_key_.end()) return nullptr;
  return &snapshot_->jobs[static_cast<std::size_t>(at->second)];
}

std::optional<std::int64_t> View::GpusFreedBy(const std::vector<std::string>& uids) const {
  std::int64_t freed = 0;
  if (uids.empty()) return freed;
  const std::set<std::string_view> wanted(uids.begin(), uids.end());
  for (const auto& pod : pods_) {
    if (wanted.count(pod->metadata.uid) == 0) continue;
    if (api::WantsGang(*pod)) return std::nullopt;
    freed += pod->gpus;
  }
  return freed;
}

const GangNote* View::FindNote(const workload::JobKey& key) const {
  auto at = notes_.find(key);
  return at == notes_.end() ? nullptr : &at->second;
}

}  // namespace yardmaster::extender
