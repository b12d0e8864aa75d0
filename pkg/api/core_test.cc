// Node, Pod, quantities, constraints, conditions.
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/condition.h"
#include "pkg/api/node.h"
#include "pkg/api/node_constraints.h"
#include "pkg/api/pod.h"
#include "pkg/api/quantity.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

TEST(QuantityTest, ReadsWhatKubernetesWritesAndRoundsUp) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"8", 8},      {"0", 0},        {"8000m", 8},   {"1500m", 2},      {"1k", 1000},
      {"1e3", 1000}, {"1E3", 1000},   {"2Ki", 2048},  {"1.5", 2},        {"64Gi", 68719476736},
      {"+3", 3},     {"1M", 1000000}, {"0.1Ki", 103}, {"100000000n", 1}, {".5", 1}};
  for (const auto& [text, value] : cases) {
    auto parsed = ParseQuantity(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, value) << text;
  }
}

TEST(QuantityTest, RefusesEverythingElse) {
  for (const char* text : {"", "x", "-1", "8 ", "1kk", "nan", "inf", "1e400", "9E9E", "Ki", "8Gb",
                           "--1", "1e", "99999999E"}) {
    EXPECT_FALSE(ParseQuantity(text).ok()) << text;
  }
}

json NodeJson() {
  return json::parse(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1",
    "labels":{"yardmaster.dev/segment":"s0","zone":"7"},"managedFields":[{}]},
    "spec":{"unschedulable":true,"podCIDR":"x","taints":[{"key":"a","value":"b",
    "effect":"NoExecute"}]},
    "status":{"allocatable":{"nvidia.com/gpu":"8","cpu":"100m"},"capacity":{"nvidia.com/gpu":8},
    "conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"Unknown"}],
    "addresses":[{"type":"InternalIP","address":"10.0.0.1"}]}})");
}

TEST(NodeTest, ReadsTheSliceThatPlacementNeeds) {
  auto node = DecodeNode(NodeJson());
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->metadata.name, "n1");
  EXPECT_TRUE(node->unschedulable);
  EXPECT_EQ(node->gpus(), 8);
  EXPECT_EQ(node->ready, std::optional<bool>(false));
  EXPECT_EQ(node->internal_ip, "10.0.0.1");
  ASSERT_EQ(node->taints.size(), 1u);
  EXPECT_EQ(node->taints[0].effect, TaintEffect::kNoExecute);
  EXPECT_FALSE(node->backup());
}

TEST(NodeTest, WhatIsWrittenReadsBackEqual) {
  auto node = DecodeNode(NodeJson());
  ASSERT_TRUE(node.ok());
  auto again = DecodeNode(EncodeNode(*node));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *node);
}

TEST(NodeTest, ANodeWithoutSpecAndStatusIsReadAndHasNoGpus) {
  auto node = DecodeNode(json{{"metadata", {{"name", "n"}}}});
  ASSERT_TRUE(node.ok());
  EXPECT_EQ(node->gpus(), 0);
  EXPECT_FALSE(node->ready.has_value());
}

TEST(NodeTest, WrongFieldsAreNamed) {
  json bad = NodeJson();
  bad["status"]["allocatable"]["nvidia.com/gpu"] = "many";
  bad["spec"]["taints"][0]["effect"] = "noexecute";
  const std::string message = MessageOf(DecodeNode(bad).status());
  EXPECT_NE(message.find("status.allocatable[\"nvidia.com/gpu\"]: expected a quantity"),
            std::string::npos);
  EXPECT_NE(message.find("spec.taints[0].effect: expected NoSchedule"), std::string::npos);
  EXPECT_NE(message.find("did you mean NoExecute?"), std::string::npos);
}

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

