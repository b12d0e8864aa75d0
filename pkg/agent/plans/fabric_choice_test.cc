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
  EXPECT_TRUE(choice.Put(fabric).ok());
  return choice.Chosen("f")->generation;
}

TEST(FabricChoiceTest, PlansAreComparedByTheGenerationThatChangedPaths) {
  EXPECT_EQ(GenerationOf(Fabric(7, {{"observedGeneration", 7}, {"networkGeneration", 4}})), 4);
  EXPECT_EQ(GenerationOf(Fabric(8, {{"observedGeneration", 7}, {"networkGeneration", 4}})), 4)
      << "the operator has not looked at the edit yet";
  EXPECT_EQ(GenerationOf(Fabric(7, {{"observedGeneration", 7}})), 7)
      << "written by a version without the field";
}

TEST(FabricChoiceTest, WithoutANameItIsTheOneThatTheClusterPlansOn) {
  FabricChoice choice;
  EXPECT_FALSE(choice.Chosen("").has_value());
  nlohmann::json fabric = Fabric(1, nlohmann::json::object());
  fabric["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z";
  ASSERT_TRUE(choice.Put(fabric).ok());
  fabric["metadata"]["name"] = "a";
  fabric["metadata"]["creationTimestamp"] = "2026-02-01T00:00:00Z";
  ASSERT_TRUE(choice.Put(fabric).ok());
  EXPECT_EQ(choice.Chosen("")->name, "f") << "the older one";
  EXPECT_EQ(choice.Chosen("a")->name, "a");
  fabric["metadata"]["annotations"]["yardmaster.dev/in-use"] = "true";
  ASSERT_TRUE(choice.Put(fabric).ok());
  EXPECT_EQ(choice.Chosen("")->name, "a");
}

}  // namespace
}  // namespace yardmaster::agent
