// The slice of core/v1 Pod that gangs, occupation and ranks need. Thread safety: values and pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/metadata.h"
#include "pkg/api/node_constraints.h"

namespace yardmaster::api {

struct Pod {
  ObjectMeta metadata;
  std::string node_name;  // empty: not bound
  std::vector<std::string> scheduling_gates;
  std::int64_t gpus = 0;  // what the scheduler counts for it
  NodeConstraints constraints;
  std::string phase;  // "Pending", "Running", "Succeeded", "Failed" or empty
  int priority = 0;
  bool may_preempt = true;  // preemptionPolicy is not Never
  std::string scheduler_name;

  // Succeeded or Failed: holds no GPU any more.
  bool finished() const { return phase == "Succeeded" || phase == "Failed"; }
  bool gated() const;  // behind our own gate
};

// GPUs of a pod spec as the scheduler counts them: the larger of all containers (and sidecars)
// together and of the largest ordinary init container with the sidecars before it.
std::int64_t GpusOf(FieldReader& pod_spec);

// Other fields are ignored. Errors: InvalidArgument naming each wrong field.
absl::StatusOr<Pod> DecodePod(const nlohmann::json& object);

}  // namespace yardmaster::api
