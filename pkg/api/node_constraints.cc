#include "pkg/api/node_constraints.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

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

bool Holds(const SelectorTerm& term, const Node& node) {
  if (term.expressions.empty() && term.fields.empty()) return false;
  for (const SelectorRequirement& r : term.expressions) {
    if (!r.Holds(Find(node.metadata.labels, r.key.c_str()))) return false;
  }
  for (const SelectorRequirement& r : term.fields) {
    if (r.key != "metadata.name" || !r.Holds(node.metadata.name)) return false;
  }
  return true;
}

void SelectorField(FieldVisitor& selector, NodeConstraints& constraints) {
  selector.Objects("nodeSelectorTerms", constraints.terms, {64}, About("Alternatives.").Always(),
                   "All requirements of a term must hold.");
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
  if (types.empty()) return nullptr;
  json out = json::array();
  for (CapacityType type : types) out.push_back(kCapacityTypeNames[static_cast<std::size_t>(type)]);
  return out;
}

}  // namespace

void TolerationsField(FieldVisitor& fields, std::vector<Toleration>& tolerations) {
  fields.Objects("tolerations", tolerations, {256}, "Taints the pods may run beside.",
                 "One toleration.");
  fields.Check([&](FieldReader&) {
    std::erase_if(tolerations,
                  [](const Toleration& t) { return t.op == TolerationOperator::kUnreadable; });
  });
}

// An operator that is not known tolerates nothing.
void Toleration::Describe(FieldVisitor& fields) {
  std::int64_t problems = 0;
  fields.Check([&](FieldReader& in) { problems = in.errors().added(); });
  fields.Text("key", key, kQualifiedName, "Taint key; empty with Exists: every key.");
  fields.Enum("operator", op, kTolerationNames, "How value is compared.");
  fields.Text("value", value, kObjectName, "Taint value.");
  fields.Text("effect", effect, TextRule{32}, "Taint effect; empty: every effect.");
  fields.Check([&](FieldReader& in) {
    in.Raw("tolerationSeconds");
    if (in.errors().added() != problems) op = TolerationOperator::kUnreadable;
  });
}

void NodeConstraints::Describe(FieldVisitor& fields) {
  fields.TextMap("nodeSelector", node_selector, 64, kObjectName, "Labels a node must have.");
  fields.Group("nodeAffinity", has_affinity, "Required node affinity: any term may hold.",
               [this](FieldVisitor& selector) { SelectorField(selector, *this); });
  TolerationsField(fields, tolerations);
  fields.Text("gpuModel", gpu_model, kLabelValue, "GPU model; empty: any.");
  CapacityTypesField(fields, "capacityTypes", capacity_types);
}

void CapacityTypesField(FieldVisitor& fields, const char* key, std::vector<CapacityType>& types) {
  fields.Custom(
      key,
      []() -> json {
        return {{"type", "array"},
                {"maxItems", 3},
                {"x-kubernetes-list-type", "set"},
                {"items",
                 {{"type", "string"},
                  {"enum", kCapacityTypeNames},
                  {"description", "A capacity type."}}}};
      },
      "Capacity types that may be used; empty: any.",
      [&](FieldReader& in) { types = ReadCapacityTypes(in, key); },
      [&] { return EncodeCapacityTypes(types); });
}

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
constexpr std::size_t kMaxConstraintValues = 512;
constexpr std::size_t kMaxConstraintBytes = 16 * 1024;

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
  for (const Toleration& t : constraints.tolerations) {
    extent.Add(t.key.size());
    extent.Add(t.value.size());
  }
  return extent.values > kMaxConstraintValues || extent.bytes > kMaxConstraintBytes;
}

}  // namespace

NodeConstraints ReadPodConstraints(FieldReader& pod_spec) {
  NodeConstraints out;
  out.node_selector = pod_spec.StringMap("nodeSelector");
  FieldReader required = pod_spec.OpenObject("affinity")
                             .OpenObject("nodeAffinity")
                             .OpenObject("requiredDuringSchedulingIgnoredDuringExecution");
  out.has_affinity = required.present();
  DecodeFields(required, [&](FieldVisitor& fields) { SelectorField(fields, out); });
  DecodeFields(pod_spec, [&](FieldVisitor& fields) { TolerationsField(fields, out.tolerations); });
  if (!IsTooLarge(out)) return out;
  pod_spec.errors().Add(
      pod_spec.PathOf("nodeSelector") + ", affinity and tolerations",
      StrCat("name more than ", kMaxConstraintValues, " values, or have more than ",
             kMaxConstraintBytes, " bytes of text"),
      "select nodes by a label that they share");
  NodeConstraints nothing;
  nothing.has_affinity = true;
  return nothing;
}

}  // namespace yardmaster::api
