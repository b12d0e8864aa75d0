// Names of what the API server stores: resource types, one object or collection of a type, and the
// URL paths they live at. Plain values; nothing here talks to a server.
// Thread safety: values and pure functions.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace yardmaster::kube {

// A resource type, e.g. {"apps", "v1", "deployments", "Deployment", true}. `group` is empty for the
// core group.
struct Resource {
  std::string group;
  std::string version;
  std::string plural;
  std::string kind;
  bool namespaced = true;

  // "v1", "coordination.k8s.io/v1".
  std::string ApiVersion() const;
  // "pods", "gangs.yardmaster.dev": how messages and metrics name the type.
  std::string GroupResource() const;
  friend bool operator==(const Resource&, const Resource&) = default;
};

Resource Pods();
Resource Nodes();
Resource Services();
// events.k8s.io/v1, not the older core/v1 ones.
Resource Events();
Resource Leases();
Resource PodDisruptionBudgets();
Resource Fabrics();
Resource TrainingJobs();
Resource Gangs();
Resource CapacityPools();
Resource Namespaces();
Resource PodTemplates();
// Of Cluster Autoscaler and of Karpenter: a cluster may lack either.
Resource ProvisioningRequests();
Resource NodeClaims();
// Of NVIDIA's DRA driver for GPUs, which a cluster may lack.
Resource ComputeDomains();

// Devices by claims, in the newest version: a cluster may have another one, or none.
Resource ResourceSlices();
Resource DeviceClasses();
Resource ResourceClaims();
Resource ResourceClaimTemplates();

// One object (`name` set) or a collection (`name` empty) of a type. For a namespaced type an empty
// `ns` means all namespaces, which only List and Watch understand.
// `subresource`: "status", "scale", "binding", "eviction", "token", or empty.
struct Target {
  Resource resource;
  std::string ns = {};
  std::string name = {};
  std::string subresource = {};
};

// "/api/v1/namespaces/default/pods" (the collection `target` is in; its name is ignored).
// Error: InvalidArgument for a namespace on a cluster-scoped type or one that is not a path
// segment.
absl::StatusOr<std::string> CollectionPath(const Target& target);
// "/api/v1/namespaces/default/pods/p0/status".
// Error: InvalidArgument if the name, or the namespace of a namespaced type, is missing or is not a
// path segment.
absl::StatusOr<std::string> ObjectPath(const Target& target);

// For messages: "pods default/p0", "nodes n1", "gangs.yardmaster.dev", "pods default/p0 (status)".
std::string Describe(const Target& target);

// RFC 3986 percent encoding of everything but unreserved characters.
std::string PercentEncode(std::string_view text);

}  // namespace yardmaster::kube
