// What a pod asks of its node, as kube-scheduler counts it.
//
// Containers are summed, sidecars with them; an ordinary init container counts with the sidecars
// before it, and the largest of all of these with the overhead on top is the pod. Requests of the
// whole pod (spec.resources) for cpu, memory and hugepages replace that sum. A request that is left
// out follows the limit. While a container is being resized the larger of both sizes counts.
//
// Three things that are not resources are counted like resources, so that one sum decides whether a
// pod fits:
//   pods                                     1 of the node's room for pods
//   yardmaster.dev/host-port-tcp-8080        all of the port, or one unit of it and
//   yardmaster.dev/host-port-tcp-8080-<ip>   all of this address' port, where hostIP is given
//   yardmaster.dev/one-per-host-<hash>       required anti-affinity by hostname that excludes the
//                                            pod's own kind: labels, namespace and term are hashed
//   yardmaster.dev/one-per-host-compute-domain  a channel of a ComputeDomain (compute_domain.h);
//                                            added by who knows the pod's claims
// Other pod affinity, topology spread and volumes are not counted. Of more than 64 names the last
// are not counted, which is an error; cpu, memory, pods and GPUs always are.
// A container that asks for one of the
// last three as an extended resource claims nothing: its name gets the prefix "requests.", and no
// host has it.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pkg/api/metadata.h"
#include "pkg/workload/resources.h"

namespace yardmaster::api {

// The resource of which every pod asks for one, as a Node says it.
inline constexpr std::string_view kPodsResource = "pods";

// `status` may be absent. Labels, annotations and namespace are taken from `metadata`. `readable`:
// whether every amount of a resource could be read.
workload::ResourceList ReadPodRequests(FieldReader& pod_spec, FieldReader& status,
                                       const ObjectMeta& metadata, bool* readable = nullptr);

// A host's amount of a name that stands for an exclusive claim; 0 for every real resource.
std::int64_t RoomForExclusive(std::string_view name);

// The extended resource that is the pod's GPU: the one that the annotation
// yardmaster.dev/gpu-resource names, if it is an extended one ("vendor.example/npu"); else
// nvidia.com/gpu where it asks for it; else the first of amd.com/gpu, gpu.intel.com/xe,
// gpu.intel.com/i915, habana.ai/gaudi, huawei.com/Ascend910, nvidia.com/mig-*, a DeviceClass whose
// name has "gpu" in it, that it asks for; else nvidia.com/gpu.
std::string GpuResourceOf(const ObjectMeta& metadata, const workload::ResourceList& requests);

}  // namespace yardmaster::api
