#include "pkg/agent/plans/fabric_choice.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::agent {
namespace {

nlohmann::json Fabric(std::int64_t generation, nlohmann::json status) {
  return {{"apiVersion", "yardmaster.dev/v1alpha1"},
          {"kind", "Fabric"},
          {"metadata", {{"name", "f"}, {"generation", generation}}},
          {"spec",
           {{"tiers",
             nlohmann::json::array({{{"role", "tor"}, {"downPorts", 8}, {"downGbps", 200}}})}}},
          {"status", std::move(status)}};
}

std::int64_t GenerationOf(const nlohmann::json& fabric) {
  FabricChoice choice;
  EXPECT_TRUE(choice.Take(fabric).ok());
  return choice.Chosen("f")->generation;
}

TEST(FabricChoiceTest, PlansAreComparedByTheGenerationThatChangedPaths) {
  EXPECT_EQ(GenerationOf(Fabric(7, {{"observedGeneration", 7}, {"networkGeneration", 4}})), 4);
  EXPECT_EQ(GenerationOf(Fabric(8, {{"observedGeneration", 7}, {"networkGeneration", 4}})), 4)
      << "the operator has not looked at the edit yet";
  EXPECT_EQ(GenerationOf(Fabric(7, {{"observedGeneration", 7}})), 7)
      << "written by a version without the field";
}

}  // namespace
}  // namespace yardmaster::agent
