// View is the immutable state from which the webhook answers: one snapshot, with the indexes that
// calls need. The planner thread publishes a new View as a whole. A call uses one View from start
// to end and never waits for the planner.
//
// Thread safety: immutable; any thread.
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

// What a call needs to know of a gang, in addition to the snapshot.
struct GangNote {
  std::string waiting;                    // why the gang has no place; empty: it has one
  std::vector<api::RankBase> rank_bases;  // to compute the rank of a pod
};

class View {
 public:
  using Pods = state::ObjectTable<api::Pod>;

  // `pods`: all known pods.
  View(std::shared_ptr<const plan::Snapshot> snapshot, std::map<NamespacedName, GangNote> notes,
       Pods pods = {});
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  const plan::Snapshot& snapshot() const { return *snapshot_; }
  const plan::JobState* FindGang(const NamespacedName& key) const;
  // Returns null if the gang is not known.
  const GangNote* FindNote(const NamespacedName& key) const;
  // Returns the GPUs that become free for ordinary pods when these pods are evicted; nullopt if one
  // of them is a gang's, whose slot stays promised. O(uids), but the first call on a View that uses
  // pods indexes all pods.
  std::optional<std::int64_t> GpusFreedBy(const std::vector<std::string>& uids) const;
  // Returns the pod, or null. The first call on a View indexes all pods.
  const api::Pod* FindPod(std::string_view uid) const;
  // Returns an invalid id if the node is not a host of the fabric.
  fabric::HostId FindHost(std::string_view node) const { return snapshot_->places->FindHost(node); }
  // The extended resource by which hosts are counted.
  const std::string& gpu_resource() const { return snapshot_->gpu_resource(); }
  // GPUs that are neither used nor promised, and all GPUs, of the hosts of a segment that are
  // available and not backup hosts.
  int free_gpus(fabric::SegmentId segment) const { return free_gpus_[segment.index()]; }
  int total_gpus(fabric::SegmentId segment) const { return total_gpus_[segment.index()]; }

 private:
  std::shared_ptr<const plan::Snapshot> snapshot_;
  std::map<NamespacedName, GangNote> notes_;
  Pods pods_;
  // Built by the first call that needs it.
  mutable std::once_flag pods_indexed_;
  mutable std::unordered_map<std::string_view, const api::Pod*> pod_by_uid_;
  std::vector<int> free_gpus_;   // by segment
  std::vector<int> total_gpus_;  // by segment
};

}  // namespace yardmaster::extender
