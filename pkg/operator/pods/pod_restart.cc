#include "pkg/operator/pods/pod_restart.h"

#include <algorithm>
#include <string>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/operator/pods/json_list.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

constexpr char kVolume[] = "yardmaster-restart";
constexpr int kProbePeriodSeconds = 5;
constexpr int kProbeTimeoutSeconds = 10;
// Workers that wait for a lost rank do not answer SIGTERM: nothing is gained by a long wait.
constexpr int kEndSeconds = 10;

json ProbeOf(const json& pod_spec) {
  // A file that is older than the container's start is not a request.
  const std::string script = StrCat("[ \"$(cat ", kRestartFolder,
                                    "/generation)\" -le \"$YARDMASTER_RESTART_GENERATION\" ]");
  const int grace = pod_spec.value("terminationGracePeriodSeconds", kEndSeconds);
  return {{"exec", {{"command", {"sh", "-c", script}}}},
          {"periodSeconds", kProbePeriodSeconds},
          {"timeoutSeconds", kProbeTimeoutSeconds},
          {"failureThreshold", 1},
          {"terminationGracePeriodSeconds", std::clamp(grace, 1, kEndSeconds)}};
}

}  // namespace

void AddRestart(bool wanted, std::int64_t attempt, json& pod) {
  json& spec = pod["spec"];
  json& annotations = pod["metadata"]["annotations"];
  json& containers = spec["containers"];
  const bool can = wanted && containers.is_array() && !containers.empty() &&
                   spec.value("restartPolicy", "OnFailure") != "Never";
  const bool own_probe = can && containers[0].contains("livenessProbe");
  const bool told = annotations.contains(api::kRestartGenerationAnnotation);
  annotations.erase(api::kRestartGenerationAnnotation);
  annotations.erase(api::kAttemptEndsAnnotation);
  if (!can || (own_probe && !told)) {
    if (!spec.contains("restartPolicy")) spec["restartPolicy"] = "Never";
    return;
  }
  if (!spec.contains("restartPolicy")) spec["restartPolicy"] = "OnFailure";
  annotations[api::kRestartGenerationAnnotation] = StrCat(attempt);
  annotations[api::kAttemptEndsAnnotation] = "0";
  const json field = {
      {"fieldPath", StrCat("metadata.annotations['", api::kRestartGenerationAnnotation, "']")}};
  ListAt(spec, "volumes")
      .push_back({{"name", kVolume},
                  {"downwardAPI",
                   {{"items", json::array({{{"path", "generation"}, {"fieldRef", field}}})}}}});
  json& first = containers[0];
  ListAt(first, "volumeMounts")
      .push_back({{"name", kVolume}, {"mountPath", kRestartFolder}, {"readOnly", true}});
  json& env = ListAt(first, "env");
  env.push_back(
      {{"name", "YARDMASTER_RESTART_FILE"}, {"value", StrCat(kRestartFolder, "/generation")}});
  env.push_back({{"name", "YARDMASTER_RESTART_GENERATION"}, {"valueFrom", {{"fieldRef", field}}}});
  if (!own_probe) first["livenessProbe"] = ProbeOf(spec);
}

}  // namespace yardmaster::op
