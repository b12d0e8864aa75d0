// The operator's write of a Gang. Thread safety: as the client and the cache.
#pragma once

#include <optional>

#include "absl/status/statusor.h"

#include "pkg/api/gang.h"
#include "pkg/kube/client.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

// Creates the Gang if it has no resourceVersion, else replaces that version, and adds the answer to
// the cache. The value: the Gang as stored; nullopt: the API server has another version or none.
// Errors: as Client::Create and Client::Replace.
absl::StatusOr<std::optional<api::Gang>> WriteGang(kube::Client& client, state::ClusterCache& cache,
                                                   const api::Gang& gang);

}  // namespace yardmaster::op
