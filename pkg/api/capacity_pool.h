// CapacityPool: hosts of one kind that can be rented, what they cost and how to get them, as a
// Kubernetes object. People or an adapter keep the prices up to date. Thread safety: values and
// pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/capacity_status.h"
#include "pkg/api/field_visitor.h"
#include "pkg/api/metadata.h"
#include "pkg/api/metadata_selector.h"
#include "pkg/api/money_field.h"
#include "pkg/api/node_constraints.h"
#include "pkg/capacity/money.h"
#include "pkg/workload/resources.h"

namespace yardmaster::api {

inline constexpr char kCapacityPoolKind[] = "CapacityPool";

inline constexpr int kMaxPoolLabels = 64;

// The hosts of a pool under one contract.
struct CapacityOffer {
  CapacityType type = CapacityType::kOnDemand;
  capacity::Money price_per_hour;
  int max_hosts = 0;
  double interruptions_per_hour = 0;
  int notice_seconds = 0;
  // Besides those of the pool. Offers of a pool that is scaled by a ProvisioningRequest must differ
  // in them.
  std::map<std::string, std::string> node_labels = {};
  bool operator==(const CapacityOffer&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Enum("type", type, kCapacityTypeNames,
                Required("A capacity type.", "write OnDemand, Reserved or Spot"));
    MoneyField(fields, "pricePerHour", price_per_hour,
               Required("Price of one host for one hour: an amount and a currency, \"12.50 USD\".",
                        "write an amount and a currency, for example \"12.50 USD\""));
    fields.Int("maxHosts", max_hosts, 0, kMaxRentedHosts,
               Defaulted("Hosts that can be had, those in use included."));
    // 100 an hour is one interruption of a host every 36 seconds; a higher rate is a mistake.
    fields.Number("interruptionsPerHour", interruptions_per_hour, 0, 100,
                  Defaulted("Expected interruptions of one host in one hour."));
    fields.Int(
        "noticeSeconds", notice_seconds, 0, kMaxSeconds,
        Defaulted("Time between the announcement of an interruption and the end of the host."));
    fields.TextMap("nodeLabels", node_labels, kMaxPoolLabels, kLabelValue,
                   "Labels that only Nodes under this contract carry.");
  }
};

struct NodeClassReference {
  std::string group;
  std::string kind;
  std::string name;
  bool operator==(const NodeClassReference&) const = default;

  void Describe(FieldVisitor& fields) {
    fields.Text("group", group, kObjectName,
                Required("API group of the node class, for example karpenter.k8s.aws."));
    fields.Text("kind", kind, kLabelValue, Required("Its kind, for example EC2NodeClass."));
    fields.Text("name", name, kObjectName, Required("Its name."));
  }
};

struct CapacityScaling {
  std::string provisioning_class;  // empty: none
  std::map<std::string, std::string> parameters = {};
  std::optional<NodeClassReference> node_class = {};
  int timeout_seconds = 900;
  bool operator==(const CapacityScaling&) const = default;

  ScalingKind kind() const {
    if (node_class) return ScalingKind::kNodeClaims;
    return provisioning_class.empty() ? ScalingKind::kNone : ScalingKind::kProvisioningRequest;
  }

  void Describe(FieldVisitor& fields) {
    fields.Text("provisioningClassName", provisioning_class, kObjectName,
                "Class of the ProvisioningRequest that asks for them.");
    fields.TextMap("parameters", parameters, 32, TextRule{255},
                   "Parameters of the ProvisioningRequest.");
    fields.Object("nodeClassRef", node_class, "Karpenter's node class of the hosts.");
    fields.Int("timeoutSeconds", timeout_seconds, 1, kMaxSeconds,
               Defaulted("How long the hosts may take to appear, and the job to be placed on them, "
                         "before the next choice is tried."));
    fields.Rule(
        "!has(self.provisioningClassName) || !has(self.nodeClassRef)",
        "nodeClassRef stands beside provisioningClassName; keep the one by which the pool's "
        "hosts are made",
        ".nodeClassRef");
    fields.Rule("!has(self.parameters) || has(self.provisioningClassName)",
                "parameters has no provisioningClassName that takes them; name the class, or leave "
                "them out",
                ".parameters");
    fields.Check([this](FieldReader& in) { ReportContradictions(in); });
  }
  void ReportContradictions(FieldReader& in) const;
};

// It bounds new rentals, by the present prices, and takes no host from a job that runs.
struct CapacityBudget {
  std::optional<capacity::Money> max_cost_per_hour = {};
  std::optional<capacity::Money> max_cost_per_hour_per_namespace = {};
  bool operator==(const CapacityBudget&) const = default;

  void Describe(FieldVisitor& fields) {
    MoneyField(fields, "maxCostPerHour", max_cost_per_hour,
               "Of all namespaces together: an amount and a currency, \"200 USD\".");
    MoneyField(fields, "maxCostPerHourPerNamespace", max_cost_per_hour_per_namespace,
               "Of each namespace: an amount and a currency, \"50 USD\".");
  }
};

struct CapacityPool {
  ObjectMeta metadata;
  std::string instance_type;
  workload::ResourceList allocatable;
  std::string zone;
  std::string fabric_pod;  // empty: unknown, as is an empty segment
  std::string segment;
  std::map<std::string, std::string> node_labels;
  std::vector<CapacityOffer> offers;
  CapacityScaling scaling;
  std::optional<MetadataSelector> namespace_selector = {};
  CapacityBudget budget = {};

  void Describe(FieldVisitor& fields);
};

// Errors: InvalidArgument, one line per wrong field.
absl::StatusOr<CapacityPool> DecodeCapacityPool(JsonView object,
                                                UnknownFields unknown = UnknownFields::kReject);
nlohmann::json EncodeCapacityPool(const CapacityPool& pool);
nlohmann::json CapacityPoolSchema();

// The labels by which Nodes of an offer are known: instance type, zone, place in the fabric, the
// pool's and the offer's own. Karpenter's capacity type where it makes them.
std::map<std::string, std::string> NodeLabelsOf(const CapacityPool& pool,
                                                const CapacityOffer& offer);

// How many workers with these requests one host of the pool carries, at most 1024; 0: not even one.
// A pool that does not list `pods` does not limit them.
int WorkersPerHost(const CapacityPool& pool, const workload::ResourceList& requests);

}  // namespace yardmaster::api
