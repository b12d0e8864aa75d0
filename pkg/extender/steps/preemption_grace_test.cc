// What a stopped gang's own grace period, and pods that never end, can do to the gang that waits.
#include "gtest/gtest.h"

#include "pkg/extender/testing/preemption_fixture.h"

namespace yardmaster::extender {
namespace {

class PreemptionGraceTest : public PreemptionTest {
 protected:
  // Pods of the job are being deleted and end so much later.
  void EndPodsIn(const std::string& job, std::int64_t ms) {
    for (json pod : client_.All(kube::Pods())) {
      if (pod["metadata"]["labels"][api::kJobLabel] != job) continue;
      pod["metadata"]["deletionTimestamp"] = FormatTime(clock_.WallMs() + ms);
      pod["metadata"]["finalizers"] = json::array({"example.com/held"});
      client_.Seed(kube::Pods(), pod);
    }
  }
  // Seconds that evictions gave since the last call.
  std::vector<std::int64_t> GracesOfEvictions() {
    std::vector<std::int64_t> graces;
    for (const kube::Call& call : client_.calls()) {
      if (call.target.subresource != "eviction") continue;
      graces.push_back(call.body["deleteOptions"].value("gracePeriodSeconds", std::int64_t{-1}));
    }
    client_.ClearCalls();
    return graces;
  }
};

TEST_F(PreemptionGraceTest, PodsThatGiveThemselvesAYearAreEndedInTime) {
  AddLow();
  AddHigh();
  PassOfANewProcess();
  EndPodsIn("low", std::int64_t{365} * 86'400'000);
  client_.ClearCalls();
  PassOfANewProcess();
  EXPECT_EQ(GracesOfEvictions(), std::vector<std::int64_t>(6, 600));
  // As the API server then has it.
  EndPodsIn("low", 600'000);
  PassOfANewProcess();
  EXPECT_TRUE(GracesOfEvictions().empty());
}

TEST_F(PreemptionGraceTest, AShorterGraceOfTheirOwnIsTheirs) {
  AddLow();
  AddHigh();
  PassOfANewProcess();
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    const bool evicts = call.target.subresource == "eviction";
    return evicts ? absl::UnavailableError("not now") : absl::OkStatus();
  });
  client_.ClearCalls();
  PassOfANewProcess();
  const std::vector<std::int64_t> graces = GracesOfEvictions();
  ASSERT_FALSE(graces.empty());
  for (const std::int64_t grace : graces) EXPECT_EQ(grace, -1);
}

TEST_F(PreemptionGraceTest, APreemptionWhoseVictimsNeverEndIsGivenUpAndNotRepeated) {
  AddLow();
  AddHigh();
  PassOfANewProcess();
  EndPodsIn("low", 30'000);
  PassOfANewProcess();
  clock_.Advance(719'000);
  PassOfANewProcess();
  EXPECT_TRUE(GangStatus("high").contains("preemption"));
  clock_.Advance(2'000);
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.preemptions_given_up, 1);
  EXPECT_FALSE(GangStatus("high").contains("preemption"));
  EXPECT_EQ(Condition("high", api::kPreemptingCondition)["reason"], "VictimsDidNotEnd");
  EXPECT_EQ(Condition("low", api::kPreemptedCondition)["status"], "False");
  clock_.Advance(3'600'000);
  EXPECT_EQ(PassOfANewProcess().preemptions, 0) << "stopping it would not help";
}

TEST_F(PreemptionGraceTest, AJobThatRanForLongerThanItSaidMakesRoomForOneOfItsPriority) {
  AddLow({{"runSeconds", 100}});
  AddHigh("other", json::object());
  PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.preemptions, 0);
  EXPECT_LE(report.wake_in_ms, 101'000);
  clock_.Advance(102'000);
  EXPECT_EQ(PassOfANewProcess().preemptions, 1);
  RunUntilStable();
  EXPECT_EQ(Bound("other"), 3);
}

}  // namespace
}  // namespace yardmaster::extender
