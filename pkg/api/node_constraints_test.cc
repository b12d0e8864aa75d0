#include "pkg/api/node_constraints.h"

#include <tuple>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/field_codec.h"
#include "pkg/base/random.h"

namespace yardmaster::api {
namespace {

Node Labelled(std::map<std::string, std::string> labels) {
  Node node;
  node.metadata.name = "n1";
  node.metadata.labels = std::move(labels);
  return node;
}

SelectorRequirement Need(const char* key, SelectorOperator op,
                         std::vector<std::string> values = {}) {
  return {key, op, std::move(values)};
}

TEST(NodeConstraintsTest, OperatorsMeanWhatTheSchedulerMeans) {
  const Node with = Labelled({{"z", "7"}});
  const Node without = Labelled({});
  struct Case {
    SelectorRequirement requirement;
    bool with;
    bool without;
  };
  const Case cases[] = {
      {Need("z", SelectorOperator::kIn, {"6", "7"}), true, false},
      {Need("z", SelectorOperator::kIn, {"6"}), false, false},
      {Need("z", SelectorOperator::kNotIn, {"6"}), true, true},
      {Need("z", SelectorOperator::kNotIn, {"7"}), false, true},
      {Need("z", SelectorOperator::kExists), true, false},
      {Need("z", SelectorOperator::kDoesNotExist), false, true},
      {Need("z", SelectorOperator::kGt, {"6"}), true, false},
      {Need("z", SelectorOperator::kGt, {"7"}), false, false},
      {Need("z", SelectorOperator::kLt, {"8"}), true, false},
      {Need("z", SelectorOperator::kLt, {"x"}), false, false},
  };
  for (const Case& c : cases) {
    NodeConstraints constraints;
    constraints.has_affinity = true;
    constraints.terms = {{{c.requirement}, {}}};
    EXPECT_EQ(Selects(constraints, with), c.with) << static_cast<int>(c.requirement.op);
    EXPECT_EQ(Selects(constraints, without), c.without) << static_cast<int>(c.requirement.op);
  }
}

TEST(NodeConstraintsTest, TermsAreAlternativesAndAnEmptyTermSelectsNothing) {
  NodeConstraints constraints;
  constraints.has_affinity = true;
  EXPECT_FALSE(Selects(constraints, Labelled({})));
  constraints.terms = {{}};
  EXPECT_FALSE(Selects(constraints, Labelled({})));
  constraints.terms.push_back({{}, {Need("metadata.name", SelectorOperator::kIn, {"n1"})}});
  EXPECT_TRUE(Selects(constraints, Labelled({})));
}

TEST(NodeConstraintsTest, GpuModelAndCapacityTypeNarrow) {
  NodeConstraints constraints;
  constraints.gpu_model = "H800";
  EXPECT_TRUE(Selects(constraints, Labelled({{"nvidia.com/gpu.product", "H800"}})));
  EXPECT_FALSE(Selects(constraints, Labelled({})));
  constraints = {};
  constraints.capacity_types = {CapacityType::kSpot};
  EXPECT_TRUE(Selects(constraints, Labelled({{"karpenter.sh/capacity-type", "spot"}})));
  EXPECT_FALSE(Selects(constraints, Labelled({})));
}

TEST(NodeConstraintsTest, TolerationsMatchByKeyValueAndEffect) {
  const Taint taint{"k", "v", TaintEffect::kNoSchedule};
  auto tolerates = [&](Toleration t) { return Tolerates({t}, taint); };
  EXPECT_FALSE(Tolerates({}, taint));
  EXPECT_TRUE(tolerates({"k", TolerationOperator::kEqual, "v", ""}));
  EXPECT_FALSE(tolerates({"k", TolerationOperator::kEqual, "w", ""}));
  EXPECT_TRUE(tolerates({"k", TolerationOperator::kExists, "", "NoSchedule"}));
  EXPECT_FALSE(tolerates({"k", TolerationOperator::kExists, "", "NoExecute"}));
  EXPECT_TRUE(tolerates({"", TolerationOperator::kExists, "", ""}));
  EXPECT_TRUE(Tolerates({}, {"k", "v", TaintEffect::kPreferNoSchedule}));
}

SelectorRequirement RandomRequirement(Random& random) {
  const char* keys[] = {"a", "b"};
  const auto op = static_cast<SelectorOperator>(random.Below(6));
  std::vector<std::string> values;
  if (op != SelectorOperator::kExists && op != SelectorOperator::kDoesNotExist) {
    values.resize(1 + random.Below(2));
    for (std::string& value : values) value = std::to_string(random.Below(3));
  }
  return Need(keys[random.Below(2)], op, values);
}

Node RandomNode(Random& random) {
  Node node = Labelled({});
  for (const char* key : {"a", "b"}) {
    if (random.Below(3) > 0) node.metadata.labels[key] = std::to_string(random.Below(3));
  }
  return node;
}

NodeConstraints WithTerms(std::vector<SelectorTerm> terms) {
  NodeConstraints constraints;
  constraints.has_affinity = true;
  constraints.terms = std::move(terms);
  return constraints;
}

SelectorTerm Over(std::vector<SelectorRequirement> expressions) {
  SelectorTerm term;
  term.expressions = std::move(expressions);
  return term;
}

TEST(NodeConstraintsTest, ATermIsTheAndOfItsRequirementsAndTermsAreAnOr) {
  Random random(3);
  int selected = 0;
  for (int round = 0; round < 3000; ++round) {
    const SelectorRequirement first = RandomRequirement(random);
    const SelectorRequirement second = RandomRequirement(random);
    const Node node = RandomNode(random);
    const bool one = Selects(WithTerms({Over({first})}), node);
    const bool other = Selects(WithTerms({Over({second})}), node);
    EXPECT_EQ(Selects(WithTerms({Over({first, second})}), node), one && other);
    EXPECT_EQ(Selects(WithTerms({Over({second}), Over({first})}), node), one || other);
    selected += one && other;
  }
  EXPECT_GT(selected, 300);
}

NodeConstraints RandomConstraints(Random& random) {
  NodeConstraints out;
  if (random.Below(2) == 0) out.node_selector["zone/name"] = std::to_string(random.Below(3));
  out.has_affinity = random.Below(2) == 0;
  for (std::size_t t = random.Below(3); out.has_affinity && t > 0; --t) {
    SelectorTerm& term = out.terms.emplace_back();
    if (random.Below(2) == 0) term.expressions = {RandomRequirement(random)};
    if (random.Below(2) == 0) term.fields = {RandomRequirement(random), RandomRequirement(random)};
  }
  for (std::size_t t = random.Below(3); t > 0; --t) {
    out.tolerations.push_back(
        {random.Below(2) == 0 ? "" : "key", static_cast<TolerationOperator>(random.Below(2)),
         random.Below(2) == 0 ? "" : "value", random.Below(2) == 0 ? "" : "NoExecute"});
  }
  if (random.Below(2) == 0) out.gpu_model = "H800";
  for (int type = 0; type < 3; ++type) {
    if (random.Below(2) == 0) out.capacity_types.push_back(static_cast<CapacityType>(type));
  }
  return out;
}

TEST(NodeConstraintsTest, WhatIsWrittenReadsBackEqual) {
  Random random(4);
  for (int round = 0; round < 500; ++round) {
    const NodeConstraints constraints = RandomConstraints(random);
    const nlohmann::json written = EncodeObject(constraints);
    FieldErrors errors;
    EXPECT_EQ(DecodeObject<NodeConstraints>({&written, "c", UnknownFields::kReject, &errors}),
              constraints)
        << written.dump();
    EXPECT_TRUE(errors.empty()) << errors.status();
  }
  EXPECT_EQ(EncodeObject(NodeConstraints()), nlohmann::json::object());
}

// A host is never thought fit because something could not be read.
TEST(NodeConstraintsTest, AnUnknownOperatorIsNamedSelectsNothingAndToleratesNothing) {
  const nlohmann::json object = nlohmann::json::parse(
      R"({"nodeAffinity":{"nodeSelectorTerms":[{"matchExpressions":[
            {"key":"a","operator":"NotEqual","values":["1"]}]}]},
          "tolerations":[{"operator":"Always"},{"key":"k","operator":"Exists"}]})");
  FieldErrors errors;
  const NodeConstraints read =
      DecodeObject<NodeConstraints>({&object, "c", UnknownFields::kReject, &errors});
  ASSERT_EQ(errors.lines().size(), 2u) << errors.status();
  EXPECT_EQ(errors.lines()[0].rfind(
                "c.nodeAffinity.nodeSelectorTerms[0].matchExpressions[0].operator: expected In", 0),
            0u);
  EXPECT_EQ(errors.lines()[1].rfind("c.tolerations[0].operator: expected Equal or Exists", 0), 0u);
  Random random(5);
  for (int round = 0; round < 100; ++round) EXPECT_FALSE(Selects(read, RandomNode(random)));
  EXPECT_FALSE(Tolerates(read.tolerations, {"a", "1", TaintEffect::kNoSchedule}));
  EXPECT_TRUE(Tolerates(read.tolerations, {"k", "1", TaintEffect::kNoSchedule}));
}

