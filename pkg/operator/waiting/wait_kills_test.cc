// The process is killed at every write of a job's wait, or loses answers, and the next one carries
// on: the end is the same.
#include "pkg/gather/pods_to_come.h"
#include "pkg/kube/testing/kill_at_write.h"
#include "pkg/operator/testing/wait_fixture.h"

namespace yardmaster::op {
namespace {

using api::GangPods;

// The parameter: how many writes the first process gets through.
class WaitKillsTest : public WaitFixture, public ::testing::WithParamInterface<int> {
 protected:
  void SettleThroughAKill() {
    {
      kube::KillAtWrite kill(client_, GetParam());
      for (int i = 0; i < 8; ++i) (void)TryTurn();
    }
    NewLeader();
    Settle();
  }
  void SettleThroughLostAnswers() {
    for (const kube::Verb verb : {kube::Verb::kCreate, kube::Verb::kReplace, kube::Verb::kPatch}) {
      client_.FailNext(verb, "*", absl::UnavailableError("lost"), GetParam() + 1,
                       kube::FaultWhen::kAfterEffect);
    }
    for (int i = 0; i < 8; ++i) (void)TryTurn();
    Settle();
  }
  void PlaceAndResume() {
    SeedJob(2);
    Settle();
    Place();
    Settle();
  }
};

TEST_P(WaitKillsTest, AJobAsksAndIsResumedOnce) {
  SeedJob(2);
  SettleThroughAKill();
  ASSERT_EQ(Pods(), GangPods::kFollow);
  EXPECT_TRUE(Suspended());
  Place();
  SettleThroughAKill();
  EXPECT_FALSE(Suspended());
  EXPECT_TRUE(IsMarked());
  EXPECT_EQ(Pods(), GangPods::kFollow);
}

TEST_P(WaitKillsTest, LostAnswersChangeNothing) {
  SeedJob(2);
  SettleThroughLostAnswers();
  ASSERT_EQ(Pods(), GangPods::kFollow);
  Place();
  SettleThroughLostAnswers();
  EXPECT_FALSE(Suspended());
  EXPECT_EQ(Pods(), GangPods::kFollow);
  MarkReleased();
  SettleThroughLostAnswers();
  EXPECT_EQ(Pods(), GangPods::kFirst);
  EXPECT_FALSE(Suspended());
}

TEST_P(WaitKillsTest, PodsThatDoNotComeEndInASuspendedJobWithoutHosts) {
  PlaceAndResume();
  clock_.Advance(gather::kPodsComeMs);
  SettleThroughAKill();
  EXPECT_TRUE(Suspended());
  EXPECT_FALSE(IsMarked());
  EXPECT_EQ(Pods(), GangPods::kRefused);
}

TEST_P(WaitKillsTest, AJobThatSomebodySuspendsAgainWaits) {
  PlaceAndResume();
  ChangeJob({{"spec", {{"suspend", true}}}});
  SettleThroughAKill();
  EXPECT_EQ(Pods(), GangPods::kRefused);
  GiveBack();
  SettleThroughAKill();
  clock_.Advance(600'000);
  Settle();
  EXPECT_EQ(Pods(), GangPods::kFollow);
  EXPECT_FALSE(IsMarked());
  EXPECT_TRUE(Suspended());
}

// Two processes that both believe to lead take turns on what the other has just written.
TEST_P(WaitKillsTest, TwoLeadersResumeOnce) {
  SeedJob(2);
  Settle();
  auto first_cache = std::move(cache_);
  auto first = std::move(controller_);
  NewLeader();
  Sync();
  kube::Relist(client_, kube::Gangs(), first_cache->sink(state::Kind::kGang));
  Place();
  const std::string key = WaitKey("team", "Job", "a");
  for (int i = 0; i < 4; ++i) {
    (void)first->Reconcile(key);
    (void)controller_->Reconcile(key);
    if (i == GetParam())
      kube::Relist(client_, kube::Gangs(), first_cache->sink(state::Kind::kGang));
  }
  Settle();
  EXPECT_FALSE(Suspended());
  EXPECT_EQ(Pods(), GangPods::kFollow);
  EXPECT_EQ(CountNotices("SuspendedByOthers"), 0);
}

INSTANTIATE_TEST_SUITE_P(Writes, WaitKillsTest, ::testing::Range(0, 4));

}  // namespace
}  // namespace yardmaster::op
