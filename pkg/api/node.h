// The slice of core/v1 Node that placement needs. Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/metadata.h"
#include "pkg/api/names.h"
#include "pkg/workload/resources.h"

namespace yardmaster::api {

enum class TaintEffect { kNoSchedule, kPreferNoSchedule, kNoExecute };
inline constexpr std::string_view kTaintEffectNames[] = {"NoSchedule", "PreferNoSchedule",
                                                         "NoExecute"};

struct Taint {
  std::string key;
  std::string value;
  TaintEffect effect = TaintEffect::kNoSchedule;
  bool operator==(const Taint&) const = default;
};

struct Node {
  ObjectMeta metadata;
  bool unschedulable = false;  // cordoned
  std::vector<Taint> taints;
  // Whether the Ready condition is True; False and Unknown read as false. nullopt: the node has
  // none yet (the API server taints such nodes itself).
  std::optional<bool> ready;
  // Type and status of the conditions besides Ready and the kubelet's four about pressure and
  // network.
  std::vector<std::pair<std::string, std::string>> conditions;
  // Every resource that the node lists: allocatable, else capacity.
  workload::ResourceList allocatable;
  // Of that: devices that are not free and that no pod asks for here (state/device_overlay.h).
  workload::ResourceList claimed;
  std::string internal_ip;
  bool operator==(const Node&) const = default;

  std::int64_t gpus() const { return workload::AmountOf(allocatable, kGpuResource); }

  // Marked as backup: carries the label ("true") or a taint of that key that is not the extender's
  // own.
  bool backup() const;
};

// Other fields are ignored. Errors: InvalidArgument naming each wrong field.
absl::StatusOr<Node> DecodeNode(JsonView object, Keep keep = Keep::kAll);
// A Node that `kubectl apply` takes; its resources stand in capacity and allocatable.
nlohmann::json EncodeNode(const Node& node);

}  // namespace yardmaster::api
