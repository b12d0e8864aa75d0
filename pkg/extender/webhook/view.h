// What the webhook answers from: one immutable snapshot with the indexes that a call needs.
// Published whole by the planner thread; a call reads one view from start to end and never waits
// for the planner.
//
// Thread safety: immutable.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/api/pod.h"
#include "pkg/plan/snapshot.h"
#include "pkg/state/object_table.h"

namespace yardmaster::extender {

// What a call needs of a gang beyond the snapshot.
struct GangNote {
  std::string waiting;                    // why it has no placement; empty when it has one
  std::vector<api::RankBase> rank_bases;  // to find a pod's rank
};

class View {
 public:
  using Pods = state::ObjectTable<api::Pod>;

  // `pods`: all that were seen.
  View(std::shared_ptr<const plan::Snapshot> snapshot, std::map<NamespacedName, GangNote> notes,
       Pods pods = {});
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  const plan::Snapshot& snapshot() const { return *snapshot_; }
  const plan::JobState* FindGang(const NamespacedName& key) const;
  // Null when the gang is not known.
  const GangNote* FindNote(const NamespacedName& key) const;
  // GPUs of a node that become free for ordinary pods when the pods of these uids go; nothing if
  // one of them is a gang's, whose slot stays promised. O(uids), after the first call on this view,
  // which indexes all pods.
  std::optional<std::int64_t> GpusFreedBy(const std::vector<std::string>& uids) const;
  // The pod with that uid, or null. Indexes all pods at the first call on this view.
  const api::Pod* FindPod(std::string_view uid) const;
  // The host of that name, or an invalid id.
  fabric::HostId FindHost(std::string_view node) const { return snapshot_->places->FindHost(node); }
  // The extended resource that hosts are counted by.
  const std::string& gpu_resource() const { return snapshot_->gpu_resource(); }
  // Over those hosts of a segment that are available and not kept as backup: GPUs that are neither
  // held nor promised, and all GPUs.
  int free_gpus(fabric::SegmentId segment) const { return free_gpus_[segment.index()]; }
  int total_gpus(fabric::SegmentId segment) const { return total_gpus_[segment.index()]; }

 private:
  std::shared_ptr<const plan::Snapshot> snapshot_;
  std::map<NamespacedName, GangNote> notes_;
  Pods pods_;
  // Made by the first call that needs it.
  mutable std::once_flag pods_indexed_;
  mutable std::unordered_map<std::string_view, const api::Pod*> pod_by_uid_;
  std::vector<int> free_gpus_;   // by segment
  std::vector<int> total_gpus_;  // by segment
};

}  // namespace yardmaster::extender
