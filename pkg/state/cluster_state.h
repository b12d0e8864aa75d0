// The decoded objects that a process works on, fed by informers, and the moments at which they
// changed.
//
// One ClusterCache per process. Informer threads deliver; one worker waits for changes and takes a
// World, tables of objects that nobody changes any more; taking it costs next to nothing, and so
// does finding out what differs from the World taken before (object_table.h). Objects that cannot
// be decoded are counted and named in `World::problems`; the version before them stays, so one bad
// object stops nothing else.
//
// Thread safety: all methods of ClusterCache from any thread; a World is a value.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/fabric.h"
#include "pkg/api/gang.h"
#include "pkg/api/node.h"
#include "pkg/api/pod.h"
#include "pkg/api/training_job.h"
#include "pkg/state/object_map.h"

namespace yardmaster::state {

enum class Kind { kFabric, kNode, kPod, kTrainingJob, kGang };

struct ClusterState {
  ObjectTable<api::Fabric> fabrics;
  ObjectTable<api::Node> nodes;
  ObjectTable<api::Pod> pods;
  ObjectTable<api::TrainingJob> jobs;
  ObjectTable<api::Gang> gangs;
  std::vector<std::string> problems;  // "Pod ns/name: ..."
};

class ClusterCache {
 public:
  // An object that an informer delivered, new or changed.
  void Deliver(Kind kind, const nlohmann::json& object);
  void Remove(Kind kind, const nlohmann::json& object);
  // What a write of ours returned: counts until the informer has caught up.
  void Assume(Kind kind, const nlohmann::json& object);

  ClusterState Take() const;
  // By "namespace/name" (a Node by its name); null when there is none. O(log objects).
  std::shared_ptr<const api::Gang> FindGang(const std::string& key) const;
  std::shared_ptr<const api::TrainingJob> FindJob(const std::string& key) const;
  std::shared_ptr<const api::Pod> FindPod(const std::string& key) const;
  std::shared_ptr<const api::Node> FindNode(const std::string& name) const;

  // Why the newest version of an object cannot be decoded; empty: it can, or there is none.
  std::string ProblemOf(Kind kind, const std::string& key) const;

  // Counts visible changes. WaitForChange returns the count as soon as it differs from `seen`,
  // after `max_ms`, or when stopped.
  std::uint64_t version() const;
  std::uint64_t WaitForChange(std::uint64_t seen, std::int64_t max_ms, std::stop_token stop) const;

 private:
  void Changed();
  template <typename T>
  void DeliverTo(ObjectMap<T>& map, const char* kind, const nlohmann::json& object,
                 absl::StatusOr<T> decoded, bool assume);
  template <typename T>
  std::shared_ptr<const T> FindIn(const ObjectMap<T>& map, const std::string& key) const;

  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  std::uint64_t version_ = 0;
  ObjectMap<api::Fabric> fabrics_;
  ObjectMap<api::Node> nodes_;
  ObjectMap<api::Pod> pods_;
  ObjectMap<api::TrainingJob> jobs_;
  ObjectMap<api::Gang> gangs_;
  std::map<std::string, std::string> problems_;  // by "Kind ns/name"
};

}  // namespace yardmaster::state
