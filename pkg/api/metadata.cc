#include "pkg/api/metadata.h"

#include <iterator>
#include <limits>

#include "nlohmann/json.hpp"

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

namespace {

constexpr std::size_t kLabelBytes = 128;  // of a label, beside its text
constexpr std::size_t kOtherOwners = 8;
constexpr int kFinalizers = 64;

// The entries of an object of strings, which is all that the API server stores there.
template <typename Call>
void ForEachText(JsonView map, Call call) {
  map.ForEachMember([&](std::string_view key, JsonView value) {
    if (const auto text = value.String()) call(key, *text);
  });
}

std::map<std::string, std::string> KeptAnnotations(FieldReader& metadata,
                                                   const KeptMetadata& kept) {
  std::map<std::string, std::string> out;
  ForEachText(metadata.Raw("annotations"), [&](std::string_view key, std::string_view text) {
    const std::size_t most = kept.annotation_bytes(key);
    if (most == 0) return;
    if (text.size() > most) {
      metadata.errors().Add(JoinPath(metadata.PathOf("annotations"), key),
                            StrCat("is ", text.size(), " bytes long"),
                            StrCat("at most ", most, " are read; shorten it"));
      text = CutAtCharacter(text, most);
    }
    out.emplace(key, text);
  });
  return out;
}

std::size_t BytesOfLabel(std::string_view key, std::string_view text) {
  return key.size() + text.size() + kLabelBytes;
}

std::map<std::string, std::string> KeptLabels(FieldReader& metadata, const KeptMetadata& kept) {
  std::map<std::string, std::string> out;
  std::map<std::string_view, std::string_view> others;
  std::size_t bytes = 0;
  bool all = true;
  ForEachText(metadata.Raw("labels"), [&](std::string_view key, std::string_view text) {
    if (kept.needs_label(key)) {
      out.emplace(key, text);
      return;
    }
    if (others.emplace(key, text).second) bytes += BytesOfLabel(key, text);
    while (bytes > kept.other_label_bytes) {
      const auto last = std::prev(others.end());
      bytes -= BytesOfLabel(last->first, last->second);
      others.erase(last);
      all = false;
    }
  });
  if (!all && kept.other_label_bytes > 0) {
    metadata.errors().Add(metadata.PathOf("labels"),
                          StrCat("take more than ", kept.other_label_bytes, " bytes"),
                          "use fewer; the last by key are not read");
  }
  out.insert(others.begin(), others.end());
  return out;
}

std::vector<std::string> KeptFinalizers(FieldReader& metadata) {
  const auto count = static_cast<std::int64_t>(metadata.Raw("finalizers").size());
  if (count <= kFinalizers) return metadata.Strings("finalizers");
  metadata.errors().Add(metadata.PathOf("finalizers"),
                        StrCat("expected at most ", kFinalizers, " entries, got ", count),
                        "leave some out");
  return {};
}

std::vector<OwnerReference> ReadOwners(FieldReader& metadata, std::size_t most_others) {
  std::vector<OwnerReference> out;
  std::size_t others = 0;
  for (FieldReader& owner : metadata.Objects("ownerReferences")) {
    const bool controller = owner.Bool("controller", false);
    if (!controller && ++others > most_others) continue;
    out.push_back({owner.String("apiVersion"), owner.RequiredString("kind"),
                   owner.RequiredString("name"), owner.String("uid"), controller});
  }
  return out;
}

}  // namespace

ObjectMeta ReadMetadata(FieldReader& object, Namespaced namespaced, const KeptMetadata* kept) {
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
  const bool all = kept == nullptr;
  meta.labels = all ? in.StringMap("labels") : KeptLabels(in, *kept);
  meta.annotations = all ? in.StringMap("annotations") : KeptAnnotations(in, *kept);
  meta.owners = ReadOwners(in, all ? std::numeric_limits<std::size_t>::max() : kOtherOwners);
  meta.finalizers = all ? in.Strings("finalizers") : KeptFinalizers(in);
  return meta;
}

json EncodeMetadata(const ObjectMeta& meta) {
  json out = {{"name", meta.name}};
  if (!meta.namespace_name.empty()) out["namespace"] = meta.namespace_name;
  if (!meta.uid.empty()) out["uid"] = meta.uid;
  if (!meta.resource_version.empty()) out["resourceVersion"] = meta.resource_version;
  if (meta.generation != 0) out["generation"] = meta.generation;
  if (meta.created_ms != 0) out["creationTimestamp"] = FormatTime(meta.created_ms);
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
