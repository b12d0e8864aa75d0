// CapacityPool: hosts of one kind that can be rented, what they cost and how to get them, as a
// Kubernetes object. People or an adapter keep the prices up to date. Thread safety: values and pure
// functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/capacity_status.h"
#include "pkg/api/metadata.h"
#include "pkg/api/node_constraints.h"
#include "pkg/capacity/money.h"
#include "pkg/workload/resources.h"

namespace yardmaster::api {

inline constexpr char kCapacityPoolKind[] = "CapacityPool";

// The hosts of a pool under one contract.
struct CapacityOffer {
  CapacityType type = CapacityType::kOnDemand;
  capacity::Money price_per_hour;     // of one host
  int max_hosts = 0;                  // that can be had, those in use included
  double interruptions_per_hour = 0;  // of one host, expected
  int notice_seconds = 0;             // between the announcement and the end of a host
  // Labels that its Nodes carry besides those of the pool. Offers of a pool that is scaled by a
  // ProvisioningRequest must differ in them.
  std::map<std::string, std::string> node_labels = {};
  bool operator==(const CapacityOffer&) const = default;
};

// Karpenter's nodeClassRef: what its provider needs to know of a host.
struct NodeClassReference {
  std::string group;
  std::string kind;
  std::string name;
  bool operator==(const NodeClassReference&) const = default;
};

// How hosts come into being: by a ProvisioningRequest of a class, or by a NodeClaim each. With
// neither they are there already, and none is rented.
struct CapacityScaling {
  std::string provisioning_class;                      // of a ProvisioningRequest; empty: none
  std::map<std::string, std::string> parameters = {};  // handed on to it
  std::optional<NodeClassReference> node_class = {};   // of NodeClaims
  int timeout_seconds = 900;  // after that a request that is not fulfilled is given up
  bool operator==(const CapacityScaling&) const = default;

  ScalingKind kind() const {
    if (node_class) return ScalingKind::kNodeClaims;
    return provisioning_class.empty() ? ScalingKind::kNone : ScalingKind::kProvisioningRequest;
  }
};

struct CapacityPool {
  ObjectMeta metadata;
  std::string instance_type;
  workload::ResourceList allocatable;  // of one host
  std::string zone;
  std::string fabric_pod;  // where its hosts stand; empty: unknown
  std::string segment;
  std::map<std::string, std::string> node_labels;  // that its Nodes carry, all of them
  std::vector<CapacityOffer> offers;               // one per capacity type
  CapacityScaling scaling;
};

// Errors: InvalidArgument, one line per wrong field.
absl::StatusOr<CapacityPool> DecodeCapacityPool(JsonView object,
                                                UnknownFields unknown = UnknownFields::kReject);
nlohmann::json EncodeCapacityPool(const CapacityPool& pool);

// The labels by which Nodes of an offer are known: instance type, zone, place in the fabric, the
// pool's and the offer's own. Karpenter's capacity type where it makes them.
std::map<std::string, std::string> NodeLabelsOf(const CapacityPool& pool,
                                                const CapacityOffer& offer);

// How many workers with these requests one host of the pool carries, at most 1024; 0: not even one. A
// pool that does not list `pods` does not limit them.
int WorkersPerHost(const CapacityPool& pool, const workload::ResourceList& requests);

}  // namespace yardmaster::api
