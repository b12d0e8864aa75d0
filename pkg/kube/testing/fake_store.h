// The objects of the in-memory API server, with the rules of its writes (fake_client.h tells what
// is like the real one and what is not). Every change gets the next resourceVersion and an entry in
// a log, from which watches are served.
// Thread safety: none; FakeClient holds its lock around every call.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/kube/client.h"

namespace yardmaster::kube {

struct FakeLogEntry {
  std::int64_t version;
  std::string collection;  // Resource::GroupResource()
  WatchEventType type;
  ObjectPtr before;  // null for kAdded and kBookmark
  ObjectPtr after;   // for kDeleted: the last state, with the version of the deletion
};

class FakeStore {
 public:
  // `clock` must outlive the store.
  explicit FakeStore(const Clock& clock) : clock_(clock) {}

  absl::StatusOr<ObjectPtr> Get(const Target& target) const;
  absl::StatusOr<ObjectPtr> Create(const Target& target, nlohmann::json object);
  absl::StatusOr<ObjectPtr> Replace(const Target& target, nlohmann::json object);
  absl::StatusOr<ObjectPtr> Patch(const Target& target, const PatchBody& patch);
  absl::Status Delete(const Target& target, const DeleteOptions& options);
  // Of the object before and after a change. Not OK: the change is refused.
  using Rule =
      std::function<absl::Status(const nlohmann::json& before, const nlohmann::json& after)>;
  void SetRule(const Resource& resource, Rule rule) {
    rules_[resource.GroupResource()] = std::move(rule);
  }
  // Puts `object` there as it is, status included.
  void Seed(const Resource& resource, nlohmann::json object);

  // Sorted by key; `ns` empty means all.
  std::vector<ObjectPtr> All(const Resource& resource, const std::string& ns) const;
  std::int64_t version() const { return version_; }

  void Bookmark(const Resource& resource);
  void Compact();
  // Watches can begin at or after this version.
  std::int64_t compacted_version() const { return compacted_version_; }
  const std::vector<FakeLogEntry>& log() const { return log_; }

 private:
  absl::StatusOr<ObjectPtr> CreateSubresource(const Target& target, const nlohmann::json& body);
  absl::StatusOr<ObjectPtr> Update(const Target& target, nlohmann::json incoming);
  static absl::Status CheckPreconditions(const Target& target, const nlohmann::json& current,
                                         const std::string& uid, const std::string& version);
  ObjectPtr Commit(const Resource& resource, WatchEventType type, ObjectPtr before,
                   nlohmann::json after);

  const Clock& clock_;
  std::int64_t version_ = 1000;
  std::int64_t compacted_version_ = 0;
  std::int64_t next_uid_ = 1;
  std::map<std::string, std::map<std::string, ObjectPtr>> objects_;
  std::vector<FakeLogEntry> log_;
  std::map<std::string, Rule> rules_;  // by Resource::GroupResource()
};

}  // namespace yardmaster::kube
