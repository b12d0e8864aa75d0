// One cluster plans on one Fabric. Of several the oldest is in use, so that a new one takes nothing
// over. To switch is an edit: the annotation yardmaster.dev/in-use=true on the new one, or the end
// of the old one. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <limits>
#include <tuple>

#include "pkg/api/metadata.h"
#include "pkg/api/names.h"

namespace yardmaster::api {

// Whether the Fabric of `a` is in use rather than that of `b`: first those with the annotation,
// then the older one, then by name.
inline bool IsUsedBefore(const ObjectMeta& a, const ObjectMeta& b) {
  const auto rank = [](const ObjectMeta& meta) {
    const bool is_meant = Find(meta.annotations, kInUseAnnotation) == "true";
    // What is yet to be created is the youngest.
    const std::int64_t created_ms =
        meta.created_ms == 0 ? std::numeric_limits<std::int64_t>::max() : meta.created_ms;
    return std::tuple(!is_meant, created_ms, meta.name);
  };
  return rank(a) < rank(b);
}

}  // namespace yardmaster::api
