// An Informer whose copy holds C++ values instead of JSON.
//
// An object that cannot be decoded stops nothing: it is counted, reported and listed by
// undecodable(). If an earlier state of it could be decoded, that one stays in place until the
// object becomes readable again or is deleted: to whoever plans on the copy, a Gang that somebody
// has garbled must not look like hosts set free.
//
// Thread safety: as Informer.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/kube/informer.h"

namespace yardmaster::kube {

template <typename T>
class TypedInformer {
 public:
  using Ptr = std::shared_ptr<const T>;
  using Decode = std::function<absl::StatusOr<T>(const nlohmann::json&)>;

  // As InformerHandlers; any may be empty.
  struct Handlers {
    std::function<void(const std::string& key, const Ptr&)> added = {};
    std::function<void(const std::string& key, const Ptr& before, const Ptr& after)> updated = {};
    std::function<void(const std::string& key, const Ptr& last)> deleted = {};
    std::function<void()> synced = {};
    std::function<void(const absl::Status&)> failed = {};
    std::function<void(const std::string& key, const absl::Status&)> undecodable = {};
  };

  // `client` and what `timing` refers to must outlive the informer.
  TypedInformer(Client& client, Resource resource, InformerOptions options, Decode decode,
                Handlers handlers, Timing timing)
      : decode_(std::move(decode)),
        handlers_(std::move(handlers)),
        informer_(client, std::move(resource), std::move(options), InnerHandlers(), timing) {}

  void Start() { informer_.Start(); }
  void Stop() { informer_.Stop(); }
  absl::Status WaitForSync(std::int64_t timeout_ms) { return informer_.WaitForSync(timeout_ms); }
  // HasSynced, LastContactMs, stats and the JSON behind the values.
  const Informer& raw() const { return informer_; }

  Ptr Get(const std::string& key) const {
    std::lock_guard lock(mutex_);
    auto it = values_.find(key);
    return it == values_.end() ? nullptr : it->second;
  }
  // Sorted by key.
  std::vector<Ptr> All() const {
    std::lock_guard lock(mutex_);
    std::vector<Ptr> all;
    all.reserve(values_.size());
    for (const auto& [key, value] : values_) all.push_back(value);
    return all;
  }
  // Why the present state of an object could not be decoded, by key.
  std::map<std::string, absl::Status> undecodable() const {
    std::lock_guard lock(mutex_);
    return undecodable_;
  }

 private:
  InformerHandlers InnerHandlers() {
    InformerHandlers inner;
    inner.added = [this](const ObjectPtr& object) { Take(object); };
    inner.updated = [this](const ObjectPtr&, const ObjectPtr& after) { Take(after); };
    inner.deleted = [this](const ObjectPtr& object) { Drop(KeyOf(*object)); };
    inner.synced = handlers_.synced;
    inner.failed = handlers_.failed;
    return inner;
  }

  void Take(const ObjectPtr& object) {
    const std::string key = KeyOf(*object);
    absl::StatusOr<T> decoded = decode_(*object);
    if (!decoded.ok()) {
      {
        std::lock_guard lock(mutex_);
        undecodable_[key] = decoded.status();
      }
      if (handlers_.undecodable) handlers_.undecodable(key, decoded.status());
      return;
    }
    const Ptr value = std::make_shared<const T>(*std::move(decoded));
    Ptr before;
    {
      std::lock_guard lock(mutex_);
      undecodable_.erase(key);
      before = std::exchange(values_[key], value);
    }
    if (before == nullptr) {
      if (handlers_.added) handlers_.added(key, value);
    } else if (handlers_.updated) {
      handlers_.updated(key, before, value);
    }
  }

  void Drop(const std::string& key) {
    Ptr last;
    {
      std::lock_guard lock(mutex_);
      undecodable_.erase(key);
      auto it = values_.find(key);
      if (it == values_.end()) return;
      last = std::move(it->second);
      values_.erase(it);
    }
    if (handlers_.deleted) handlers_.deleted(key, last);
  }

  const Decode decode_;
  const Handlers handlers_;
  mutable std::mutex mutex_;
  std::map<std::string, Ptr> values_;
  std::map<std::string, absl::Status> undecodable_;
  Informer informer_;  // last: its thread uses all of the above
};

}  // namespace yardmaster::kube
