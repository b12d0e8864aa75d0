// Two jobs of which one is to make room for the other. TESTONLY. Thread safety: none.
#pragma once

#include <string>

#include "pkg/extender/testing/planner_fixture.h"

namespace yardmaster::extender {

inline constexpr char kInOneSegment[] = R"({"data": {"within": "Segment", "mode": "Required"}})";

// `low` runs on all ordinary hosts of both segments, `high` needs one of them.
class PreemptionTest : public PlannerFixture {
 protected:
  void AddLow(const json& more = json::object()) {
    AddJob("low", 6, "{}", more);
    PassOfANewProcess();
    RunReleasedPods();
    ASSERT_TRUE(Placed("low"));
  }
  void AddHigh(const std::string& name = "high", const json& more = {{"priority", 10}}) {
    AddJob(name, 3, kInOneSegment, more);
  }
  void AddBudget(int allowed, const std::string& name = "budget") {
    client_.Seed(kube::PodDisruptionBudgets(),
                 {{"apiVersion", "policy/v1"},
                  {"kind", "PodDisruptionBudget"},
                  {"metadata", {{"name", name}, {"namespace", "team"}}},
                  {"spec", {{"selector", {{"matchLabels", {{api::kJobLabel, "low"}}}}}}},
                  {"status", {{"disruptionsAllowed", allowed}, {"observedGeneration", 9}}}});
  }
  // What the rest of the cluster does between two passes.
  void OthersMove() {
    MakeMissingPods();
    RunReleasedPods();
    CheckPromises();
  }
  void RunUntilStable() {
    for (int i = 0; i < 6; ++i) {
      PassOfANewProcess();
      OthersMove();
    }
  }
  int Bound(const std::string& job) {
    int bound = 0;
    for (const json& pod : client_.All(kube::Pods())) {
      bound += pod["metadata"]["labels"][api::kJobLabel] == job && pod["spec"].contains("nodeName");
    }
    return bound;
  }
};

}  // namespace yardmaster::extender
