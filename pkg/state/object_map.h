// The newest known version of every object of one kind: what the informer delivered, overlaid by
// what our own writes returned until the informer has caught up (assume / confirm / forget).
//
// Why not the informer's store alone? After a commit the watch needs some milliseconds to bring the
// new Gang back; planning on the old one would promise the same hosts twice.
//
// Rules:
//   1. Assume(object) counts until the informer delivers a version that is not older.
//   2. An informer's version older than the assumed one does not replace it.
//   3. Resource versions are compared as numbers where they are numbers (Kubernetes documents their
//   order
//      from 1.35 on and etcd has always counted); otherwise the informer wins.
//   4. A deletion seen by the informer forgets the assumption of that life (uid).
// Thread safety: none; owned by one WorldCache, which locks.
#pragma once

#include <concepts>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/api/metadata.h"
#include "pkg/base/strings.h"

namespace yardmaster::state {

template <typename T>
class ObjectMap {
 public:
  using Ptr = std::shared_ptr<const T>;

  // From the informer. True when something that we read changed: a kubelet's heartbeat gives a Node
  // a new version and nothing else.
  bool Deliver(const std::string& key, Ptr object) {
    auto at = objects_.find(key);
    if (at != objects_.end() && IsOlder(object->metadata, at->second->metadata)) return false;
    const bool same = at != objects_.end() && SameButVersion(*at->second, *object);
    objects_[key] = std::move(object);
    return !same;
  }
  bool Remove(const std::string& key, const std::string& uid) {
    auto at = objects_.find(key);
    if (at == objects_.end()) return false;
    if (!uid.empty() && at->second->metadata.uid != uid) return false;
    objects_.erase(at);
    return true;
  }
  // What a write of ours returned.
  void Assume(const std::string& key, Ptr object) {
    auto at = objects_.find(key);
    if (at != objects_.end() && IsOlder(object->metadata, at->second->metadata)) return;
    objects_[key] = std::move(object);
  }
  // In key order.
  std::vector<Ptr> All() const {
    std::vector<Ptr> all;
    all.reserve(objects_.size());
    for (const auto& [key, object] : objects_) all.push_back(object);
    return all;
  }
  Ptr Find(const std::string& key) const {
    auto at = objects_.find(key);
    return at == objects_.end() ? nullptr : at->second;
  }
  std::size_t size() const { return objects_.size(); }

 private:
  static bool SameButVersion(const T& a, const T& b) {
    if constexpr (std::equality_comparable<T>) {
      T like_a = b;
      like_a.metadata.resource_version = a.metadata.resource_version;
      return like_a == a;
    }
    return false;
  }

  // Only versions of one life (uid) are compared.
  static bool IsOlder(const api::ObjectMeta& a, const api::ObjectMeta& b) {
    if (a.uid != b.uid) return false;
    auto left = ParseNumber<unsigned long long>(a.resource_version);
    auto right = ParseNumber<unsigned long long>(b.resource_version);
    return left && right && *left < *right;
  }

  std::map<std::string, Ptr> objects_;
};

}  // namespace yardmaster::state
