// Turns: which pods one look at a job makes, so that jobs with few pods and jobs that recover do not wait
// for those with many.
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

class JobTurnTest : public JobFixture {
 protected:
  TurnResult Turn(JobTurn turn) {
    Sync();
    return TurnUnsynced(turn);
  }
  // The watches have reported nothing since.
  TurnResult TurnUnsynced(JobTurn turn) {
    const auto result = controller_->Run("team/a", turn);
    EXPECT_TRUE(result.ok()) << result.status();
    return result.ok() ? *result : TurnResult{};
  }
  std::size_t Pods() { return client_.All(kube::Pods()).size(); }
  int CreatedPods() { return client_.CountCalls(kube::Verb::kCreate, "pods"); }
};

TEST_F(JobTurnTest, APromptTurnWritesTheStatusOfANewJobAndLeavesItsPods) {
  SeedJob(4, 4);
  EXPECT_EQ(Turn(JobTurn::kPrompt).pods_left, 4u);
  EXPECT_EQ(Pods(), 0u);
  EXPECT_EQ(Condition("Queued"), "True");
  EXPECT_EQ(Turn(JobTurn::kBackground).pods_left, 0u);
  EXPECT_EQ(Pods(), 4u);
}

TEST_F(JobTurnTest, ALargeJobIsMadeInSeveralTurnsWithOneRequestAPod) {
  SeedJob(150, 1);
  EXPECT_EQ(Turn(JobTurn::kBackground).pods_left, 87u);
  EXPECT_EQ(Pods(), 63u);
  EXPECT_EQ(TurnUnsynced(JobTurn::kBackground).pods_left, 24u) << "its own writes are known to it";
  EXPECT_EQ(TurnUnsynced(JobTurn::kBackground).pods_left, 0u);
  EXPECT_EQ(Pods(), 150u);
  EXPECT_EQ(CreatedPods(), 150);
}

TEST_F(JobTurnTest, AJobThatHasRunGetsItsSubstituteInAPromptTurn) {
  SeedJob(4, 5);
  RunAll();
  FailPod(2, 1);
  for (int i = 0; i < 4; ++i) Turn(JobTurn::kPrompt);
  EXPECT_EQ(Condition("Recovering"), "True");
  EXPECT_EQ(Pods(), 4u) << "all restart";
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(Phase(rank), "Pending") << "made anew";
}

TEST_F(JobTurnTest, APromptTurnOfAJobThatIsBeingMadeAddsNoPods) {
  SeedJob(150, 1);
  Turn(JobTurn::kBackground);
  EXPECT_EQ(Turn(JobTurn::kPrompt).pods_left, 87u) << "it would overtake jobs with fewer pods";
  EXPECT_EQ(Pods(), 63u);
}

TEST_F(JobTurnTest, ATurnEndsWithTheBatchInWhichItsTimeIsOver) {
  SeedJob(40, 1);
  client_.SetHook([this](const kube::Call& call) {
    if (call.verb == kube::Verb::kCreate && call.target.resource == kube::Pods()) {
      clock_.Advance(20);
    }
    return absl::OkStatus();
  });
  EXPECT_EQ(Turn(JobTurn::kBackground).pods_left, 33u) << "1, 2 and 4 pods";
}

TEST_F(JobTurnTest, PodsThatAreRefusedAreAnErrorOfTheBackgroundTurnAndStayLeft) {
  SeedJob(4, 4);
  client_.FailNext(kube::Verb::kCreate, "pods", absl::PermissionDeniedError("exceeded quota: q"),
                   1);
  Turn(JobTurn::kPrompt);
  EXPECT_FALSE(controller_->Run("team/a", JobTurn::kBackground).ok());
  EXPECT_EQ(Reason("Stalled"), "QuotaExceeded");
  EXPECT_EQ(Turn(JobTurn::kPrompt).pods_left, 4u);
  EXPECT_EQ(Condition("Stalled"), "True") << "a turn that makes no pods does not know better";
  EXPECT_EQ(Turn(JobTurn::kBackground).pods_left, 0u);
  EXPECT_EQ(Condition("Stalled"), "False");
}

TEST_F(JobTurnTest, AStalledJobIsNotReportedAsMadeBeforeItsLastPodIs) {
  SeedJob(150, 1);
  client_.FailNext(kube::Verb::kCreate, "pods", absl::PermissionDeniedError("exceeded quota: q"),
                   1);
  Sync();
  EXPECT_FALSE(controller_->Run("team/a", JobTurn::kBackground).ok());
  Turn(JobTurn::kBackground);
  EXPECT_EQ(Condition("Stalled"), "True");
  Turn(JobTurn::kBackground);
  Turn(JobTurn::kBackground);
  EXPECT_EQ(Condition("Stalled"), "False");
}

}  // namespace
}  // namespace yardmaster::op
