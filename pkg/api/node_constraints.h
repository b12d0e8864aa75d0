// What a pod template asks of a node: selectors, required affinity, tolerations, GPU model and
// capacity type. Placement narrows hosts with it by kube-scheduler's rules, so that kube-scheduler does
// not refuse a planned host for one of them.
//
// Thread safety: values and pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/node.h"

namespace yardmaster::api {

enum class SelectorOperator { kIn, kNotIn, kExists, kDoesNotExist, kGt, kLt };

struct SelectorRequirement {
  std::string key;
  SelectorOperator op = SelectorOperator::kIn;
  std::vector<std::string> values;
  bool operator==(const SelectorRequirement&) const = default;
  auto operator<=>(const SelectorRequirement&) const = default;
};

// All requirements of a term must hold; a term without any selects nothing.
struct SelectorTerm {
  std::vector<SelectorRequirement> expressions;  // over labels
  std::vector<SelectorRequirement> fields;       // over metadata.name
  bool operator==(const SelectorTerm&) const = default;
  auto operator<=>(const SelectorTerm&) const = default;
};

enum class TolerationOperator { kEqual, kExists };

struct Toleration {
  std::string key;  // empty with Exists: every key
  TolerationOperator op = TolerationOperator::kEqual;
  std::string value;
  std::string effect;  // empty: every effect
  auto operator<=>(const Toleration&) const = default;
};

enum class CapacityType { kOnDemand, kReserved, kSpot };
inline constexpr std::string_view kCapacityTypeNames[] = {"OnDemand", "Reserved", "Spot"};

struct NodeConstraints {
  std::map<std::string, std::string> node_selector;
  // Required node affinity: any term may hold. `has_affinity` with no terms selects nothing.
  bool has_affinity = false;
  std::vector<SelectorTerm> terms;
  std::vector<Toleration> tolerations;
  std::string gpu_model;                     // value of nvidia.com/gpu.product; empty: any
  std::vector<CapacityType> capacity_types;  // empty: any
  auto operator<=>(const NodeConstraints&) const = default;
};

// Whether labels and name fit; taints are not looked at.
bool Selects(const NodeConstraints& constraints, const Node& node);
// Whether pods with these tolerations may run beside the taint. PreferNoSchedule repels no pod.
bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);
// From the labels that clouds and node provisioners set; a node without any is on demand.
CapacityType CapacityTypeOf(const Node& node);

// From a pod spec: nodeSelector, affinity, tolerations. More than 1,024 values or 32 KiB of text are an
// error and select no node, so that a host is never thought fit that is not.
NodeConstraints ReadPodConstraints(FieldReader& pod_spec);
// From and to the block `constraints` of a Gang.
NodeConstraints ReadConstraints(FieldReader constraints);
nlohmann::json EncodeConstraints(const NodeConstraints& constraints);

std::vector<CapacityType> ReadCapacityTypes(FieldReader& object, std::string_view key);
nlohmann::json EncodeCapacityTypes(const std::vector<CapacityType>& types);

}  // namespace yardmaster::api
