// Names that several parts share and other programs rely on: do not rename them. A name of one
// resource or codec alone is in its header; docs/annotations.md has all. Thread safety: constants.
#pragma once

namespace yardmaster::api {

inline constexpr char kGroup[] = "yardmaster.dev";
inline constexpr char kGroupVersion[] = "yardmaster.dev/v1alpha1";

inline constexpr char kGpuResource[] = "nvidia.com/gpu";
// Of resources that Kubernetes counts by the devices of a DeviceClass: "<prefix><class>".
inline constexpr char kDeviceClassPrefix[] = "deviceclass.resource.kubernetes.io/";
// Pod annotation, written by people: the extended resource that is the pod's GPU, where it is none
// of those that are known (pod_requests.h).
inline constexpr char kGpuResourceAnnotation[] = "yardmaster.dev/gpu-resource";
inline constexpr char kGpuModelLabel[] = "nvidia.com/gpu.product";

// Labels of Nodes that others set.
inline constexpr char kInstanceTypeLabel[] = "node.kubernetes.io/instance-type";
inline constexpr char kZoneLabel[] = "topology.kubernetes.io/zone";
inline constexpr char kKarpenterCapacityTypeLabel[] = "karpenter.sh/capacity-type";

// Scheduling gate behind which gang pods are created.
inline constexpr char kPlacementGate[] = "yardmaster.dev/placement";

// Node labels that name a host's place unless the Fabric says otherwise, and the mark of a backup
// host (label value "true", taint with the same key, effect NoSchedule).
inline constexpr char kFabricPodLabel[] = "yardmaster.dev/fabric-pod";
inline constexpr char kSegmentLabel[] = "yardmaster.dev/segment";
inline constexpr char kBackupKey[] = "yardmaster.dev/backup";
// Value of the backup taint that the extender writes where the Fabric's policy chooses the hosts;
// such a taint does not mark a backup host, it follows the choice.
inline constexpr char kChosenBackupValue[] = "chosen";
// Taint (effect NoSchedule) of a host all of whose GPUs are promised to gangs; the value names the
// gang, or is "several". Written and removed by the extender.
inline constexpr char kPromisedKey[] = "yardmaster.dev/promised";
// Taint (effect NoSchedule) of a host on which workers failed repeatedly, and the Node annotation
// with those failures (host_record.h). Written and removed by the operator.
inline constexpr char kQuarantinedKey[] = "yardmaster.dev/quarantined";
inline constexpr char kHostRecordAnnotation[] = "yardmaster.dev/host-failures";
// Taint (effect NoSchedule) of Nodes that are rented for jobs: the uid of the job, on Nodes of the
// operator's NodeClaims, or kRentedByAny, on those of a node group.
inline constexpr char kRentedKey[] = "yardmaster.dev/rented";
inline constexpr char kRentedByAny[] = "pool";
// Label of the operator's NodeClaims and their Nodes, the uid of the job, and the annotation with
// its
// "namespace/name": an object without a namespace cannot be owned by one with a namespace.
inline constexpr char kRentalLabel[] = "yardmaster.dev/rental";
inline constexpr char kRentalJobAnnotation[] = "yardmaster.dev/rental-job";
// Kubernetes' taint of a Node that is known to be down (effect NoExecute), and the value by which
// the operator knows its own.
inline constexpr char kOutOfServiceKey[] = "node.kubernetes.io/out-of-service";
inline constexpr char kOutOfServiceValue[] = "yardmaster";
// Node annotation: address of every rail's NIC, all IPv4 or all IPv6, comma separated, rail 0
// first.
inline constexpr char kNicAddressesAnnotation[] = "yardmaster.dev/nic-addresses";
// Node annotation, written by the agent: NIC ports that are down, "r0p1,r3p0"; absent or empty:
// none.
inline constexpr char kDownPortsAnnotation[] = "yardmaster.dev/down-ports";
// Node annotation, written by the agent: NIC ports that are up and on which frames arrive damaged,
// with frames of a million, "r0p1=20000"; absent or empty: none.
inline constexpr char kLossyPortsAnnotation[] = "yardmaster.dev/lossy-ports";

// Node annotations with what is seen of the network from a host, relayed by the agent: JSON
// documents as docs/paths.md has them. Both may stand on a Fabric, too.
inline constexpr char kNeighboursAnnotation[] = "yardmaster.dev/neighbours";
inline constexpr char kObservedPathsAnnotation[] = "yardmaster.dev/observed-paths";
// Node annotation: how the host's NICs choose paths by themselves ("adaptive-routing",
// "spectrum-x", ...); absent, empty or "none": they do not.
inline constexpr char kNicLoadBalancingAnnotation[] = "yardmaster.dev/nic-load-balancing";
// Fabric annotation, written by people: "true" on the one of several that is used.
inline constexpr char kInUseAnnotation[] = "yardmaster.dev/in-use";
// Fabric annotation, written by people or telemetry: links and switches that are down, JSON.
inline constexpr char kDownLinksAnnotation[] = "yardmaster.dev/down-links";

// Pod labels of pods that the operator makes: the TrainingJob's name and the worker's rank.
inline constexpr char kJobLabel[] = "yardmaster.dev/job";
inline constexpr char kRankLabel[] = "yardmaster.dev/rank";

// Pod annotations.
inline constexpr char kMixedGpuModelsAnnotation[] = "yardmaster.dev/mixed-gpu-models";
inline constexpr char kParallelismAnnotation[] = "yardmaster.dev/parallelism";  // written by people
// Pods of a gang that no controller made; with the labels job and rank it makes them one.
inline constexpr char kGangSizeAnnotation[] = "yardmaster.dev/gang-size";  // written by people
// How long the pod's gang waits behind the gate, what happens then ("Release" or "Fail"), and how
// soon it runs in full once it is placed; written by people.
inline constexpr char kGateTimeoutAnnotation[] = "yardmaster.dev/gate-timeout-seconds";
inline constexpr char kGateTimeoutActionAnnotation[] = "yardmaster.dev/gate-timeout-action";
inline constexpr char kReadyTimeoutAnnotation[] = "yardmaster.dev/ready-timeout-seconds";
inline constexpr char kSlotAnnotation[] = "yardmaster.dev/slot";                  // by the extender
inline constexpr char kPriorityAnnotation[] = "yardmaster.dev/network-priority";  // by the operator
inline constexpr char kPathPlanAnnotation[] = "yardmaster.dev/path-plan";         // by the operator
// NCCL's configuration in its own VAR=VALUE lines, for a downward-API volume; by the operator.
inline constexpr char kNcclConfAnnotation[] = "yardmaster.dev/nccl-conf";
// Variables of the pod's containers that our files would set and that stay as they are, comma
// separated; by the operator.
inline constexpr char kKeptEnvironmentAnnotation[] = "yardmaster.dev/kept-environment";

// On a pod that was released without a place, with the reason. It is an ordinary pod afterwards.
inline constexpr char kReleasedAnnotation[] = "yardmaster.dev/released";

// By the operator, on the pods that it makes: the attempt of the job that the pod belongs to.
inline constexpr char kAttemptAnnotation[] = "yardmaster.dev/attempt";
// How often the pod's first container had ended with an error when the pod joined that attempt, and
// the attempt for which its containers are asked to restart in place.
inline constexpr char kAttemptEndsAnnotation[] = "yardmaster.dev/attempt-ends";
inline constexpr char kRestartGenerationAnnotation[] = "yardmaster.dev/restart-generation";
// By the operator: the job is about to be stopped and asks for a checkpoint; the time of the
// request.
inline constexpr char kCheckpointRequestAnnotation[] = "yardmaster.dev/checkpoint-request";
// By the job, on any of its pods: its last complete checkpoint (checkpoint_mark.h).
inline constexpr char kCheckpointAnnotation[] = "yardmaster.dev/checkpoint";
// By the operator, on the pods that it makes: hosts that the pod's rank is not to be placed on, by
// name, comma separated.
inline constexpr char kAvoidHostsAnnotation[] = "yardmaster.dev/avoid-hosts";

inline constexpr char kProfileAnnotation[] = "yardmaster.dev/profile";    // by the agent
inline constexpr char kProgressAnnotation[] = "yardmaster.dev/progress";  // by the agent

}  // namespace yardmaster::api
