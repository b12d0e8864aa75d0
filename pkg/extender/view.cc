#include "pkg/extender/view.h"

#include <utility>

namespace yardmaster::extender {

View::View(std::shared_ptr<const plan::Snapshot> snapshot,
           std::map<workload::JobKey, GangNote> notes)
    : snapshot_(std::move(snapshot)), notes_(std::move(notes)) {
  for (std::size_t i = 0; i < snapshot_->jobs.size(); ++i) {
    by_key_.emplace(snapshot_->jobs[i].job.key, static_cast<int>(i));
  }
  const fabric::Places& places = *snapshot_->places;
  free_gpus_.resize(static_cast<std::size_t>(places.num_segments()));
  total_gpus_.resize(static_cast<std::size_t>(places.num_segments()));
  for (fabric::HostId host : places.hosts()) {
    const placement::HostState& state = snapshot_->cluster.hosts[host.index()];
    if (state.backup || state.out != placement::HostOut::kNo) continue;
    free_gpus_[places.segment_of(host).index()] += state.free_gpus;
    total_gpus_[places.segment_of(host).index()] += state.gpus;
  }
}

const plan::JobState* View::FindGang(const workload::JobKey& key) const {
  auto at = by_key_.find(key);
  if (at == by_key_.end()) return nullptr;
  return &snapshot_->jobs[static_cast<std::size_t>(at->second)];
}

const GangNote* View::FindNote(const workload::JobKey& key) const {
  auto at = notes_.find(key);
  return at == notes_.end() ? nullptr : &at->second;
}

}  // namespace yardmaster::extender
