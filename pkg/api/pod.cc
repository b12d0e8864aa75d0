#include "pkg/api/pod.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/compute_domain.h"
#include "pkg/api/kept_metadata.h"
#include "pkg/api/names.h"
#include "pkg/api/pod_requests.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

constexpr std::size_t kMaxGates = 64;
constexpr std::size_t kMaxExits = 64;
constexpr std::size_t kMaxProblems = 8;
constexpr std::size_t kMessageBytes = 4096;
constexpr std::size_t kMaxVolumeClaims = 32;
constexpr std::size_t kMaxName = 253;
constexpr std::size_t kMaxClaims = 32;

void ReadGates(FieldReader& spec, Pod& pod) {
  for (FieldReader& gate : spec.Objects("schedulingGates")) {
    if (pod.scheduling_gates.size() < kMaxGates) {
      pod.scheduling_gates.push_back(gate.RequiredString("name"));
      continue;
    }
    spec.errors().Add(spec.PathOf("schedulingGates"), StrCat("has more than ", kMaxGates),
                      "use fewer; only the first are looked at");
    return;
  }
}

// A claim that is made for the pod has the pod's name and the volume's.
void ReadVolumes(FieldReader& spec, Pod& pod) {
  for (FieldReader& volume : spec.Objects("volumes")) {
    if (pod.volume_claims.size() == kMaxVolumeClaims) return;
    std::string name = volume.OpenObject("persistentVolumeClaim").String("claimName");
    if (volume.OpenObject("ephemeral").present()) {
      name = StrCat(pod.metadata.name, "-", volume.String("name"));
    }
    if (!name.empty() && name.size() <= kMaxName) pod.volume_claims.push_back(std::move(name));
  }
}

std::vector<ClaimOfPod> ReadClaims(FieldReader& spec) {
  std::vector<ClaimOfPod> out;
  for (FieldReader& claim : spec.Objects("resourceClaims")) {
    if (out.size() == kMaxClaims) break;
    const auto text = [&claim](const char* key) {
      return std::string(CutAtCharacter(claim.String(key), kMaxName));
    };
    out.push_back({text("name"), text("resourceClaimName"), text("resourceClaimTemplateName")});
  }
  return out;
}

// The claims that were made for the pod.
void ReadMadeClaims(FieldReader& status, Pod& pod) {
  pod.extended_claim = CutAtCharacter(
      status.OpenObject("extendedResourceClaimStatus").String("resourceClaimName"), kMaxName);
  if (pod.claims.empty()) return;
  for (FieldReader& made : status.Objects("resourceClaimStatuses")) {
    const std::string name = made.String("name");
    const auto claim = std::find_if(pod.claims.begin(), pod.claims.end(),
                                    [&](const ClaimOfPod& c) { return c.name == name; });
    if (claim == pod.claims.end() || claim->claim_template.empty()) continue;
    claim->claim = CutAtCharacter(made.String("resourceClaimName"), kMaxName);
  }
}

void ReadScheduled(FieldReader& status, Pod& pod) {
  for (FieldReader& condition : status.Objects("conditions")) {
    if (condition.String("type") != "PodScheduled") continue;
    const std::string holds = condition.String("status");
    if (holds == "True") pod.scheduled_ms = condition.TimeMs("lastTransitionTime");
    if (holds != "False" || condition.String("reason") != "Unschedulable") continue;
    pod.unschedulable = true;
    pod.unschedulable_message = CutAtCharacter(condition.String("message"), kMessageBytes);
  }
}

// What the container wrote into its terminationMessagePath; a log is not kept.
void ReadMessage(FieldReader& terminated, Pod& pod) {
  std::string message = terminated.String("message");
  if (message.starts_with("{")) pod.end_message = CutAtCharacter(message, kMessageBytes);
}

std::string FirstContainer(FieldReader& spec) {
  for (FieldReader& container : spec.Objects("containers")) return container.String("name");
  return "";
}

void ReadEnd(FieldReader& spec, FieldReader& status, Pod& pod) {
  const std::string first = FirstContainer(spec);
  for (FieldReader& container : status.Objects("containerStatuses")) {
    FieldReader state = container.Object("state");
    FieldReader terminated = state.Object("terminated");
    if (container.String("name") == first) {
      pod.container_ends = container.Int("restartCount", 0, 0, INT32_MAX - 1);
      pod.started_ms = terminated.TimeMs("startedAt");
    }
    if (!terminated.present() || pod.exits.size() >= kMaxExits) continue;
    pod.exits.push_back({container.String("name"),
                         terminated.Int("exitCode", 0, INT32_MIN, INT32_MAX),
                         terminated.TimeMs("finishedAt")});
    if (pod.end_message.empty()) ReadMessage(terminated, pod);
  }
  for (FieldReader& condition : status.Objects("conditions")) {
    if (condition.String("status") == "True" && pod.final_conditions.size() < kMaxExits) {
      pod.final_conditions.push_back(condition.String("type"));
    }
  }
}

