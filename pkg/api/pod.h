// The slice of core/v1 Pod that gangs, occupation and ranks need. Thread safety: values and pure
// functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/metadata.h"
#include "pkg/api/names.h"
#include "pkg/api/node_constraints.h"
#include "pkg/workload/resources.h"

namespace yardmaster::api {

struct ContainerExit {
  std::string container;
  int exit_code = 0;
  std::int64_t finished_ms = 0;  // 0: not reported
};

// Which lists and objects of a pod are there: what a JSON patch has to make before it adds to them.
struct PodShape {
  bool annotations = false;
  bool tolerations = false;
  bool affinity = false;
  bool node_affinity = false;
  bool required_node_affinity = false;
  bool operator==(const PodShape&) const = default;
};

// One of spec.resourceClaims.
struct ClaimOfPod {
  std::string name;            // in the pod
  std::string claim;           // the ResourceClaim: named, or made for the pod; empty: not made yet
  std::string claim_template;  // the ResourceClaimTemplate that it is made from; empty: it is named
  bool operator==(const ClaimOfPod&) const = default;
};

// True of a pod that was ended from outside: evicted, preempted, or deleted with its node.
inline constexpr char kDisruptionTarget[] = "DisruptionTarget";
// Whether a condition of that type is among Pod::final_conditions.
bool HasCondition(const std::vector<std::string>& final_conditions, std::string_view type);

struct Pod {
  // What every state of every pod is asked for stands together.
  ObjectMeta metadata;
  std::string node_name;  // empty: not bound
  std::string phase;      // "Pending", "Running", "Succeeded", "Failed" or empty
  std::vector<std::string> scheduling_gates;
  // What the scheduler counts for it, with its place among the node's pods, host ports and hosts
  // that it shares with no pod of its kind (pod_requests.h).
  workload::ResourceList requests;
  std::string gpu_resource = kGpuResource;  // what of `requests` is its GPUs
  bool requests_unreadable = false;  // `requests` has kUnreadableGpus of gpu_resource instead
  // spec.resourceClaims, without which no container has any; the first 32.
  std::vector<ClaimOfPod> claims;
  // The ResourceClaim that kube-scheduler made for extended resources of the pod; or empty.
  std::string extended_claim;
  // Why what a claim asks for is not among `requests` (state/device_overlay.h); empty: it is.
  std::string claims_problem;
  // One line for each field that could not be read; such a field has its default.
  std::vector<std::string> problems;

  NodeConstraints constraints;
  // PersistentVolumeClaims of its volumes, by name, those made for it alone included; the first 32.
  std::vector<std::string> volume_claims;
  PodShape shape;
  int priority = 0;
  bool may_preempt = true;  // preemptionPolicy is not Never
  std::string pod_group;    // the core PodGroup it belongs to, where the API has it; or empty
  // kube-scheduler found no node for it: condition PodScheduled is False with reason Unschedulable.
  bool unschedulable = false;
  std::string unschedulable_message;
  // Of pods that have finished: how their containers ended, and the types of the pod's conditions
  // that are True. Of others: how the first container ended last, if not with 0.
  std::vector<ContainerExit> exits;
  std::vector<std::string> final_conditions;
  // The first container of the spec: the kubelet's restartCount, plus one while it has ended with
  // an error and is not restarted yet (not counted in a finished pod), and whether it runs. Without
  // a report it is treated as running.
  int container_ends = 0;
  bool container_running = true;
  // When a node was chosen for it, and when its first container began last; 0: not yet, or not
  // reported.
  std::int64_t scheduled_ms = 0;
  std::int64_t started_ms = 0;
  // A termination message that begins with "{": of a finished pod, the first one among its
  // containers; of others, that of the first container's last end. Else empty.
  std::string end_message;

  std::int64_t gpus() const { return workload::AmountOf(requests, gpu_resource); }
  // Succeeded or Failed: holds no GPU any more.
  bool finished() const { return phase == "Succeeded" || phase == "Failed"; }
  bool gated() const;  // behind our own gate
  // Behind a gate of others: they have not finished with the pod.
  bool gated_by_others() const;
  // Its GPUs, if it has any, come by resource claims that are not counted.
  bool claims_gpus() const { return !claims.empty() && gpus() == 0; }
  // The node that the pod's nodeSelector names by kubernetes.io/hostname, or empty.
  std::string selected_host() const;
};

// More than a host has: a pod that asks for it leaves no room beside it.
inline constexpr std::int64_t kUnreadableGpus = 1024;

// GPUs that are counted by `resource` and that the pod asks for: kUnreadableGpus where its requests
// could not be read, because they may be of any resource.
std::int64_t GpusOf(const Pod& pod, std::string_view resource);

// The claims of a pod's spec as a template has it: none of them is made yet.
std::vector<ClaimOfPod> ClaimsOfTemplate(JsonView pod_spec);

// Other fields are ignored. Errors: InvalidArgument naming each wrong field; with kLenient only
// when the pod has no name. With kLenient a pod takes at most 128 KiB, whatever its writer put into
// it, besides the annotations of ours that our policy keeps from people; what is left out for it is
// one of `problems`, except annotations that no code reads.
absl::StatusOr<Pod> DecodePod(JsonView object, Decoding decoding = Decoding::kStrict);

}  // namespace yardmaster::api
