// What a pod template asks of a node: selectors, required affinity, tolerations, GPU model and
// capacity type. Placement narrows hosts with it by kube-scheduler's rules, so that kube-scheduler
// does not refuse a planned host for one of them.
//
// Thread safety: values and pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/api/field_visitor.h"
#include "pkg/api/metadata_selector.h"
#include "pkg/api/node.h"

namespace yardmaster::api {

// All requirements of a term must hold; a term without any selects nothing.
struct SelectorTerm {
  std::vector<SelectorRequirement> expressions;  // over labels
  std::vector<SelectorRequirement> fields;       // over metadata.name
  bool operator==(const SelectorTerm&) const = default;
  auto operator<=>(const SelectorTerm&) const = default;

  void Describe(FieldVisitor& term) {
    term.Objects("matchExpressions", expressions, {64}, "Over labels.", "One requirement.");
    term.Objects("matchFields", fields, {8}, "Over metadata.name.", "One requirement.");
  }
};

// kUnreadable is left out of what was read.
enum class TolerationOperator { kEqual, kExists, kUnreadable };

struct Toleration {
  std::string key;  // empty with Exists: every key
  TolerationOperator op = TolerationOperator::kEqual;
  std::string value;
  std::string effect;  // empty: every effect
  auto operator<=>(const Toleration&) const = default;

  void Describe(FieldVisitor& fields);
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

  // As a Gang has them; a pod template has the same in other places.
  void Describe(FieldVisitor& fields);
};

// Whether labels and name fit; taints are not looked at.
bool Selects(const NodeConstraints& constraints, const Node& node);
// Whether pods with these tolerations may run beside the taint. PreferNoSchedule repels no pod.
bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint);
// From the labels that clouds and node provisioners set; a node without any is on demand.
CapacityType CapacityTypeOf(const Node& node);

// From a pod spec: nodeSelector, affinity, tolerations. More than 512 values or 16 KiB of text are
// an error and select no node, so that a host is never thought fit that is not.
NodeConstraints ReadPodConstraints(FieldReader& pod_spec);

// Leaves out what cannot be read.
void TolerationsField(FieldVisitor& fields, std::vector<Toleration>& tolerations);
void CapacityTypesField(FieldVisitor& fields, const char* key, std::vector<CapacityType>& types);

}  // namespace yardmaster::api
