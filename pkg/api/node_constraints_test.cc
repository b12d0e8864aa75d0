#include "pkg/api/node_constraints.h"

#include "gtest/gtest.h"

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

}  // namespace
}  // namespace yardmaster::api
