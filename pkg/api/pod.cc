#include "pkg/api/pod.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/pod_requests.h"

namespace yardmaster::api {

bool Pod::gated() const {
  return std::find(scheduling_gates.begin(), scheduling_gates.end(), kPlacementGate) !=
         scheduling_gates.end();
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
  FieldReader status = in.Object("status");
  pod.requests = ReadPodRequests(spec, status, pod.metadata);
  pod.gpu_resource = GpuResourceOf(pod.metadata, pod.requests);
  pod.constraints = ReadPodConstraints(spec);
  pod.priority = spec.Int("priority", 0, INT32_MIN, INT32_MAX);
  pod.may_preempt = spec.String("preemptionPolicy") != "Never";
  pod.scheduler_name = spec.String("schedulerName");
  pod.phase = status.String("phase");
  if (!errors.empty()) return errors.status();
  return pod;
}

}  // namespace yardmaster::api
