// The whole world of a cluster, read once: what the online verbs look at.
//
// Objects that cannot be decoded are named in World::problems and left out. Thread safety: as the
// client.
#pragma once

#include "absl/status/statusor.h"

#include "pkg/kube/client.h"
#include "pkg/state/world.h"

namespace yardmaster::cli {

// Errors: the client's; NotFound says that the CRDs are not installed.
absl::StatusOr<state::World> ReadCluster(kube::Client& client);

}  // namespace yardmaster::cli
