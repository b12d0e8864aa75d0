// The decoded objects that a process works on, fed by informers, and the moments at which they
// changed.
//
// One ClusterCache per process. Each object is decoded once, from the bytes of the answer into the
// typed value that everything shares; no document is kept. Informer threads deliver into the sink
// of their kind; one worker waits for changes and takes a ClusterState, tables of immutable
// objects. Taking it is cheap, and so is finding the differences from the one
// taken before (object_table.h). How lists, watches and own writes are ordered: object_store.h.
//
// `ClusterState::problems` names every object that cannot be decoded, and what could not be read of
// those that can. The last state that could be decoded stays, so that one bad object stops nothing
// else.
//
// Thread safety: all methods of ClusterCache from any thread, but Listen only before the first
// delivery; a ClusterState is a value. Sinks: one informer each.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "pkg/api/capacity_pool.h"
#include "pkg/api/fabric.h"
#include "pkg/api/gang.h"
#include "pkg/api/node.h"
#include "pkg/api/pod.h"
#include "pkg/api/training_job.h"
#include "pkg/base/mutex.h"
#include "pkg/kube/object_sink.h"
#include "pkg/state/device_tables.h"
#include "pkg/state/object_table.h"

namespace yardmaster::state {

enum class Kind {
  kFabric,
  kNode,
  kPod,
  kTrainingJob,
  kGang,
  kCapacityPool,
  // Of resource.k8s.io, which a cluster may lack.
  kResourceSlice,
  kDeviceClass,
  kResourceClaim,
  kResourceClaimTemplate,
};
inline constexpr std::size_t kKinds = 10;

struct ClusterState {
  ObjectTable<api::Fabric> fabrics;
  ObjectTable<api::Node> nodes;
  ObjectTable<api::Pod> pods;
  ObjectTable<api::TrainingJob> jobs;
  ObjectTable<api::Gang> gangs;
  ObjectTable<api::CapacityPool> pools;
  DeviceTables devices;
  std::vector<std::string> problems;  // "Pod ns/name: ..."
};

class DeviceOverlay;

// Whether pod templates of TrainingJobs are kept once they have been checked: by a process that
// makes pods.
enum class Templates { kKeep, kDrop };

class ClusterCache {
 public:
  explicit ClusterCache(Templates templates = Templates::kKeep);
  ~ClusterCache();
  ClusterCache(const ClusterCache&) = delete;
  ClusterCache& operator=(const ClusterCache&) = delete;

  // What the informer of a kind fills; lives as long as the cache.
  kube::ObjectSink& sink(Kind kind);
  // One object outside of a list, as an informer delivers it.
  void Deliver(Kind kind, JsonView object) { sink(kind).Put(object); }
  void Remove(Kind kind, JsonView object) { sink(kind).Remove(object); }
  // What a write of ours returned: counts until the informer has caught up.
  void Assume(Kind kind, JsonView object);

  // Called after an informer's delivery has been taken in, on its thread, without a lock held:
  // `metadata` of the delivered state, or of the last one of an object that is gone. Of an object
  // that cannot be decoded it has the namespace and the name alone.
  using Listener = std::function<void(Kind, const api::ObjectMeta& metadata, bool deleted)>;
  void Listen(Listener listener) { listener_ = std::move(listener); }

  // With devices by claims counted in Nodes and pods (device_overlay.h).
  ClusterState Take() const;
  // By "namespace/name" (a Node by its name); null if none exists. O(log objects).
  std::shared_ptr<const api::Gang> FindGang(const std::string& key) const;
  std::shared_ptr<const api::TrainingJob> FindJob(const std::string& key) const;
  std::shared_ptr<const api::Pod> FindPod(const std::string& key) const;
  std::shared_ptr<const api::Node> FindNode(const std::string& name) const;

  // Why the newest version of an object cannot be decoded; empty: it can, or the object does not
  // exist.
  std::string ProblemOf(Kind kind, const std::string& key) const;

  // Counts visible changes. WaitForChange returns the count as soon as it differs from `seen`,
  // after `max_ms`, or when stopped.
  std::uint64_t version() const;
  std::uint64_t WaitForChange(std::uint64_t seen, std::int64_t max_ms, std::stop_token stop) const;

 private:
  class KindCache;
  template <typename T>
  class TypedCache;

  void Changed() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void NotifyListener(Kind kind, const api::ObjectMeta& metadata, bool deleted) const {
    if (listener_) listener_(kind, metadata, deleted);
  }
  template <typename T>
  std::unique_ptr<TypedCache<T>> Make(Kind kind, const char* name, bool namespaced,
                                      absl::StatusOr<T> (*decode)(JsonView));

  mutable Mutex mutex_;
  mutable CondVar changed_;
  std::uint64_t version_ ABSL_GUARDED_BY(mutex_) = 0;
  std::map<std::string, std::string> problems_ ABSL_GUARDED_BY(mutex_);  // by "Kind ns/name"
  Listener listener_;
  const std::unique_ptr<TypedCache<api::Fabric>> fabrics_;
  const std::unique_ptr<TypedCache<api::Node>> nodes_;
  const std::unique_ptr<TypedCache<api::Pod>> pods_;
  const std::unique_ptr<TypedCache<api::TrainingJob>> jobs_;
  const std::unique_ptr<TypedCache<api::Gang>> gangs_;
  const std::unique_ptr<TypedCache<api::CapacityPool>> pools_;
  const std::unique_ptr<TypedCache<devices::ResourceSlice>> slices_;
  const std::unique_ptr<TypedCache<devices::DeviceClass>> classes_;
  const std::unique_ptr<TypedCache<devices::ResourceClaim>> claims_;
  const std::unique_ptr<TypedCache<devices::ResourceClaimTemplate>> claim_templates_;
  const std::array<KindCache*, kKinds> kinds_;  // by Kind
  mutable Mutex overlay_mutex_;                 // taken without the other one
  const std::unique_ptr<DeviceOverlay> overlay_ ABSL_PT_GUARDED_BY(overlay_mutex_);
};

}  // namespace yardmaster::state
