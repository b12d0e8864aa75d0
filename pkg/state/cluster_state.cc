#include "pkg/state/cluster_state.h"

#include <chrono>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/object.h"

namespace yardmaster::state {

using nlohmann::json;

namespace {

const char* NameOf(Kind kind) {
  const char* const names[] = {"Fabric", "Node", "Pod", "TrainingJob", "Gang"};
  return names[static_cast<int>(kind)];
}

}  // namespace

void ClusterCache::Changed() {
  ++version_;
  changed_.notify_all();
}

template <typename T>
void ClusterCache::DeliverTo(ObjectMap<T>& map, const char* kind, const json& object,
                             absl::StatusOr<T> decoded, bool assume) {
  const std::string key = kube::KeyOf(object);
  std::lock_guard lock(mutex_);
  if (!decoded.ok()) {
    const std::string who = StrCat(kind, " ", key);
    problems_[who] = StrCat(who, ": ", MessageOf(decoded.status()));
    return Changed();
  }
  const bool mended = problems_.erase(StrCat(kind, " ", key)) != 0;
  auto shared = std::make_shared<const T>(*std::move(decoded));
  bool changed = true;
  if (assume) {
    map.Assume(std::move(shared));
  } else {
    changed = map.Deliver(std::move(shared));
  }
  if (changed || mended) Changed();
}

void ClusterCache::Deliver(Kind kind, const json& object) {
  switch (kind) {
    case Kind::kFabric:
      return DeliverTo(fabrics_, "Fabric", object, api::DecodeFabric(object), false);
    case Kind::kNode:
      return DeliverTo(nodes_, "Node", object, api::DecodeNode(object), false);
    case Kind::kPod:
      return DeliverTo(pods_, "Pod", object, api::DecodePod(object, api::Decoding::kLenient),
                       false);
    case Kind::kTrainingJob:
      return DeliverTo(jobs_, "TrainingJob", object, api::DecodeTrainingJob(object), false);
    case Kind::kGang:
      return DeliverTo(gangs_, "Gang", object, api::DecodeGang(object, api::Decoding::kLenient),
                       false);
  }
}

void ClusterCache::Assume(Kind kind, const json& object) {
  if (kind == Kind::kGang) {
    DeliverTo(gangs_, "Gang", object, api::DecodeGang(object, api::Decoding::kLenient), true);
  } else if (kind == Kind::kPod) {
    DeliverTo(pods_, "Pod", object, api::DecodePod(object, api::Decoding::kLenient), true);
  } else {
    Deliver(kind, object);
  }
}

void ClusterCache::Remove(Kind kind, const json& object) {
  const bool namespaced = kind != Kind::kFabric && kind != Kind::kNode;
  std::string ns = namespaced ? kube::NamespaceOf(object) : "";
  if (namespaced && ns.empty()) ns = "default";  // as it was decoded
  const std::string name = kube::NameOf(object);
  const TableKey key{ns, name};
  const std::string uid = kube::UidOf(object);
  std::lock_guard lock(mutex_);
  bool removed = false;
  switch (kind) {
    case Kind::kFabric:
      removed = fabrics_.Remove(key, uid);
      break;
    case Kind::kNode:
      removed = nodes_.Remove(key, uid);
      break;
    case Kind::kPod:
      removed = pods_.Remove(key, uid);
      break;
    case Kind::kTrainingJob:
      removed = jobs_.Remove(key, uid);
      break;
    case Kind::kGang:
      removed = gangs_.Remove(key, uid);
      break;
  }
  removed |= problems_.erase(StrCat(NameOf(kind), " ", kube::KeyOf(object))) != 0;
  if (removed) Changed();
}

ClusterState ClusterCache::Take() const {
  std::lock_guard lock(mutex_);
  ClusterState world{fabrics_.All(), nodes_.All(), pods_.All(), jobs_.All(), gangs_.All(), {}};
  for (const auto& [who, problem] : problems_) world.problems.push_back(problem);
  return world;
}

template <typename T>
std::shared_ptr<const T> ClusterCache::FindIn(const ObjectMap<T>& map,
                                              const std::string& key) const {
  const std::string_view text = key;
  const std::size_t slash = text.find('/');
  const TableKey at = slash == text.npos ? TableKey{"", text}
                                         : TableKey{text.substr(0, slash), text.substr(slash + 1)};
  std::lock_guard lock(mutex_);
  return map.All().Find(at);
}

std::shared_ptr<const api::Gang> ClusterCache::FindGang(const std::string& key) const {
  return FindIn(gangs_, key);
}

std::shared_ptr<const api::TrainingJob> ClusterCache::FindJob(const std::string& key) const {
  return FindIn(jobs_, key);
}

std::shared_ptr<const api::Pod> ClusterCache::FindPod(const std::string& key) const {
  return FindIn(pods_, key);
}

std::shared_ptr<const api::Node> ClusterCache::FindNode(const std::string& name) const {
  return FindIn(nodes_, name);
}

std::string ClusterCache::ProblemOf(Kind kind, const std::string& key) const {
  std::lock_guard lock(mutex_);
  const auto it = problems_.find(StrCat(NameOf(kind), " ", key));
  return it == problems_.end() ? "" : it->second;
}

std::uint64_t ClusterCache::version() const {
  std::lock_guard lock(mutex_);
  return version_;
}

std::uint64_t ClusterCache::WaitForChange(std::uint64_t seen, std::int64_t max_ms,
                                          std::stop_token stop) const {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, stop, std::chrono::milliseconds(max_ms),
                    [&] { return version_ != seen; });
  return version_;
}

}  // namespace yardmaster::state
