// The slice of policy/v1 PodDisruptionBudget that says how many of a set of pods may be evicted
// now.
//
// Only the API server enforces budgets (at the eviction of each pod); this is for deciding
// beforehand whether all pods of a gang may go, because half a gang is worth nothing. Thread
// safety: values and pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "pkg/api/metadata.h"
#include "pkg/api/metadata_selector.h"

namespace yardmaster::api {

struct DisruptionBudget {
  ObjectMeta metadata;
  std::optional<MetadataSelector> selector;  // without one it covers no pod
  std::int64_t disruptions_allowed = 0;      // 0 while the status describes an older spec

  bool Covers(const std::string& namespace_name,
              const std::map<std::string, std::string>& labels) const;
};

// Other fields are ignored, labels and annotations of the budget included. Errors: InvalidArgument
// naming each wrong field; a selector of more than 1,024 values is one.
absl::StatusOr<DisruptionBudget> DecodeDisruptionBudget(JsonView object);

}  // namespace yardmaster::api
