#include "pkg/kube/object_sink.h"

#include <utility>

#include "pkg/kube/object.h"

namespace yardmaster::kube {

CallbackSink::CallbackSink(OnPut put, OnDeleted deleted)
    : put_(std::move(put)), deleted_(std::move(deleted)) {}

void CallbackSink::BeginList() { ++list_; }

void CallbackSink::Listed(JsonView object) { Put(object); }

void CallbackSink::EndList(const std::string&) {
  for (auto it = known_.begin(); it != known_.end();) {
    if (it->second.list == list_) {
      ++it;
      continue;
    }
    const ObjectIdentity gone = std::move(it->second.identity);
    it = known_.erase(it);
    if (deleted_) deleted_(gone);
  }
}

void CallbackSink::Put(JsonView object) {
  ObjectIdentity identity{NamespaceOf(object), NameOf(object), UidOf(object)};
  const std::string version = ResourceVersionOf(object);
  const auto [it, is_new] = known_.try_emplace(MakeKey(identity.ns, identity.name));
  Known& known = it->second;
  known.list = list_;
  const bool same_life = !is_new && known.identity.uid == identity.uid;
  if (same_life && !version.empty() && known.version == version) return;
  const ObjectIdentity before = std::exchange(known.identity, std::move(identity));
  known.version = version;
  if (!is_new && !same_life && deleted_) deleted_(before);
  if (put_) put_(object);
}

void CallbackSink::Remove(JsonView object) {
  const auto it = known_.find(KeyOf(object));
  if (it == known_.end()) return;
  const ObjectIdentity gone = std::move(it->second.identity);
  known_.erase(it);
  if (deleted_) deleted_(gone);
}

}  // namespace yardmaster::kube
