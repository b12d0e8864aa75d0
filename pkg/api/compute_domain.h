// ComputeDomains of NVIDIA's DRA driver for GPUs, as far as gangs meet them: the pods of one reach
// each other's GPUs over NVLink. Every pod of one has a claim to a channel, and a host has one
// channel: two such pods, of one job or of two, never share a host. A channel is no GPU.
//
// Thread safety: constants.
#pragma once

namespace yardmaster::api {

// The claim that the operator gives workers of a TrainingJob with spec.computeDomain, among
// spec.resourceClaims of the pod.
inline constexpr char kComputeDomainClaim[] = "yardmaster-compute-domain";
// What a pod with a channel asks of its host (pod_requests.h): one such pod a host.
inline constexpr char kChannelOfHost[] = "yardmaster.dev/one-per-host-compute-domain";
// Classes of the driver's devices: a channel, and what its own daemons claim.
inline constexpr char kChannelClass[] = "compute-domain-default-channel.nvidia.com";
inline constexpr char kChannelDaemonClass[] = "compute-domain-daemon.nvidia.com";

}  // namespace yardmaster::api
