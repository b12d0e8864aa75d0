#include "pkg/agent/plans/pod_feed.h"

#include <utility>

#include "pkg/kube/object.h"

namespace yardmaster::agent {

// The loop is called under the lock, so that it gets two watchers' changes of one pod in order.

void PodFeed::AddNode(const std::string& node) {
  const MutexLock lock(mutex_);
  if (!nodes_.insert(node).second) return;
  for (const auto& [uid, pod] : pods_) {
    if (pod.node == node) loop_.Put(pod);
  }
}

void PodFeed::RemoveNode(const std::string& node) {
  const MutexLock lock(mutex_);
  if (nodes_.erase(node) == 0) return;
  removed_nodes_.insert(node);
  for (const auto& [uid, pod] : pods_) {
    if (pod.node == node) loop_.Remove(uid);
  }
}

std::vector<std::string> PodFeed::nodes() const {
  const MutexLock lock(mutex_);
  return {nodes_.begin(), nodes_.end()};
}

std::set<std::string> PodFeed::TakeRemovedNodes() {
  const MutexLock lock(mutex_);
  return std::exchange(removed_nodes_, {});
}

std::optional<PodInput> PodFeed::Find(const std::string& uid) const {
  const MutexLock lock(mutex_);
  const auto at = pods_.find(uid);
  if (at == pods_.end() || nodes_.count(at->second.node) == 0) return std::nullopt;
  return at->second;
}

std::vector<std::string> PodFeed::UidsWithProgress() const {
  const MutexLock lock(mutex_);
  std::vector<std::string> uids;
  for (const auto& [uid, pod] : pods_) {
    if (pod.progress && nodes_.count(pod.node) > 0) uids.push_back(uid);
  }
  return uids;
}

void PodFeed::PutPod(JsonView pod) {
  const std::optional<PodInput> input = ReadPod(pod);
  if (!input.has_value()) {
    DropPod(kube::UidOf(pod));
    return;
  }
  const MutexLock lock(mutex_);
  pods_.insert_or_assign(input->uid, *input);
  if (nodes_.count(input->node) > 0) loop_.Put(*input);
}

void PodFeed::DropPod(const std::string& uid) {
  const MutexLock lock(mutex_);
  const auto at = pods_.find(uid);
  if (at == pods_.end()) return;
  loop_.Remove(at->first);
  pods_.erase(at);
}

}  // namespace yardmaster::agent
