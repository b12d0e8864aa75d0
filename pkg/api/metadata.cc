#include "pkg/api/metadata.h"

#include "nlohmann/json.hpp"

#include "pkg/api/time_field.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

using nlohmann::json;

const OwnerReference* ObjectMeta::controller() const {
  for (const OwnerReference& owner : owners) {
    if (owner.controller) return &owner;
  }
  return nullptr;
}

std::optional<std::string_view> Find(const std::map<std::string, std::string>& map,
                                     const char* key) {
  // The map's own search needs a string of its own; most maps have a few entries.
  constexpr std::size_t kFew = 32;
  if (map.size() <= kFew) {
    const std::string_view wanted = key;
    for (const auto& [name, value] : map) {
      if (name == wanted) return std::string_view(value);
    }
    return std::nullopt;
  }
  const auto it = map.find(key);
  if (it == map.end()) return std::nullopt;
  return std::string_view(it->second);
}

ObjectMeta ReadMetadata(FieldReader& object, Namespaced namespaced) {
  FieldReader in = object.OpenObject("metadata");
  ObjectMeta meta;
  meta.name = in.RequiredString("name");
  if (namespaced == Namespaced::kYes) {
    meta.namespace_name = in.String("namespace", "default");
    if (meta.namespace_name.empty()) meta.namespace_name = "default";
  }
  meta.uid = in.String("uid");
  meta.resource_version = in.String("resourceVersion");
  meta.generation = in.Int64("generation", 0, 0, INT64_MAX);
  meta.created_ms = in.TimeMs("creationTimestamp");
  if (in.has("deletionTimestamp")) meta.deleted_ms = in.TimeMs("deletionTimestamp");
  meta.labels = in.StringMap("labels");
  meta.annotations = in.StringMap("annotations");
  for (FieldReader& owner : in.Objects("ownerReferences")) {
    meta.owners.push_back({owner.String("apiVersion"), owner.RequiredString("kind"),
                           owner.RequiredString("name"), owner.String("uid"),
                           owner.Bool("controller", false)});
  }
  meta.finalizers = in.Strings("finalizers");
  return meta;
}

json EncodeMetadata(const ObjectMeta& meta) {
  json out = {{"name", meta.name}};
  if (!meta.namespace_name.empty()) out["namespace"] = meta.namespace_name;
  if (!meta.uid.empty()) out["uid"] = meta.uid;
  if (!meta.resource_version.empty()) out["resourceVersion"] = meta.resource_version;
  if (meta.generation != 0) out["generation"] = meta.generation;
  EncodeTime("creationTimestamp", meta.created_ms, out);
  if (meta.deleted_ms) out["deletionTimestamp"] = FormatTime(*meta.deleted_ms);
  if (!meta.labels.empty()) out["labels"] = meta.labels;
  if (!meta.annotations.empty()) out["annotations"] = meta.annotations;
  for (const OwnerReference& owner : meta.owners) {
    json entry = {{"apiVersion", owner.api_version},
                  {"kind", owner.kind},
                  {"name", owner.name},
                  {"uid", owner.uid}};
    if (owner.controller) entry["controller"] = true;
    out["ownerReferences"].push_back(std::move(entry));
  }
  if (!meta.finalizers.empty()) out["finalizers"] = meta.finalizers;
  return out;
}

void ReadTypeMeta(FieldReader& object, std::string_view api_version, std::string_view kind) {
  auto need = [&](const char* key, std::string_view want) {
    const std::string got = object.String(key, want);
    if (got == want) return;
    object.errors().Add(key, StrCat("expected ", want, ", got \"", got, "\""),
                        StrCat("this program reads ", want));
  };
  need("apiVersion", api_version);
  need("kind", kind);
}

}  // namespace yardmaster::api