TEST(PodTest, GpusAreCountedAsTheSchedulerDoes) {
  auto gpus = [](const char* spec) {
    auto pod = DecodePod(json{{"metadata", {{"name", "p"}}}, {"spec", json::parse(spec)}});
    EXPECT_TRUE(pod.ok()) << pod.status();
    return pod.ok() ? pod->gpus() : -1;
  };
  EXPECT_EQ(gpus(R"({"containers":[{"resources":{"limits":{"nvidia.com/gpu":8}}}]})"), 8);
  EXPECT_EQ(gpus(R"({"containers":[{"resources":{"requests":{"nvidia.com/gpu":"4"}}},
                    {"resources":{"limits":{"nvidia.com/gpu":2}}}]})"),
            6);
  EXPECT_EQ(gpus(R"({"containers":[{"resources":{"limits":{"nvidia.com/gpu":1}}}],
                    "initContainers":[{"resources":{"limits":{"nvidia.com/gpu":8}}}]})"),
            8);
  EXPECT_EQ(gpus(R"({"containers":[{"resources":{"limits":{"nvidia.com/gpu":1}}}],
                    "initContainers":[{"restartPolicy":"Always",
                      "resources":{"limits":{"nvidia.com/gpu":2}}},
                      {"resources":{"limits":{"nvidia.com/gpu":1}}}]})"),
            3);
  EXPECT_EQ(gpus(R"({"containers":[{"name":"x"}]})"), 0);
}

TEST(PodTest, ReadsGateNodeAffinityAndPhase) {
  auto pod = DecodePod(json::parse(R"({"metadata":{"name":"p","namespace":"ml"},
    "spec":{"nodeName":"n1","schedulingGates":[{"name":"yardmaster.dev/placement"}],
      "nodeSelector":{"a":"b"},"priority":7,"schedulerName":"s",
      "affinity":{"podAffinity":{},"nodeAffinity":{
        "requiredDuringSchedulingIgnoredDuringExecution":{"nodeSelectorTerms":[
          {"matchFields":[{"key":"metadata.name","operator":"In","values":["n1"]}]}]}}},
      "tolerations":[{"operator":"Exists","tolerationSeconds":5}]},
    "status":{"phase":"Running"}})"));
  ASSERT_TRUE(pod.ok()) << pod.status();
  EXPECT_TRUE(pod->gated());
  EXPECT_EQ(pod->node_name, "n1");
  EXPECT_EQ(pod->metadata.namespace_name, "ml");
  EXPECT_EQ(pod->priority, 7);
  EXPECT_FALSE(pod->finished());
  ASSERT_EQ(pod->constraints.terms.size(), 1u);
  EXPECT_EQ(pod->constraints.tolerations.size(), 1u);
}

TEST(ConditionTest, TheTransitionTimeMovesOnlyWithTheStatus) {
  std::vector<Condition> conditions;
  EXPECT_TRUE(SetCondition(conditions, {"Planned", ConditionStatus::kFalse, "A", "a", 1, 0}, 1000));
  EXPECT_FALSE(
      SetCondition(conditions, {"Planned", ConditionStatus::kFalse, "A", "a", 1, 0}, 9000));
  EXPECT_TRUE(SetCondition(conditions, {"Planned", ConditionStatus::kFalse, "B", "b", 2, 0}, 9000));
  EXPECT_EQ(conditions[0].transition_ms, 1000);
  EXPECT_TRUE(SetCondition(conditions, {"Planned", ConditionStatus::kTrue, "C", "", 2, 0}, 12345));
  EXPECT_EQ(conditions[0].transition_ms, 12000);
  EXPECT_EQ(conditions.size(), 1u);
  EXPECT_TRUE(IsTrue(conditions, "Planned"));
  EXPECT_FALSE(IsTrue(conditions, "Degraded"));
}

TEST(ConditionTest, WhatIsWrittenReadsBackEqual) {
  const std::vector<Condition> conditions = {
      {"Planned", ConditionStatus::kTrue, "Committed", "all ranks have a host", 3,
       1'700'000'000'000},
      {"Degraded", ConditionStatus::kUnknown, "NoReport", "", 0, 1'700'000'001'000}};
  const json status = {{"conditions", EncodeConditions(conditions)}};
  FieldErrors errors;
  FieldReader in(&status, "status", UnknownFields::kReject, &errors);
  EXPECT_EQ(ReadConditions(in), conditions);
  EXPECT_TRUE(errors.empty());
}

}  // namespace
}  // namespace yardmaster::api
