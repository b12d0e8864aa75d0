// The process is killed at every write of a story in a queue, or loses answers, and the next one
// carries on: the end is the same.
#include "pkg/kube/testing/kill_at_write.h"
#include "pkg/operator/testing/queue_fixture.h"

namespace yardmaster::op {
namespace {

// The parameter: how many writes the first process gets through.
class QueueKillsTest : public QueueFixture, public ::testing::WithParamInterface<int> {
 protected:
  void SettleThroughAKill() {
    {
      kube::KillAtWrite kill(client_, GetParam());
      for (int i = 0; i < 12; ++i) (void)TryTurn();
    }
    NextLeader();
    Settle();
  }
  void TakeTurns(int turns = 20) {
    for (int i = 0; i < turns; ++i) (void)TryTurn();
  }
  // After as many turns as the parameter says, writes take effect and two answers of each kind are
  // lost.
  void LoseAnswers() {
    TakeTurns(GetParam());
    for (const kube::Verb verb : {kube::Verb::kCreate, kube::Verb::kPatch, kube::Verb::kDelete}) {
      client_.FailNext(verb, "*", absl::UnavailableError("lost"), 2, kube::FaultWhen::kAfterEffect);
    }
    TakeTurns();
  }
  void ExpectWaits() {
    EXPECT_EQ(Pods(), 0);
    EXPECT_EQ(client_.All(Workloads()).size(), 1u);
    EXPECT_FALSE(HoldsQuota());
    EXPECT_EQ(QueuePhaseOf(), "Pending");
  }
};

TEST_P(QueueKillsTest, AJobEntersItsQueueWithOneWorkload) {
  SeedQueued(2, 2);
  SettleThroughAKill();
  ExpectWaits();
}

TEST_P(QueueKillsTest, AnAdmissionMakesEveryPodOnItsFlavor) {
  SeedQueued(2, 2);
  Settle();
  Admit();
  SettleThroughAKill();
  EXPECT_EQ(Pods(), 2);
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(Pod(rank)["spec"]["nodeSelector"]["gpu"], "h100");
  }
  EXPECT_EQ(QueuePhaseOf(), "Admitted");
}

TEST_P(QueueKillsTest, AnEvictionEndsWithoutPodsAndWithoutQuota) {
  SeedQueued(2, 2);
  Settle();
  Admit();
  RunQueued();
  Evict();
  SettleThroughAKill();
  ExpectWaits();
  Admit();
  RunQueued();
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Status()["restarts"], 0);
}

TEST_P(QueueKillsTest, ADeletedWorkloadIsReplacedByOne) {
  SeedQueued(2, 2);
  Settle();
  Admit();
  RunQueued();
  ASSERT_TRUE(client_.Delete({Workloads(), "team", "trainingjob-a-job", ""}, {}).ok());
  SettleThroughAKill();
  ExpectWaits();
}

TEST_P(QueueKillsTest, TheEndOfTheJobIsTheEndOfItsQuota) {
  SeedQueued(2, 2);
  Settle();
  Admit();
  RunQueued();
  for (int rank = 0; rank < 2; ++rank) SetPod(rank, "Succeeded", StrCat("n", rank));
  SettleThroughAKill();
  EXPECT_EQ(Condition("Succeeded"), "True");
  EXPECT_TRUE(WorkloadIs("Finished"));
  EXPECT_TRUE(Workload()["metadata"].value("finalizers", json::array()).empty());
}

TEST_P(QueueKillsTest, LostAnswersChangeNothing) {
  SeedQueued(2, 2);
  LoseAnswers();
  ExpectWaits();
  Admit();
  LoseAnswers();
  for (int rank = 0; rank < 2; ++rank) SetPod(rank, "Running", StrCat("n", rank));
  TakeTurns();
  EXPECT_EQ(Condition("Running"), "True");
  Evict();
  LoseAnswers();
  ExpectWaits();
}

INSTANTIATE_TEST_SUITE_P(EveryWrite, QueueKillsTest, ::testing::Range(0, 12));

}  // namespace
}  // namespace yardmaster::op
