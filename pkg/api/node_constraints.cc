#include "pkg/api/node_constraints.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

constexpr std::string_view kOperatorNames[] = {"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"};
constexpr std::string_view kTolerationNames[] = {"Equal", "Exists"};

struct CapacityLabel {
  const char* key;
  std::string_view value;
  CapacityType type;
};
constexpr CapacityLabel kCapacityLabels[] = {
    {"karpenter.sh/capacity-type", "spot", CapacityType::kSpot},
    {"karpenter.sh/capacity-type", "reserved", CapacityType::kReserved},
    {"eks.amazonaws.com/capacityType", "SPOT", CapacityType::kSpot},
    {"eks.amazonaws.com/capacityType", "CAPACITY_BLOCK", CapacityType::kReserved},
    {"cloud.google.com/gke-spot", "true", CapacityType::kSpot},
    {"kubernetes.azure.com/scalesetpriority", "spot", CapacityType::kSpot}};

bool Holds(const SelectorRequirement& r, std::optional<std::string_view> value) {
  const bool listed =
      value && std::find(r.values.begin(), r.values.end(), *value) != r.values.end();
  switch (r.op) {
    case SelectorOperator::kIn:
      return listed;
    case SelectorOperator::kNotIn:
      return !listed;
    case SelectorOperator::kExists:
      return value.has_value();
    case SelectorOperator::kDoesNotExist:
      return !value.has_value();
    case SelectorOperator::kGt:
    case SelectorOperator::kLt:
      break;
  }
  if (!value || r.values.size() != 1) return false;
  const auto have = ParseNumber<std::int64_t>(*value);
  const auto want = ParseNumber<std::int64_t>(r.values[0]);
  if (!have || !want) return false;
  return r.op == SelectorOperator::kGt ? *have > *want : *have < *want;
}

bool Holds(const SelectorTerm& term, const Node& node) {
  if (term.expressions.empty() && term.fields.empty()) return false;
  for (const SelectorRequirement& r : term.expressions) {
    if (!Holds(r, Find(node.metadata.labels, r.key.c_str()))) return false;
  }
  for (const SelectorRequirement& r : term.fields) {
    if (r.key != "metadata.name" || !Holds(r, node.metadata.name)) return false;
  }
  return true;
}

// An operator that is not known selects nothing, so that a host is never thought fit that is not.
std::vector<SelectorRequirement> ReadRequirements(FieldReader& term, const char* key,
                                                  int max_entries) {
  std::vector<SelectorRequirement> out;
  for (FieldReader& in : term.Objects(key, {max_entries})) {
    const std::int64_t problems = in.errors().added();
    out.push_back({in.RequiredString("key", kQualifiedName),
                   in.Enum("operator", kOperatorNames, SelectorOperator::kIn),
                   in.Strings("values", {4096}, kObjectName)});
    if (in.errors().added() != problems) {
      out.back().op = SelectorOperator::kIn;
      out.back().values.clear();
    }
    in.Close();
  }
  return out;
}

void ReadTerms(FieldReader& selector, NodeConstraints& out) {
  if (!selector.present()) return;
  out.has_affinity = true;
  for (FieldReader& term : selector.Objects("nodeSelectorTerms", {64})) {
    out.terms.push_back(
        {ReadRequirements(term, "matchExpressions", 64), ReadRequirements(term, "matchFields", 8)});
    term.Close();
  }
  selector.Close();
}

// An operator that is not known tolerates nothing.
void ReadTolerations(FieldReader& object, NodeConstraints& out) {
  for (FieldReader& in : object.Objects("tolerations", {256})) {
    const std::int64_t problems = in.errors().added();
    Toleration t;
    t.key = in.String("key", kQualifiedName);
    t.op = in.Enum("operator", kTolerationNames, TolerationOperator::kEqual);
    t.value = in.String("value", kObjectName);
    t.effect = in.String("effect", TextRule{32});
    in.Raw("tolerationSeconds");
    in.Close();
    if (in.errors().added() == problems) out.tolerations.push_back(std::move(t));
  }
}

json EncodeRequirements(const std::vector<SelectorRequirement>& requirements) {
  json out = json::array();
  for (const SelectorRequirement& r : requirements) {
    json entry = {{"key", r.key}, {"operator", kOperatorNames[static_cast<std::size_t>(r.op)]}};
    if (!r.values.empty()) entry["values"] = r.values;
    out.push_back(std::move(entry));
  }
  return out;
}

json EncodeTerms(const std::vector<SelectorTerm>& terms) {
  json list = json::array();
  for (const SelectorTerm& term : terms) {
    json entry = json::object();
    if (!term.expressions.empty()) entry["matchExpressions"] = EncodeRequirements(term.expressions);
    if (!term.fields.empty()) entry["matchFields"] = EncodeRequirements(term.fields);
    list.push_back(std::move(entry));
  }
  return list;
}

}  // namespace

bool Selects(const NodeConstraints& constraints, const Node& node) {
  for (const auto& [key, value] : constraints.node_selector) {
    if (Find(node.metadata.labels, key.c_str()) != std::string_view(value)) return false;
  }
  if (!constraints.gpu_model.empty() &&
      Find(node.metadata.labels, kGpuModelLabel) != std::string_view(constraints.gpu_model)) {
    return false;
  }
  const auto& types = constraints.capacity_types;
  if (!types.empty() &&
      std::find(types.begin(), types.end(), CapacityTypeOf(node)) == types.end()) {
    return false;
  }
  return !constraints.has_affinity ||
         std::any_of(constraints.terms.begin(), constraints.terms.end(),
                     [&](const SelectorTerm& term) { return Holds(term, node); });
}

