// Pods of kinds whose controllers do not number them: those of RayClusters. KubeRay writes indexes
// of replicas and their hosts in some versions, and none across worker groups. The extender gives
// each such pod its rank, as the label yardmaster.dev/rank (extender/steps/number_step.h), and from
// then on rank_resolver.h reads it like that of any other kind.
//
// Thread safety: pure functions.
#pragma once

#include <optional>

#include "absl/status/statusor.h"

#include "pkg/api/pod.h"
#include "pkg/api/rank_resolver.h"

namespace yardmaster::api {

// The membership of a pod that has no number yet; its index means nothing. nullopt: it has one, or
// is of another kind. Errors: those of ResolveMembership.
absl::StatusOr<std::optional<Membership>> ResolveUnnumbered(const Pod& pod);

// The order in which pods of one gang get their numbers: the head, then worker groups by name, in
// each the replicas and their hosts as far as KubeRay numbers them, then by name of the pod.
bool NumberedBefore(const Pod& a, const Pod& b);

}  // namespace yardmaster::api
