// Filters the pods that the agent serves: those on its nodes. Watchers deliver pods and nodes in
// any order; the feed passes a pod to the plan loop when it comes to one of these nodes and when it
// leaves.
//
// Thread safety: all methods from any thread. Lifetime: the loop outlives the feed.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "pkg/agent/plans/plan_loop.h"
#include "pkg/agent/plans/pod_input.h"
#include "pkg/base/mutex.h"

namespace yardmaster::agent {

class PodFeed {
 public:
  explicit PodFeed(PlanLoop& loop) : loop_(loop) {}

  void AddNode(const std::string& node);
  void RemoveNode(const std::string& node);
  // In the order of their names.
  std::vector<std::string> nodes() const;
  // Returns the nodes that were removed since the last call, including those that have come back.
  std::set<std::string> TakeRemovedNodes();

  // Returns a pod on one of the nodes; nullopt if there is none.
  std::optional<PodInput> Find(const std::string& uid) const;
  // Returns the uids of the pods on the nodes that have a progress annotation, ascending.
  std::vector<std::string> UidsWithProgress() const;

  // Stores the newest state of a pod.
  void PutPod(JsonView pod);
  void DropPod(const std::string& uid);

 private:
  PlanLoop& loop_;
  mutable Mutex mutex_;
  std::set<std::string> nodes_ ABSL_GUARDED_BY(mutex_);
  std::set<std::string> removed_nodes_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, PodInput> pods_ ABSL_GUARDED_BY(mutex_);  // by uid, of all nodes
};

}  // namespace yardmaster::agent
