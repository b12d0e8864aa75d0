// Renders a Fabric and its Nodes as Kubernetes manifests, for `fabric render`.
//
// Nodes are named by their place, padded so that names sort like places: p00s03h017 is host 17 of
// segment 3 of fabric pod 0. The last hosts of a segment are the backup hosts.
//
// Thread safety: pure functions.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/fabric.h"

namespace yardmaster::cli {

struct RenderSize {
  std::optional<int> fabric_pods;
  std::optional<int> segments;  // per fabric pod
  std::optional<int> hosts;     // per segment, including backup hosts
  std::optional<int> backup_hosts;
  std::optional<int> domains = {};  // per segment, instead of hosts
};

// Returns the fabric in this size. If there are fewer hosts than the Fabric describes and no number
// of backup hosts is given, their share stays the same. Errors: InvalidArgument if its ports do not
// allow the size.
absl::StatusOr<api::Fabric> Resize(api::Fabric fabric, const RenderSize& size);

// Returns the Fabric, then its Nodes by place. REQUIRES: a valid Fabric.
absl::StatusOr<std::vector<nlohmann::json>> RenderFabric(const api::Fabric& fabric);

}  // namespace yardmaster::cli
