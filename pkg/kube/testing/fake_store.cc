#include "pkg/kube/testing/fake_store.h"

#include <cstdio>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;

constexpr std::string_view kOwnGroup = "yardmaster.dev";

bool HasStatusSubresource(const Resource& resource) {
  return resource.group == kOwnGroup || resource == Pods() || resource == Nodes();
}

absl::Status NotFound(const Target& target) {
  return absl::NotFoundError(Describe(target) + " not found");
}

std::string MakeUid(std::int64_t number) {
  char text[40];
  std::snprintf(text, sizeof text, "00000000-0000-4000-8000-%012lld",
                static_cast<long long>(number));
  return text;
}

// Everything that is part of the desired state for metadata.generation.
json DesiredState(json object) {
  object.erase("metadata");
  object.erase("status");
  return object;
}

// `from`'s value at metadata.<key> becomes `to`'s, present or not.
void KeepMetadata(const json& from, json& to, const char* key) {
  if (const json* value = FindAt(from, {"metadata", key})) {
    to["metadata"][key] = *value;
  } else {
    to["metadata"].erase(key);
  }
}

}  // namespace

absl::StatusOr<ObjectPtr> FakeStore::Get(const Target& target) const {
  auto collection = objects_.find(target.resource.GroupResource());
  if (collection == objects_.end()) return NotFound(target);
  auto it = collection->second.find(MakeKey(target.ns, target.name));
  if (it == collection->second.end()) return NotFound(target);
  return it->second;
}

absl::StatusOr<ObjectPtr> FakeStore::Create(const Target& target, json object) {
  if (!target.subresource.empty()) return CreateSubresource(target, object);
  if (!object.is_object()) return absl::InvalidArgumentError("the object is not a JSON object");
  json& metadata = object["metadata"];
  if (!metadata.is_object()) metadata = json::object();
  if (NameOf(object).empty()) {
    const std::string prefix = StringAt(object, {"metadata", "generateName"});
    if (prefix.empty()) return FieldError("metadata.name", "name or generateName is required", "");
    metadata["name"] = StrCat(prefix, "x", next_uid_);
  }
  if (!NamespaceOf(object).empty() && NamespaceOf(object) != target.ns) {
    return FieldError("metadata.namespace", "does not match the namespace of the request", "");
  }
  if (target.resource.namespaced) metadata["namespace"] = target.ns;
  const Target named{target.resource, target.ns, NameOf(object), ""};
  if (Get(named).ok()) return absl::AlreadyExistsError(Describe(named) + " already exists");

  object["apiVersion"] = target.resource.ApiVersion();
  object["kind"] = target.resource.kind;
  metadata["uid"] = MakeUid(next_uid_++);
  metadata["creationTimestamp"] = FormatTime(clock_.WallMs());
  metadata["generation"] = 1;
  metadata.erase("deletionTimestamp");
  if (target.resource.group == kOwnGroup) object.erase("status");
  if (target.resource == Pods()) object["status"] = {{"phase", "Pending"}};
  return Commit(target.resource, WatchEventType::kAdded, nullptr, std::move(object));
}

absl::StatusOr<ObjectPtr> FakeStore::CreateSubresource(const Target& target, const json& body) {
  YM_ASSIGN_OR_RETURN(ObjectPtr current, Get(target));
  if (target.resource == Pods() && target.subresource == "eviction") {
    DeleteOptions options;
    options.uid = StringAt(body, {"deleteOptions", "preconditions", "uid"});
    options.resource_version =
        StringAt(body, {"deleteOptions", "preconditions", "resourceVersion"});
    YM_RETURN_IF_ERROR(Delete({target.resource, target.ns, target.name, ""}, options));
    return std::make_shared<const json>(body);
  }
  if (target.resource == Pods() && target.subresource == "binding") {
    if (!StringAt(*current, {"spec", "nodeName"}).empty()) {
      return absl::AbortedError(Describe(target) + " is already assigned to a node");
    }
    json next = *current;
    next["spec"]["nodeName"] = StringAt(body, {"target", "name"});
    if (const json* annotations = FindAt(body, {"metadata", "annotations"})) {
      next["metadata"]["annotations"].update(*annotations);
    }
    return Commit(target.resource, WatchEventType::kModified, current, std::move(next));
  }
  return absl::NotFoundError(Describe(target) + ": no such subresource");
}

absl::StatusOr<ObjectPtr> FakeStore::Replace(const Target& target, json object) {
  if (target.resource.group == kOwnGroup && ResourceVersionOf(object).empty()) {
    return FieldError("metadata.resourceVersion", "must be specified for an update", "");
  }
  return Update(target, std::move(object));
}

absl::StatusOr<ObjectPtr> FakeStore::Patch(const Target& target, const PatchBody& patch) {
  YM_ASSIGN_OR_RETURN(ObjectPtr current, Get(target));
  const json body = json::parse(patch.body, nullptr, false);
  if (body.is_discarded()) return absl::InvalidArgumentError("the patch is not JSON");
  json next = *current;
  try {
    if (patch.type == PatchType::kJson) {
      next = current->patch(body);
    } else {
      next.merge_patch(body);
    }
  } catch (const json::exception& error) {
    return absl::FailedPreconditionError(StrCat(Describe(target), ": ", error.what()));
  }
  return Update(target, std::move(next));
}

