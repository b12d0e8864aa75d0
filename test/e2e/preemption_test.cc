// Gangs that are stopped for others, on a real control plane: the API server enforces disruption
// budgets, controllers make pods again, the scheduler binds them.
#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

constexpr int kOrdinary = 12;  // hosts of a segment that are not backup hosts

class PreemptionStoryTest : public StoryTest {
 protected:
  // Runs on every ordinary host of both segments.
  static void StartLow() {
    ASSERT_TRUE(cluster_->plane()
                    .Apply(TrainingJob("low", 2 * kOrdinary, R"("parallelism": {"tensor": 8})"))
                    .ok());
    ASSERT_TRUE(Has("low", "Running"));
  }
  static void ApplyHigh() {
    ASSERT_TRUE(cluster_->plane()
                    .Apply(TrainingJob("high", kOrdinary, R"("priority": 100,
                        "parallelism": {"tensor": 8},
                        "placement": {"data": {"within": "Segment", "mode": "Required"}})"))
                    .ok());
  }
  static bool Decided() {
    const json gang = Gang("high");
    return gang.is_object() && gang.contains("/status/preemption"_json_pointer);
  }
};

TEST_F(PreemptionStoryTest, AGangIsStoppedWholeForOneOfHigherPriorityAndRunsAgainAfterIt) {
  StartLow();
  EXPECT_TRUE(WaitFor(kPatience, [&] { return PromisedHosts() == HostsOf("low"); }))
      << "exactly the promised hosts are tainted";
  EXPECT_EQ(HostsOf("low").size(), 2u * kOrdinary);
  ApplyHigh();
  ASSERT_TRUE(Has("high", "Running"));
  CheckPromises();
  EXPECT_EQ(ConditionOf(Gang("low"), "Preempted"), "True");
  EXPECT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(Job("low"), "Preempted") == "True"; }));
  EXPECT_TRUE(HostsOf("low").empty()) << "no partial gang";
  EXPECT_TRUE(WaitFor(kPatience, [&] { return PromisedHosts() == HostsOf("high"); }));
  // Re-queued: it has no pods, and gets them when there is room.
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    for (const json& pod : Pods()) {
      if (pod["metadata"]["labels"][api::kJobLabel] == "low") return false;
    }
    return true;
  }));
  EXPECT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(Job("low"), "Queued") == "True"; }));
  ASSERT_TRUE(cluster_->plane()
                  .Kubectl({"delete", "trainingjob", "high", "-n", "team", "--timeout=60s"})
                  .ok());
  EXPECT_TRUE(Has("low", "Running"));
  CheckPromises();
}

TEST_F(PreemptionStoryTest, ADisruptionBudgetKeepsTheGangWhole) {
  StartLow();
  ASSERT_TRUE(
      cluster_->plane()
          .Apply(StrCat(R"({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
        "metadata": {"name": "low", "namespace": "team"},
        "spec": {"minAvailable": )",
                        2 * kOrdinary - 1,
                        R"(, "selector": {"matchLabels": {"yardmaster.dev/job": "low"}}}})"))
          .ok());
  // One pod may go, all of them may not.
  ASSERT_TRUE(WaitFor(kPatience, [&] {
    const json budget = cluster_->Get({"pdb", "-n", "team", "low"});
    return budget.value("/status/disruptionsAllowed"_json_pointer, 0) == 1;
  }));
  const std::set<std::string> before = HostsOf("low");
  ApplyHigh();
  ASSERT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(Job("high"), "Planned") == "False"; }));
  EXPECT_FALSE(WaitFor(3, Decided)) << "longer than the extender waits before it tries again";
  EXPECT_EQ(HostsOf("low"), before);
  EXPECT_EQ(ConditionOf(Job("low"), "Running"), "True");
  ASSERT_TRUE(cluster_->plane().Kubectl({"delete", "pdb", "low", "-n", "team"}).ok());
  EXPECT_TRUE(Has("high", "Running"));
  CheckPromises();
}

TEST_F(PreemptionStoryTest, AnExtenderKilledAfterTheDecisionLeavesItToTheNextOne) {
  StartLow();
  ApplyHigh();
  ASSERT_TRUE(WaitFor(kPatience, [&] { return Decided() || !HostsOf("high").empty(); }));
  cluster_->KillExtender();
  CheckPromises();
  ASSERT_TRUE(cluster_->StartExtender().ok());
  EXPECT_TRUE(Has("high", "Running"));
  EXPECT_TRUE(HostsOf("low").empty());
  CheckPromises();
}

TEST_F(PreemptionStoryTest, AGangDeletedUnderItsPodsIsRebuiltFromThem) {
  ASSERT_TRUE(
      cluster_->plane().Apply(TrainingJob("kept", 5, R"("parallelism": {"tensor": 8})")).ok());
  ASSERT_TRUE(Has("kept", "Running"));
  const json before = Gang("kept");
  ASSERT_TRUE(cluster_->plane().Kubectl({"delete", "gang", "trainingjob-kept", "-n", "team"}).ok());
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const json gang = Gang("kept");
    return gang.is_object() && gang["metadata"]["uid"] != before["metadata"]["uid"] &&
           gang.contains("/status/assignments"_json_pointer);
  }));
  EXPECT_EQ(Gang("kept")["status"]["assignments"], before["status"]["assignments"]);
  CheckPromises();
}

}  // namespace
}  // namespace yardmaster::testing
