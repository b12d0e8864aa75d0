// Gangs whose pods follow their place.
#include "pkg/extender/facts/placed_first.h"

#include "pkg/extender/testing/placed_first_fixture.h"
#include "pkg/gather/pods_to_come.h"
#include "pkg/kube/testing/kill_at_write.h"

namespace yardmaster::extender {
namespace {

class PlacedFirstTest : public PlacedFirstFixture {};

TEST_F(PlacedFirstTest, AGangIsPlacedBeforeItHasAPod) {
  AddRequest("a", 2);
  PassOfANewProcess();
  EXPECT_EQ(Slots("a").size(), 2u);
  EXPECT_FALSE(Released("a"));
  CheckPromises();
}

TEST_F(PlacedFirstTest, AGangWhoseJobWantsNoPodsIsNotPlaced) {
  AddRequest("a", 2);
  ChangeJob("a", {{"spec", {{"suspend", true}}}});
  AddRequest("b", 2);
  ChangeJob("b", {{"metadata", {{"uid", "a-later-job"}}}});
  AddRequest("c", 2, /*workers_of_job=*/1);
  AddRequest("d", 2);
  SetPods("d", "Refused");
  Process process(*this, true);
  process.Pass();
  process.Pass();
  for (const char* job : {"a", "b", "c", "d"}) EXPECT_FALSE(Placed(job)) << job;
  ChangeJob("a", {{"spec", {{"suspend", false}}}});
  process.Pass();
  EXPECT_TRUE(Placed("a"));
}

TEST_F(PlacedFirstTest, AJobThatWaitsForQuotaIsNotPlaced) {
  AddRequest("a", 2);
  ChangeJob("a", {{"status", {{"queue", {{"phase", "Pending"}, {"message", "no quota"}}}}}});
  PassOfANewProcess();
  const auto job = api::DecodeTrainingJob(*client_.Find(kube::TrainingJobs(), "team", "a"));
  ASSERT_TRUE(job.ok() && job->status.queue.holds_job());
  EXPECT_FALSE(Placed("a"));
}

TEST_F(PlacedFirstTest, AGangWithPodsOfTheAttemptBeforeWaitsUntilTheyAreGone) {
  AddRequest("a", 2);
  AddPod("a", 0);
  PassOfANewProcess();
  EXPECT_FALSE(Placed("a"));
  DeletePod("a-0");
  PassOfANewProcess();
  EXPECT_TRUE(Placed("a"));
}

TEST_F(PlacedFirstTest, ItIsReleasedWhenThePodsOfAllRanksAreThere) {
  AddRequest("a", 2);
  Process process(*this, true);
  process.Pass();
  MakePod("a", 0);
  process.Pass();
  EXPECT_FALSE(Released("a"));
  MakePod("a", 1);
  process.Pass();
  process.Pass();
  EXPECT_TRUE(Released("a"));
  CheckPromises();
  RunReleasedPods();
  process.Pass();
  EXPECT_EQ(Slots("a").size(), 2u);
}

TEST_F(PlacedFirstTest, HostsAreFreeAgainWhereNoPodComes) {
  AddRequest("a", 2);
  Process process(*this, true);
  process.Pass();
  const json before = Slots("a");
  clock_.Advance(gather::kPodsComeMs - 1'000);
  process.Pass();
  EXPECT_EQ(Slots("a"), before);
  EXPECT_EQ(CountNotices("HostsGivenBack"), 0);
  clock_.Advance(2'000);
  process.Pass();
  EXPECT_EQ(CountNotices("HostsGivenBack"), 1);
  EXPECT_EQ(GangStatus("a")["planGeneration"], 2) << "it is planned again";
}

TEST_F(PlacedFirstTest, RefusedPodsGiveTheHostsBackOnceTheyAreGone) {
  AddRequest("a", 2);
  Process process(*this, true);
  process.Pass();
  MakePod("a", 0);
  process.Pass();
  SetPods("a", "Refused");
  process.Pass();
  EXPECT_TRUE(Placed("a")) << "its pod may still run";
  DeletePod("a-0");
  process.Pass();
  EXPECT_FALSE(Placed("a"));
  process.Pass();
  EXPECT_FALSE(Placed("a"));
  SetPods("a", "Follow");
  process.Pass();
  EXPECT_TRUE(Placed("a"));
}

TEST_F(PlacedFirstTest, PodsThatAreAllBehindTheGateCameFirst) {
  AddRequest("a", 2);
  SetPods("a", "Refused");
  AddPod("a", 0);
  AddPod("a", 1);
  Process process(*this, true);
  process.Pass();
  process.Pass();
  EXPECT_FALSE(SpecOf("a").contains("pods"));
  EXPECT_TRUE(Placed("a"));
}

TEST_F(PlacedFirstTest, HostsThatTheJobAvoidsAreNotPromised) {
  AddRequest("a", 1);
  PassOfANewProcess();
  const std::string host = Slots("a")[0]["host"];
  ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", GangName("a"), ""}, {}).ok());
  AddRequest("a", 1);
  ChangeJob("a", {{"status",
                   {{"recovery",
                     {{"avoidedHosts",
                       json::array({{{"host", host},
                                     {"until", FormatTime(clock_.WallMs() + 600'000)}}})}}}}}});
  PassOfANewProcess();
  ASSERT_TRUE(Placed("a"));
  EXPECT_NE(Slots("a")[0]["host"], host);
}

TEST_F(PlacedFirstTest, KilledAtAnyWriteTheNextProcessFinishes) {
  for (int killed_at = 1;; ++killed_at) {
    SCOPED_TRACE(StrCat("killed at write ", killed_at));
    DeleteAllJobs();
    AddRequest("a", 2);
    AddRequest("b", 3);
    int writes = 0;
    {
      kube::KillAtWrite kill(client_, killed_at - 1, absl::UnavailableError("killed"));
      PassOfANewProcess();
      writes = kill.writes();
    }
    CheckPromises();
    PassOfANewProcess();
    EXPECT_EQ(Slots("a").size(), 2u);
    EXPECT_EQ(Slots("b").size(), 3u);
    for (const char* job : {"a", "b"}) {
      for (std::size_t rank = 0; rank < Slots(job).size(); ++rank) {
        MakePod(job, static_cast<int>(rank));
      }
    }
    PassOfANewProcess();
    PassOfANewProcess();
    EXPECT_TRUE(Released("a") && Released("b"));
    CheckPromises();
    if (writes < killed_at) break;  // it was never killed
  }
}

}  // namespace
}  // namespace yardmaster::extender