// A container of an unfinished pod that has ended is started again by its kubelet, which counts
// that only then.
void ReadRestarts(FieldReader& spec, FieldReader& status, Pod& pod) {
  const std::string first = FirstContainer(spec);
  for (FieldReader& container : status.Objects("containerStatuses")) {
    if (container.String("name") != first) continue;
    FieldReader state = container.Object("state");
    FieldReader last = container.Object("lastState");
    FieldReader now_ended = state.Object("terminated");
    FieldReader last_ended = last.Object("terminated");
    FieldReader waiting = state.Object("waiting");
    pod.container_running = !now_ended.present() && !waiting.present();
    pod.started_ms = state.Object("running").TimeMs("startedAt");
    pod.container_ends = container.Int("restartCount", 0, 0, INT32_MAX - 1);
    FieldReader& ended = now_ended.present() ? now_ended : last_ended;
    if (!ended.present()) return;
    ReadMessage(ended, pod);
    const int code = ended.Int("exitCode", 0, INT32_MIN, INT32_MAX);
    if (code != 0 && !pod.container_running) ++pod.container_ends;
    if (code != 0) pod.exits.push_back({first, code, ended.TimeMs("finishedAt")});
    return;
  }
}

}  // namespace

bool HasCondition(const std::vector<std::string>& final_conditions, std::string_view type) {
  return std::find(final_conditions.begin(), final_conditions.end(), type) !=
         final_conditions.end();
}

bool Pod::gated_by_others() const {
  return std::any_of(scheduling_gates.begin(), scheduling_gates.end(),
                     [](const std::string& gate) { return gate != kPlacementGate; });
}

std::string Pod::selected_host() const {
  const auto name = Find(constraints.node_selector, "kubernetes.io/hostname");
  return std::string(name.value_or(""));
}

bool Pod::gated() const {
  return std::find(scheduling_gates.begin(), scheduling_gates.end(), kPlacementGate) !=
         scheduling_gates.end();
}

std::int64_t GpusOf(const Pod& pod, std::string_view resource) {
  return pod.requests_unreadable ? kUnreadableGpus : workload::AmountOf(pod.requests, resource);
}

namespace {

PodShape ReadShape(FieldReader& pod, FieldReader& spec) {
  FieldReader affinity = spec.OpenObject("affinity");
  FieldReader node_affinity = affinity.OpenObject("nodeAffinity");
  return {pod.OpenObject("metadata").has("annotations"), spec.has("tolerations"),
          spec.has("affinity"), affinity.has("nodeAffinity"),
          node_affinity.has("requiredDuringSchedulingIgnoredDuringExecution")};
}

}  // namespace

std::vector<ClaimOfPod> ClaimsOfTemplate(JsonView pod_spec) {
  FieldErrors ignored;
  FieldReader spec(pod_spec, "", UnknownFields::kIgnore, &ignored);
  return ReadClaims(spec);
}

absl::StatusOr<Pod> DecodePod(JsonView object, Decoding decoding) {
  FieldErrors errors;
  FieldReader in(object, "", UnknownFields::kIgnore, &errors);
  Pod pod;
  pod.metadata = ReadMetadata(in, Namespaced::kYes,
                              decoding == Decoding::kLenient ? &KeptOfWorkloads() : nullptr);
  FieldReader spec = in.Object("spec");
  pod.node_name = spec.String("nodeName");
  ReadGates(spec, pod);
  FieldReader status = in.Object("status");
  bool readable = true;
  pod.requests = ReadPodRequests(spec, status, pod.metadata, &readable);
  pod.gpu_resource = GpuResourceOf(pod.metadata, pod.requests);
  if (!readable) {
    pod.requests_unreadable = true;
    workload::SetAmount(pod.requests, pod.gpu_resource, kUnreadableGpus);
  }
  pod.claims = ReadClaims(spec);
  ReadMadeClaims(status, pod);
  // Known before the driver has made the template of the claim.
  if (std::any_of(pod.claims.begin(), pod.claims.end(),
                  [](const ClaimOfPod& claim) { return claim.name == kComputeDomainClaim; })) {
    workload::SetAmount(pod.requests, kChannelOfHost, 1);
  }
  pod.constraints = ReadPodConstraints(spec);
  ReadVolumes(spec, pod);
  pod.shape = ReadShape(in, spec);
  pod.priority = spec.Int("priority", 0, INT32_MIN, INT32_MAX);
  pod.may_preempt = spec.String("preemptionPolicy") != "Never";
  pod.pod_group = spec.OpenObject("schedulingGroup").String("podGroupName");
  pod.phase = status.String("phase");
  ReadScheduled(status, pod);
  if (pod.finished()) {
    ReadEnd(spec, status, pod);
  } else {
    ReadRestarts(spec, status, pod);
  }
  if (errors.empty()) return pod;
  if (decoding == Decoding::kStrict || pod.metadata.name.empty()) return errors.status();
  pod.problems = errors.lines();
  if (pod.problems.size() > kMaxProblems) pod.problems.resize(kMaxProblems);
  return pod;
}

}  // namespace yardmaster::api
