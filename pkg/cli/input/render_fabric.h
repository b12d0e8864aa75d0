// A Fabric and the Nodes of it as Kubernetes manifests: what `fabric render` writes. Pure.
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
  std::optional<int> segments;  // of each fabric pod
  std::optional<int> hosts;     // of each segment, with its backup hosts
  std::optional<int> backup_hosts;
  std::optional<int> domains = {};  // of each segment, instead of its hosts
};

// The fabric in that size. With fewer hosts than the Fabric describes and no word about backup
// hosts, their share stays what it was. Errors: InvalidArgument when its ports do not allow the
// size.
absl::StatusOr<api::Fabric> Resize(api::Fabric fabric, const RenderSize& size);

// The Fabric, then its Nodes by place. REQUIRES: a valid Fabric.
absl::StatusOr<std::vector<nlohmann::json>> RenderFabric(const api::Fabric& fabric);

}  // namespace yardmaster::cli