absl::StatusOr<ObjectPtr> FakeStore::Update(const Target& target, json incoming) {
  YM_ASSIGN_OR_RETURN(ObjectPtr current, Get(target));
  if (NameOf(incoming) != target.name) {
    return FieldError("metadata.name", "does not match the name of the request", "");
  }
  YM_RETURN_IF_ERROR(
      CheckPreconditions(target, *current, UidOf(incoming), ResourceVersionOf(incoming)));
  json next;
  if (target.subresource == "status") {
    next = *current;
    next["status"] = incoming.value("status", json());
    if (next["status"].is_null()) next.erase("status");
  } else {
    next = std::move(incoming);
    if (HasStatusSubresource(target.resource)) {
      next.erase("status");
      if (const json* status = FindAt(*current, {"status"})) next["status"] = *status;
    }
    for (const char* key : {"uid", "creationTimestamp", "deletionTimestamp", "namespace",
                            "generation", "resourceVersion"}) {
      KeepMetadata(*current, next, key);
    }
  }
  if (next == *current) return current;
  if (const auto rule = rules_.find(target.resource.GroupResource()); rule != rules_.end()) {
    YM_RETURN_IF_ERROR(rule->second(*current, next));
  }
  if (DesiredState(next) != DesiredState(*current)) {
    next["metadata"]["generation"] = current->at("metadata").value("generation", 0) + 1;
  }
  const json* finalizers = FindAt(next, {"metadata", "finalizers"});
  const bool gone = FindAt(next, {"metadata", "deletionTimestamp"}) != nullptr &&
                    (finalizers == nullptr || finalizers->empty());
  return Commit(target.resource, gone ? WatchEventType::kDeleted : WatchEventType::kModified,
                current, std::move(next));
}

absl::Status FakeStore::Delete(const Target& target, const DeleteOptions& options) {
  YM_ASSIGN_OR_RETURN(ObjectPtr current, Get(target));
  YM_RETURN_IF_ERROR(CheckPreconditions(target, *current, options.uid, options.resource_version));
  const json* finalizers = FindAt(*current, {"metadata", "finalizers"});
  json next = *current;
  if (finalizers != nullptr && !finalizers->empty()) {
    if (FindAt(*current, {"metadata", "deletionTimestamp"}) != nullptr) return absl::OkStatus();
    next["metadata"]["deletionTimestamp"] = FormatTime(clock_.WallMs());
    Commit(target.resource, WatchEventType::kModified, current, std::move(next));
  } else {
    Commit(target.resource, WatchEventType::kDeleted, current, std::move(next));
  }
  return absl::OkStatus();
}

void FakeStore::Seed(const Resource& resource, json object) {
  if (UidOf(object).empty()) object["metadata"]["uid"] = MakeUid(next_uid_++);
  if (resource.namespaced && NamespaceOf(object).empty()) {
    object["metadata"]["namespace"] = "default";
  }
  object["apiVersion"] = resource.ApiVersion();
  object["kind"] = resource.kind;
  absl::StatusOr<ObjectPtr> current = Get({resource, NamespaceOf(object), NameOf(object), ""});
  Commit(resource, current.ok() ? WatchEventType::kModified : WatchEventType::kAdded,
         current.ok() ? *current : nullptr, std::move(object));
}

std::vector<ObjectPtr> FakeStore::All(const Resource& resource, const std::string& ns) const {
  std::vector<ObjectPtr> all;
  auto collection = objects_.find(resource.GroupResource());
  if (collection == objects_.end()) return all;
  for (const auto& [key, object] : collection->second) {
    if (ns.empty() || NamespaceOf(*object) == ns) all.push_back(object);
  }
  return all;
}

void FakeStore::Bookmark(const Resource& resource) {
  auto object =
      std::make_shared<const json>(json{{"kind", resource.kind},
                                        {"apiVersion", resource.ApiVersion()},
                                        {"metadata", {{"resourceVersion", StrCat(version_)}}}});
  log_.push_back(
      {version_, resource.GroupResource(), WatchEventType::kBookmark, nullptr, std::move(object)});
}

void FakeStore::Compact() {
  compacted_version_ = version_;
  log_.clear();
}

absl::Status FakeStore::CheckPreconditions(const Target& target, const json& current,
                                           const std::string& uid, const std::string& version) {
  if (!uid.empty() && uid != UidOf(current)) {
    return absl::AbortedError(StrCat(Describe(target),
                                     ": Precondition failed: UID in precondition: ", uid,
                                     ", UID in object meta: ", UidOf(current)));
  }
  if (!version.empty() && version != ResourceVersionOf(current)) {
    return absl::AbortedError(
        StrCat(Describe(target),
               ": the object has been modified; please apply your changes to the latest version"));
  }
  return absl::OkStatus();
}

ObjectPtr FakeStore::Commit(const Resource& resource, WatchEventType type, ObjectPtr before,
                            json after) {
  after["metadata"]["resourceVersion"] = StrCat(++version_);
  auto object = std::make_shared<const json>(std::move(after));
  auto& collection = objects_[resource.GroupResource()];
  if (type == WatchEventType::kDeleted) {
    collection.erase(KeyOf(*object));
  } else {
    collection[KeyOf(*object)] = object;
  }
  log_.push_back({version_, resource.GroupResource(), type, std::move(before), object});
  return object;
}

}  // namespace yardmaster::kube
