// The part of metav1.ObjectMeta that we read and write, and what every top-level object shares.
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_reader.h"
#include "pkg/base/namespaced_name.h"

namespace yardmaster::api {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
  bool controller = false;
  bool operator==(const OwnerReference&) const = default;
};

struct ObjectMeta {
  std::string name;
  std::string namespace_name;  // empty for cluster-scoped kinds
  std::string uid;
  std::string resource_version;  // a number that grows with each write (state/object_store.h)
  std::int64_t generation = 0;
  std::int64_t created_ms = 0;             // 0: not created yet
  std::optional<std::int64_t> deleted_ms;  // set while it is being deleted
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::vector<OwnerReference> owners;
  std::vector<std::string> finalizers;
  bool operator==(const ObjectMeta&) const = default;

  // The owner that manages this object, or null.
  const OwnerReference* controller() const;
};

inline NamespacedName KeyOf(const ObjectMeta& metadata) {
  return {metadata.namespace_name, metadata.name};
}

// The value of a label or annotation, or nullopt. It is valid as long as `map` is not changed.
std::optional<std::string_view> Find(const std::map<std::string, std::string>& map,
                                     const char* key);

enum class Namespaced { kYes, kNo };

// Of a file everything is kept; a process keeps of an object what it reads.
enum class Keep { kAll, kRead };

// What is kept of the metadata of objects that anybody writes, so that nobody chooses what a
// process holds for them:
//   annotations  the listed ones alone, cut where they are longer than listed, which is an error,
//                too
//   labels       the needed ones, and of the others the first by key that other_label_bytes hold,
//                each with its text and 128 bytes; that some are left out is an error, unless all
//                are
//   owners       the controller, and the first 8 of the others
//   finalizers   all of 64; more are an error, and none of them is kept
struct KeptMetadata {
  // Bytes of the annotation's value; 0: it is not read by us.
  std::size_t (*annotation_bytes)(std::string_view key);
  bool (*needs_label)(std::string_view key);
  // 0: no other label is read by us.
  std::size_t other_label_bytes = 0;
};

// Reads `metadata`; a namespaced object without a namespace is in "default". The name is required.
// Fields we do not use are always fine here: the API server writes many. Without `kept` all is
// kept.
ObjectMeta ReadMetadata(FieldReader& object, Namespaced namespaced,
                        const KeptMetadata* kept = nullptr);
nlohmann::json EncodeMetadata(const ObjectMeta& metadata);

// Reads apiVersion and kind of a whole object. Others than these are errors; one that is left out
// is not.
void ReadTypeMeta(FieldReader& object, std::string_view api_version, std::string_view kind);

}  // namespace yardmaster::api
