// Reads core PodGroups (scheduling.k8s.io) among manifests. They state how many pods a gang has if
// its pods do not, as the extender reads them in a cluster. CompositePodGroups are not read: a
// PodGroup that belongs to one states no size.
//
// Thread safety: values and pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

#include "pkg/base/namespaced_name.h"
#include "pkg/gather/gather.h"
#include "pkg/json/json_view.h"

namespace yardmaster::cli {

struct PodGroup {
  NamespacedName key;
  std::optional<int> min_count;  // nullopt: it is not a gang
  std::string composite;         // its CompositePodGroup; empty: none
};
using PodGroups = std::map<NamespacedName, PodGroup>;

bool IsPodGroup(std::string_view api_version, std::string_view kind);
// Errors: InvalidArgument, with the field.
absl::StatusOr<PodGroup> DecodePodGroup(JsonView object);

// Returns the size that the PodGroups of the pods state: the sum of their minCount, or why it is
// not known.
gather::DeclaredSizes SizesOf(const PodGroups& groups, const gather::GatheredGang& pods);

}  // namespace yardmaster::cli