// More errors than are kept must not make what cannot be read look readable.
TEST(NodeConstraintsTest, AnUnknownOperatorBehindManyErrorsSelectsNothingAndToleratesNothing) {
  const nlohmann::json object = nlohmann::json::parse(
      R"({"nodeAffinity":{"nodeSelectorTerms":[{"matchExpressions":[
            {"key":"a","operator":"NotEqual","values":["1"]}]}]},
          "tolerations":[{"operator":"Always"}]})");
  FieldErrors errors;
  for (int i = 0; i < 50; ++i) errors.AddLine("error " + std::to_string(i));
  const NodeConstraints read =
      DecodeObject<NodeConstraints>({&object, "c", UnknownFields::kReject, &errors});
  ASSERT_EQ(read.terms.size(), 1u);
  ASSERT_EQ(read.terms[0].expressions.size(), 1u);
  EXPECT_TRUE(read.terms[0].expressions[0].values.empty());
  EXPECT_TRUE(read.tolerations.empty());
}

TEST(NodeConstraintsTest, CapacityTypesFollowTheLabelsOfCloudsAndAreOnDemandOtherwise) {
  const std::tuple<const char*, const char*, CapacityType> labels[] = {
      {"karpenter.sh/capacity-type", "spot", CapacityType::kSpot},
      {"karpenter.sh/capacity-type", "reserved", CapacityType::kReserved},
      {"karpenter.sh/capacity-type", "on-demand", CapacityType::kOnDemand},
      {"eks.amazonaws.com/capacityType", "CAPACITY_BLOCK", CapacityType::kReserved},
      {"eks.amazonaws.com/capacityType", "SPOT", CapacityType::kSpot},
      {"cloud.google.com/gke-spot", "true", CapacityType::kSpot},
      {"cloud.google.com/gke-spot", "false", CapacityType::kOnDemand},
      {"kubernetes.azure.com/scalesetpriority", "spot", CapacityType::kSpot},
      {"zone", "spot", CapacityType::kOnDemand}};
  for (const auto& [key, value, type] : labels) {
    EXPECT_EQ(CapacityTypeOf(Labelled({{key, value}})), type) << key << "=" << value;
  }
  EXPECT_EQ(CapacityTypeOf(Labelled({})), CapacityType::kOnDemand);
}

TEST(NodeConstraintsTest, AWrongCapacityTypeIsNamedByItsPlaceAndTheOthersAreKept) {
  const nlohmann::json object = {{"types", {"Spot", "Cheap", "Reserved"}}};
  FieldErrors errors;
  FieldReader in(&object, "c", UnknownFields::kReject, &errors);
  const std::vector<CapacityType> kept = {CapacityType::kSpot, CapacityType::kReserved};
  std::vector<CapacityType> types;
  DecodeFields(in, [&](FieldVisitor& fields) { CapacityTypesField(fields, "types", types); });
  EXPECT_EQ(types, kept);
  ASSERT_EQ(errors.lines().size(), 1u);
  EXPECT_EQ(errors.lines()[0].rfind("c.types[1]: \"Cheap\"", 0), 0u);
}

}  // namespace
}  // namespace yardmaster::api
