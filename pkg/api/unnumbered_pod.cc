#include "pkg/api/unnumbered_pod.h"

#include <climits>
#include <string_view>
#include <tuple>

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

constexpr char kRayClusterName[] = "ray.io/cluster";
constexpr char kRayNodeType[] = "ray.io/node-type";
constexpr char kRayGroup[] = "ray.io/group";
constexpr char kRayReplicaIndex[] = "ray.io/worker-group-replica-index";
constexpr char kRayHostIndex[] = "ray.io/replica-host-index";

int IndexInLabel(const Pod& pod, const char* label) {
  const auto text = Find(pod.metadata.labels, label);
  return text ? ParseNumber<int>(*text).value_or(INT_MAX) : INT_MAX;
}

}  // namespace

absl::StatusOr<std::optional<Membership>> ResolveUnnumbered(const Pod& pod) {
  const auto& labels = pod.metadata.labels;
  if (!Find(labels, kRayClusterName) || Find(labels, kRankLabel))
    return std::optional<Membership>();
  // Its membership does not depend on the number.
  Pod numbered = pod;
  numbered.metadata.labels[kRankLabel] = "0";
  auto member = ResolveMembership(numbered);
  // Other labels may make it a pod of another kind.
  if (member.ok() && *member && (*member)->owner.kind != "RayCluster") member->reset();
  return member;
}

bool NumberedBefore(const Pod& a, const Pod& b) {
  const auto key = [](const Pod& pod) {
    const auto& labels = pod.metadata.labels;
    const bool is_head = Find(labels, kRayNodeType) == std::string_view("head");
    return std::tuple(!is_head, Find(labels, kRayGroup).value_or(""),
                      IndexInLabel(pod, kRayReplicaIndex), IndexInLabel(pod, kRayHostIndex),
                      std::string_view(pod.metadata.name));
  };
  return key(a) < key(b);
}

}  // namespace yardmaster::api
