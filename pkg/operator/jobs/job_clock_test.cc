// Jobs whose times were written by a leader with another clock, and checkpoints of programs with
// another clock.
#include "pkg/api/checkpoint_mark.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

constexpr std::int64_t kHourMs = 3'600'000;

class JobClockTest : public JobFixture {
 protected:
  // The next leader's clock is an hour behind that of the one before.
  void LeadAnHourBehind() {
    clock_.Advance(-kHourMs);
    NewLeader();
  }
  void Report(std::int64_t time_ms) {
    json pod = Pod(0);
    pod["metadata"]["annotations"][api::kCheckpointAnnotation] =
        api::EncodeCheckpointMark({time_ms, 20});
    client_.Seed(kube::Pods(), pod);
  }
  int Pods() { return static_cast<int>(client_.All(kube::Pods()).size()); }
};

TEST_F(JobClockTest, ABackoffIsNoLongerBecauseTheLeaderBeforeHadAClockThatWasAhead) {
  SeedJob(2, 2, {{"recovery", {{"backoffSeconds", 10}}}});
  RunAll();
  for (int i = 0; i < 2; ++i) {
    FailPod(0, 1);
    RunUntilStable();
    if (i == 0) RunAll();
  }
  ASSERT_EQ(Pods(), 0) << "the second restart in a row waits";
  LeadAnHourBehind();
  RunUntilStable();
  clock_.Advance(10'000);
  RunUntilStable();
  EXPECT_EQ(Pods(), 2);
}

TEST_F(JobClockTest, RestartsAreCountedNoLongerBecauseTheLeaderBeforeHadAClockThatWasAhead) {
  SeedJob(2, 2, {{"recovery", {{"maxRestarts", 1}, {"restartWindowSeconds", 60}}}});
  RunAll();
  FailPod(0, 1);
  RunUntilStable();
  RunAll();
  LeadAnHourBehind();
  RunAll();
  clock_.Advance(120'000);
  FailPod(0, 1);
  RunUntilStable();
  EXPECT_NE(Condition("Failed"), "True") << Message("Failed");
}

TEST_F(JobClockTest, ACheckpointIsAwaitedNoLongerBecauseTheLeaderBeforeHadAClockThatWasAhead) {
  SeedJob(2, 2, {{"checkpoint", {{"request", "Annotation"}, {"graceSeconds", 100}}}});
  RunAll();
  Suspend(true);
  RunUntilStable();
  ASSERT_EQ(Pods(), 2);
  LeadAnHourBehind();
  RunUntilStable();
  clock_.Advance(5'000);
  Report(clock_.WallMs());
  RunUntilStable();
  EXPECT_EQ(Pods(), 0) << "it was written after it had been asked for";
}

TEST_F(JobClockTest, AProgramThatWritesNoCheckpointIsGivenItsGracePeriodWhateverTheClocks) {
  SeedJob(2, 2, {{"checkpoint", {{"request", "Annotation"}, {"graceSeconds", 100}}}});
  RunAll();
  Suspend(true);
  RunUntilStable();
  LeadAnHourBehind();
  RunUntilStable();
  EXPECT_EQ(Pods(), 2);
  clock_.Advance(100'000);
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
}

TEST_F(JobClockTest, AMarkOfAClockThatIsSecondsAheadCounts) {
  SeedJob(2, 2, {{"checkpoint", {{"request", "Annotation"}, {"graceSeconds", 600}}}});
  RunAll();
  Suspend(true);
  RunUntilStable();
  clock_.Advance(5'000);
  Report(clock_.WallMs() + 3'000);
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
}

}  // namespace
}  // namespace yardmaster::op
