// Turns: which pods one look at a job makes, so that jobs with few pods and jobs that recover do
// not wait for those with many.
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
    const auto result = controller_->RunOnce("team/a", turn);
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
  for (int rank = 0; rank < 4; ++rank) EXPECT_EQ(Phase(rank), "Pending") << "recreated";
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

TEST_F(JobTurnTest, TheTurnsOfOneCreationMakeTheServiceOnce) {
  SeedJob(150, 1);
  client_.ClearCalls();
  Turn(JobTurn::kBackground);
  TurnUnsynced(JobTurn::kBackground);
  TurnUnsynced(JobTurn::kBackground);
  EXPECT_EQ(Pods(), 150u);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kCreate, "services"), 1);
}

TEST_F(JobTurnTest, ALostRankIsReplacedBeforeTheServiceIsLookedAt) {
  SeedJob(2, 2);
  RunUntilStable();
  ASSERT_TRUE(client_.Delete({kube::Services(), "team", "a", ""}, {}).ok());
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", PodName("a", 1), ""}, {}).ok());
  client_.ClearCalls();
  RunUntilStable();
  std::vector<std::string> made;
  for (const kube::Call& call : client_.calls()) {
    if (call.verb == kube::Verb::kCreate) made.push_back(call.target.resource.plural);
  }
  EXPECT_EQ(made, (std::vector<std::string>{"pods", "services"}));
}

TEST_F(JobTurnTest, ATurnLongAfterTheLastOrForAnotherSpecLooksForTheServiceAgain) {
  SeedJob(300, 1);
  Turn(JobTurn::kBackground);
  client_.ClearCalls();
  clock_.Advance(kCreationMs);
  Turn(JobTurn::kBackground);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "services"), 1) << "too old";
  nlohmann::json job = *client_.Find(kube::TrainingJobs(), "team", "a");
  job["metadata"]["generation"] = 2;
  job["spec"]["template"]["spec"]["containers"][0]["image"] = "another";
  client_.Seed(kube::TrainingJobs(), job);
  Turn(JobTurn::kBackground);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kGet, "services"), 2) << "another spec";
  const auto pod = client_.Find(kube::Pods(), "team", PodName("a", 188));
  ASSERT_TRUE(pod.has_value());
  EXPECT_EQ((*pod)["spec"]["containers"][0]["image"], "another");
}

TEST_F(JobTurnTest, TheServiceThatIsThereResolvesWhatTheJobPublishesNow) {
  SeedJob(2, 2);
  RunUntilStable();
  const auto selector = [this] {
    return (*client_.Find(kube::Services(), "team", "a"))["spec"]["selector"];
  };
  EXPECT_TRUE(selector().contains(api::kRankLabel));
  nlohmann::json job = *client_.Find(kube::TrainingJobs(), "team", "a");
  job["metadata"]["generation"] = 2;
  job["spec"]["publish"] = "All";
  client_.Seed(kube::TrainingJobs(), job);
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", PodName("a", 1), ""}, {}).ok());
  RunUntilStable();
  EXPECT_FALSE(selector().contains(api::kRankLabel));
  EXPECT_EQ(selector()[api::kJobLabel], "a");
}

TEST_F(JobTurnTest, ATurnGoesOnAtThePaceThatTheOneBeforeReached) {
  SeedJob(100, 1);
  // Every batch takes 60 ms, regardless of its size: that many pods were made when one begins.
  const std::set<int> made_when_one_begins = {0, 1, 3, 7};
  std::atomic<int> made = 0;
  client_.SetHook([&](const kube::Call& call) {
    if (call.verb == kube::Verb::kCreate && call.target.resource == kube::Pods() &&
        made_when_one_begins.count(made++) != 0) {
      clock_.Advance(60);
    }
    return absl::OkStatus();
  });
  EXPECT_EQ(Turn(JobTurn::kBackground).pods_left, 97u) << "1 and 2 pods";
  EXPECT_EQ(Turn(JobTurn::kBackground).pods_left, 89u) << "4 pods twice";
}

TEST_F(JobTurnTest, AnErrorSlowsTheNextTurnDown) {
  SeedJob(100, 1);
  client_.SetHook([this](const kube::Call& call) {
    if (call.verb == kube::Verb::kCreate && call.target.resource == kube::Pods()) {
      clock_.Advance(20);
    }
    return absl::OkStatus();
  });
  EXPECT_EQ(Turn(JobTurn::kBackground).pods_left, 93u) << "1, 2 and 4 pods";
  client_.FailNext(kube::Verb::kCreate, "pods", absl::UnavailableError("busy"), 1);
  EXPECT_FALSE(controller_->RunOnce("team/a", JobTurn::kBackground).ok());
  const std::size_t before = Pods();
  Turn(JobTurn::kBackground);
  EXPECT_EQ(Pods() - before, 7u) << "1, 2 and 4 pods again";
}

TEST_F(JobTurnTest, PodsThatAreRefusedAreAnErrorOfTheBackgroundTurnAndStayLeft) {
  SeedJob(4, 4);
  client_.FailNext(kube::Verb::kCreate, "pods", absl::PermissionDeniedError("exceeded quota: q"),
                   1);
  Turn(JobTurn::kPrompt);
  EXPECT_FALSE(controller_->RunOnce("team/a", JobTurn::kBackground).ok());
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
  EXPECT_FALSE(controller_->RunOnce("team/a", JobTurn::kBackground).ok());
  Turn(JobTurn::kBackground);
  EXPECT_EQ(Condition("Stalled"), "True");
  Turn(JobTurn::kBackground);
  Turn(JobTurn::kBackground);
  EXPECT_EQ(Condition("Stalled"), "False");
}

}  // namespace
}  // namespace yardmaster::op
