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
// Thread safety: none; owned by one ClusterCache, which locks.
#pragma once

#include <concepts>
#include <memory>
#include <string>

#include "pkg/api/metadata.h"
#include "pkg/base/strings.h"
#include "pkg/state/object_table.h"

namespace yardmaster::state {

template <typename T>
class ObjectMap {
 public:
  using Ptr = std::shared_ptr<const T>;

  // From the informer. True when something that we read changed: a kubelet's heartbeat gives a Node
  // a new version and nothing else.
  bool Deliver(Ptr object) {
    const Ptr known = objects_.Find(ObjectTable<T>::KeyOf(*object));
    if (known != nullptr && IsOlder(object->metadata, known->metadata)) return false;
    const bool same = known != nullptr && SameButVersion(*known, *object);
    objects_.Put(std::move(object));
    return !same;
  }
  bool Remove(TableKey key, const std::string& uid) {
    const Ptr known = objects_.Find(key);
    if (known == nullptr || (!uid.empty() && known->metadata.uid != uid)) return false;
    return objects_.Erase(key);
  }
  // What a write of ours returned.
  void Assume(Ptr object) {
    const Ptr known = objects_.Find(ObjectTable<T>::KeyOf(*object));
    if (known != nullptr && IsOlder(object->metadata, known->metadata)) return;
    objects_.Put(std::move(object));
  }
  const ObjectTable<T>& All() const { return objects_; }

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

  ObjectTable<T> objects_;
};

}  // namespace yardmaster::state
