#include "pkg/operator/pods/pod_restart.h"

#include <algorithm>
#include <string>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

using nlohmann::json;

constexpr char kVolume[] = "yardmaster-restart";
constexpr char kGeneration[] = "YARDMASTER_RESTART_GENERATION";
constexpr int kProbePeriodSeconds = 5;
constexpr int kProbeTimeoutSeconds = 10;
// Workers that wait for a lost rank do not answer SIGTERM: nothing is gained by a long wait.
constexpr int kEndSeconds = 10;

json ProbeOf(const api::PodManifest& pod) {
  // A file that is older than the container's start is not a request.
  const std::string script = StrCat("[ \"$(cat ", kRestartFolder,
                                    "/generation)\" -le \"$YARDMASTER_RESTART_GENERATION\" ]");
  const std::int64_t grace = pod.grace_seconds.value_or(kEndSeconds);
  return {{"exec", {{"command", {"sh", "-c", script}}}},
          {"periodSeconds", kProbePeriodSeconds},
          {"timeoutSeconds", kProbeTimeoutSeconds},
          {"failureThreshold", 1},
          {"terminationGracePeriodSeconds", std::clamp<std::int64_t>(grace, 1, kEndSeconds)}};
}

}  // namespace

void AddRestart(bool wanted, std::int64_t attempt, api::PodManifest& pod) {
  const bool can = wanted && !pod.containers.empty() && pod.restart_policy != "Never";
  const bool own_probe = can && pod.has_liveness_probe();
  const bool told = pod.annotations.count(api::kRestartGenerationAnnotation) != 0;
  pod.annotations.erase(api::kRestartGenerationAnnotation);
  pod.annotations.erase(api::kAttemptEndsAnnotation);
  const bool restarts = can && (!own_probe || told);
  if (pod.restart_policy.empty()) pod.restart_policy = restarts ? "OnFailure" : "Never";
  if (!restarts) return;
  pod.annotations[api::kRestartGenerationAnnotation] = StrCat(attempt);
  pod.annotations[api::kAttemptEndsAnnotation] = "0";
  const json field = {
      {"fieldPath", StrCat("metadata.annotations['", api::kRestartGenerationAnnotation, "']")}};
  pod.AddVolume(
      kVolume,
      {{"name", kVolume},
       {"downwardAPI", {{"items", json::array({{{"path", "generation"}, {"fieldRef", field}}})}}}});
  api::ContainerManifest& first = pod.containers.front();
  first.AddMount(kVolume, kRestartFolder, true);
  const std::string file = StrCat(kRestartFolder, "/generation");
  first.AddEnv("YARDMASTER_RESTART_FILE", file);
  if (!api::HasKey(first.env, kGeneration)) {
    first.env.push_back(
        {kGeneration, {{"name", kGeneration}, {"valueFrom", {{"fieldRef", field}}}}});
  }
  if (!own_probe) first.fields["livenessProbe"] = ProbeOf(pod);
}

}  // namespace yardmaster::op
