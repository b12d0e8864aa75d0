// The newest known state of every object of one kind: what the API server sent in lists and
// watches, and what our own writes returned before the watch brought it back.
//
// Why not only what the informer says? After a commit the watch needs some milliseconds to bring
// the new Gang back; planning on the old one would promise the same hosts twice.
//
// The rule. Resource versions of one kind are numbers that grow with every change and deletion of
// any object (etcd's revisions; Kubernetes documents their order from 1.35 on). So they order
// everything:
//   1. A state replaces another one of its key if and only if its version is greater. A deletion at
//      a version removes every state that is not newer, of any uid.
//   2. The *horizon* is the version up to which the informer has delivered everything. An own write
//      at or below the horizon is ignored: its state, or what became of it, has been delivered
//      already. So a late answer to a write cannot bring a deleted object back, and no list of
//      deleted objects has to be kept.
//   3. An own write beyond the horizon counts immediately, until a newer state of its key comes.
//   4. A list at version V is the truth up to V: at its end it replaces every state that is not
//      newer than V, and objects that it did not name and that are not newer are gone.
//   5. A list at a V below the horizon means that the server lost history (a restored backup): the
//      store becomes exactly that list.
// Objects without a numeric version (manifests, tests) replace and are replaced in order of
// arrival.
//
// Thread safety: none; owned by one ClusterCache, which locks.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/api/metadata.h"
#include "pkg/base/strings.h"
#include "pkg/state/object_table.h"

namespace yardmaster::state {

// 0: not a number.
inline std::uint64_t VersionNumber(std::string_view version) {
  return ParseNumber<unsigned long long>(version).value_or(0);
}

template <typename T>
class ObjectStore {
 public:
  using Ptr = std::shared_ptr<const T>;

  const ObjectTable<T>& objects() const { return objects_; }
  // A copy of them, in O(1).
  ObjectTable<T> Share() { return objects_.Share(); }
  std::uint64_t horizon() const { return horizon_; }

  // --- What the informer delivers. Each says whether something that we read has changed: a
  // kubelet's heartbeat gives a Node a new version and nothing else.
  void BeginList() {
    listed_.clear();
    unreadable_.clear();
  }
  bool Listed(Ptr object) {
    const Ptr known = objects_.Find(ObjectTable<T>::KeyOf(*object));
    if (known != nullptr && SameState(known->metadata, object->metadata)) object = known;
    listed_.push_back(object);
    return ReplaceIfNewer(known, std::move(object));
  }
  // Listed, and cannot be decoded: what is known of it stays.
  void ListedUnreadable(NamespacedNameView key) {
    if (const Ptr known = objects_.Find(key)) unreadable_.push_back(known);
  }
  // Returns what is gone.
  std::vector<Ptr> EndList(std::uint64_t version) {
    listed_.insert(listed_.end(), unreadable_.begin(), unreadable_.end());
    std::vector<Ptr> gone, replaced;
    const bool history_lost = version != 0 && version < horizon_;
    const auto listed = ObjectTable<T>::Of(std::move(listed_));
    ObjectTable<T>::Differences(objects_, listed, [&](const Ptr& known, const Ptr& listed) {
      if (known == nullptr || (!history_lost && VersionOf(*known) > version)) return;
      if (listed == nullptr) {
        gone.push_back(known);
      } else {
        replaced.push_back(listed);
      }
    });
    for (const Ptr& object : gone) objects_.Erase(ObjectTable<T>::KeyOf(*object));
    for (const Ptr& object : replaced) objects_.Put(object);
    if (version != 0) horizon_ = version;
    listed_.clear();
    unreadable_.clear();
    return gone;
  }
  bool Put(Ptr object) {
    Advance(VersionOf(*object));
    const Ptr known = objects_.Find(ObjectTable<T>::KeyOf(*object));
    return ReplaceIfNewer(known, std::move(object));
  }
  // A deletion at `version` of the object of that key; without a version, of that uid ("": any).
  bool Remove(NamespacedNameView key, std::uint64_t version, const std::string& uid) {
    Advance(version);
    const Ptr known = objects_.Find(key);
    if (known == nullptr) return false;
    const bool newer = version != 0 && VersionOf(*known) > version;
    const bool another = version == 0 && !uid.empty() && known->metadata.uid != uid;
    return !newer && !another && objects_.Erase(key);
  }
  void Advance(std::uint64_t version) { horizon_ = std::max(horizon_, version); }

  // --- What a write of ours returned. False when it does not count.
  bool Assume(Ptr object) {
    const std::uint64_t version = VersionOf(*object);
    if (version != 0 && version <= horizon_) return false;
    const Ptr known = objects_.Find(ObjectTable<T>::KeyOf(*object));
    return ReplaceIfNewer(known, std::move(object));
  }

 private:
  static std::uint64_t VersionOf(const T& object) {
    return VersionNumber(object.metadata.resource_version);
  }
  static bool SameState(const api::ObjectMeta& a, const api::ObjectMeta& b) {
    return !a.resource_version.empty() && a.resource_version == b.resource_version &&
           a.uid == b.uid;
  }
  static bool SameButVersion(const T& a, const T& b) {
    if constexpr (std::equality_comparable<T>) {
      T like_a = b;
      like_a.metadata.resource_version = a.metadata.resource_version;
      return like_a == a;
    }
    return false;
  }

  bool ReplaceIfNewer(const Ptr& known, Ptr object) {
    if (known == object) return false;
    if (known != nullptr) {
      const std::uint64_t before = VersionOf(*known), after = VersionOf(*object);
      if (before != 0 && after != 0 && after <= before) return false;
    }
    const bool same = known != nullptr && SameButVersion(*known, *object);
    objects_.Put(std::move(object));
    return !same;
  }

  ObjectTable<T> objects_;
  std::uint64_t horizon_ = 0;
  // While a list is read: what it has named so far, older states than the known ones included, in
  // the order of the list.
  std::vector<Ptr> listed_;
  std::vector<Ptr> unreadable_;
};

}  // namespace yardmaster::state