bool Tolerates(const std::vector<Toleration>& tolerations, const Taint& taint) {
  if (taint.effect == TaintEffect::kPreferNoSchedule) return true;
  const std::string_view effect = kTaintEffectNames[static_cast<std::size_t>(taint.effect)];
  return std::any_of(tolerations.begin(), tolerations.end(), [&](const Toleration& t) {
    if (!t.effect.empty() && t.effect != effect) return false;
    if (t.key.empty()) return t.op == TolerationOperator::kExists;
    if (t.key != taint.key) return false;
    return t.op == TolerationOperator::kExists || t.value == taint.value;
  });
}

CapacityType CapacityTypeOf(const Node& node) {
  for (const CapacityLabel& label : kCapacityLabels) {
    if (Find(node.metadata.labels, label.key) == label.value) return label.type;
  }
  return CapacityType::kOnDemand;
}

namespace {

// How many values, and bytes of text, a pod may say of its nodes in all.
constexpr std::size_t kMostConstraintValues = 1024;
constexpr std::size_t kMostConstraintBytes = 32 * 1024;

struct Extent {
  std::size_t values = 0;
  std::size_t bytes = 0;
  void Add(std::size_t text_bytes) {
    ++values;
    bytes += text_bytes;
  }
  void Add(const std::vector<SelectorRequirement>& requirements) {
    for (const SelectorRequirement& r : requirements) {
      Add(r.key.size());
      for (const std::string& value : r.values) Add(value.size());
    }
  }
};

bool IsTooLarge(const NodeConstraints& constraints) {
  Extent extent;
  for (const auto& [key, value] : constraints.node_selector) extent.Add(key.size() + value.size());
  for (const SelectorTerm& term : constraints.terms) {
    extent.Add(0);
    extent.Add(term.expressions);
    extent.Add(term.fields);
  }
  for (const Toleration& t : constraints.tolerations) extent.Add(t.key.size() + t.value.size());
  return extent.values > kMostConstraintValues || extent.bytes > kMostConstraintBytes;
}

}  // namespace

NodeConstraints ReadPodConstraints(FieldReader& pod_spec) {
  NodeConstraints out;
  out.node_selector = pod_spec.StringMap("nodeSelector");
  FieldReader affinity = pod_spec.OpenObject("affinity");
  FieldReader node_affinity = affinity.OpenObject("nodeAffinity");
  FieldReader required = node_affinity.OpenObject("requiredDuringSchedulingIgnoredDuringExecution");
  ReadTerms(required, out);
  ReadTolerations(pod_spec, out);
  if (!IsTooLarge(out)) return out;
  pod_spec.errors().Add(
      pod_spec.PathOf("nodeSelector") + ", affinity and tolerations",
      StrCat("name more than ", kMostConstraintValues, " values, or have more than ",
             kMostConstraintBytes, " bytes of text"),
      "select nodes by a label that they share");
  NodeConstraints nothing;
  nothing.has_affinity = true;
  return nothing;
}

NodeConstraints ReadConstraints(FieldReader in) {
  NodeConstraints out;
  out.node_selector = in.StringMap("nodeSelector", 64, kObjectName);
  FieldReader affinity = in.Object("nodeAffinity");
  ReadTerms(affinity, out);
  ReadTolerations(in, out);
  out.gpu_model = in.String("gpuModel", kLabelValue);
  out.capacity_types = ReadCapacityTypes(in, "capacityTypes");
  in.Close();
  return out;
}

json EncodeConstraints(const NodeConstraints& constraints) {
  json out = json::object();
  if (!constraints.node_selector.empty()) out["nodeSelector"] = constraints.node_selector;
  if (constraints.has_affinity) {
    out["nodeAffinity"] = {{"nodeSelectorTerms", EncodeTerms(constraints.terms)}};
  }
  for (const Toleration& t : constraints.tolerations) {
    json entry = {{"operator", kTolerationNames[static_cast<std::size_t>(t.op)]}};
    if (!t.key.empty()) entry["key"] = t.key;
    if (!t.value.empty()) entry["value"] = t.value;
    if (!t.effect.empty()) entry["effect"] = t.effect;
    out["tolerations"].push_back(std::move(entry));
  }
  if (!constraints.gpu_model.empty()) out["gpuModel"] = constraints.gpu_model;
  if (!constraints.capacity_types.empty()) {
    out["capacityTypes"] = EncodeCapacityTypes(constraints.capacity_types);
  }
  return out;
}

std::vector<CapacityType> ReadCapacityTypes(FieldReader& object, std::string_view key) {
  std::vector<CapacityType> out;
  const std::vector<std::string> names = object.Strings(key, {.max_entries = 3, .is_set = true});
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto* it =
        std::find(std::begin(kCapacityTypeNames), std::end(kCapacityTypeNames), names[i]);
    if (it == std::end(kCapacityTypeNames)) {
      object.errors().Add(StrCat(object.PathOf(key), "[", i, "]"),
                          StrCat("\"", names[i], "\" is not a capacity type"),
                          "use OnDemand, Reserved or Spot");
      continue;
    }
    out.push_back(static_cast<CapacityType>(it - std::begin(kCapacityTypeNames)));
  }
  return out;
}

json EncodeCapacityTypes(const std::vector<CapacityType>& types) {
  json out = json::array();
  for (CapacityType type : types) out.push_back(kCapacityTypeNames[static_cast<std::size_t>(type)]);
  return out;
}

}  // namespace yardmaster::api
