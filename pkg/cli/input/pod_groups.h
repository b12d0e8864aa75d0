// Core PodGroups (scheduling.k8s.io) among manifests: they say how many pods a gang has whose pods
// do not say it themselves, as the extender reads them in a cluster. CompositePodGroups are not
// read: a PodGroup that belongs to one says no size.
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
  std::optional<int> min_count;  // nullopt: it is no gang
  std::string composite;         // the CompositePodGroup it belongs to, or empty
};
using PodGroups = std::map<NamespacedName, PodGroup>;

bool IsPodGroup(std::string_view api_version, std::string_view kind);
// Errors: InvalidArgument naming the field.
absl::StatusOr<PodGroup> DecodePodGroup(JsonView object);

// What the PodGroups say that the pods name: the sum of their minCount, or why it is not known.
gather::DeclaredSizes SizesOf(const PodGroups& groups, const gather::GatheredGang& pods);

}  // namespace yardmaster::cli
