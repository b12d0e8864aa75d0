#include "pkg/api/pod.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/quantity.h"

namespace yardmaster::api {

namespace {

// Extended resources have equal requests and limits; a request left out follows the limit.
std::int64_t ContainerGpus(FieldReader& container) {
  FieldReader resources = container.Object("resources");
  FieldReader requests = resources.Object("requests");
  FieldReader limits = resources.Object("limits");
  return ReadQuantity(requests.has(kGpuResource) ? requests : limits, kGpuResource);
}

}  // namespace

bool Pod::gated() const {
  return std::find(scheduling_gates.begin(), scheduling_gates.end(), kPlacementGate) !=
         scheduling_gates.end();
}

std::int64_t GpusOf(FieldReader& pod_spec) {
  std::int64_t running = 0;
  for (FieldReader& container : pod_spec.Objects("containers")) {
    running += ContainerGpus(container);
  }
  std::int64_t sidecars = 0;
  std::int64_t starting = 0;
  for (FieldReader& container : pod_spec.Objects("initContainers")) {
    const std::int64_t gpus = ContainerGpus(container);
    if (container.String("restartPolicy") == "Always") {
      sidecars += gpus;
    } else {
      starting = std::max(starting, sidecars + gpus);
    }
  }
  return std::max(running + sidecars, starting);
}

absl::StatusOr<Pod> DecodePod(const nlohmann::json& object) {
  FieldErrors errors;
  FieldReader in(&object, "", UnknownFields::kIgnore, &errors);
  Pod pod;
  pod.metadata = ReadMetadata(in, Namespaced::kYes);
  FieldReader spec = in.Object("spec");
  pod.node_name = spec.String("nodeName");
  for (FieldReader& gate : spec.Objects("schedulingGates")) {
    pod.scheduling_gates.push_back(gate.RequiredString("name"));
  }
  pod.gpus = GpusOf(spec);
  pod.constraints = ReadPodConstraints(spec);
  pod.priority = spec.Int("priority", 0, INT32_MIN, INT32_MAX);
  pod.may_preempt = spec.String("preemptionPolicy") != "Never";
  pod.scheduler_name = spec.String("schedulerName");
  pod.phase = in.Object("status").String("phase");
  if (!errors.empty()) return errors.status();
  return pod;
}

}  // namespace yardmaster::api
