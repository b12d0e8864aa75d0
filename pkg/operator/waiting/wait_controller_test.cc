#include "pkg/operator/waiting/wait_controller.h"

#include "pkg/gather/pods_to_come.h"
#include "pkg/operator/testing/wait_fixture.h"

namespace yardmaster::op {
namespace {

using api::GangPods;

class WaitControllerTest : public WaitFixture {
 protected:
  void SeedAndPlace(int pods = 2) {
    SeedJob(pods);
    Settle();
    Place();
  }
  void PlaceAndResume() {
    SeedAndPlace();
    Settle();
    ASSERT_FALSE(Suspended());
  }
};

TEST_F(WaitControllerTest, ASuspendedJobAsksForAPlaceAndStaysSuspended) {
  SeedJob(2);
  Settle();
  const api::Gang gang = Gang().value();
  EXPECT_EQ(gang.pods, GangPods::kFollow);
  EXPECT_EQ(gang.job.workers, 2);
  EXPECT_EQ(gang.owner.uid, "job");
  ASSERT_EQ(gang.metadata.owners.size(), 1u);
  EXPECT_EQ(gang.metadata.owners[0].uid, "job");
  EXPECT_FALSE(gang.metadata.owners[0].controller);
  EXPECT_TRUE(Suspended());
  EXPECT_TRUE(client_.All(kube::Pods()).empty());
}

TEST_F(WaitControllerTest, ItIsResumedOnceItsGangHasHosts) {
  SeedAndPlace();
  Settle();
  EXPECT_FALSE(Suspended());
  EXPECT_TRUE(IsMarked());
  EXPECT_EQ(CountNotices("Resumed"), 1);
  EXPECT_EQ(Pods(), GangPods::kFollow) << "its pods are still to come";
}

TEST_F(WaitControllerTest, ItsGangSaysFirstWhenAllPodsWereReleased) {
  PlaceAndResume();
  MakePod(0);
  MakePod(1);
  MarkReleased();
  Settle();
  EXPECT_EQ(Pods(), GangPods::kFirst);
  EXPECT_FALSE(Suspended());
}

TEST_F(WaitControllerTest, AJobWhosePodsDoNotComeIsSuspendedAgainAndLetsOthersGoFirst) {
  PlaceAndResume();
  MakePod(0);
  clock_.Advance(gather::kPodsComeMs - 1);
  Settle();
  EXPECT_FALSE(Suspended());
  clock_.Advance(1);
  Settle();
  EXPECT_TRUE(Suspended());
  EXPECT_FALSE(IsMarked());
  EXPECT_EQ(Pods(), GangPods::kRefused);
  EXPECT_EQ(CountNotices("PodsMissing"), 1);
  EXPECT_EQ(CountNotices("SuspendedAgain"), 1);
  GiveBack();
  Sync();
  const std::int64_t again_ms = Turn();
  EXPECT_EQ(again_ms, 10'000);
  EXPECT_EQ(Pods(), GangPods::kRefused);
  clock_.Advance(again_ms);
  Settle();
  EXPECT_EQ(Pods(), GangPods::kFollow);
}

TEST_F(WaitControllerTest, PodsThatAreAllThereAreNotMissing) {
  PlaceAndResume();
  MakePod(0);
  MakePod(1);
  clock_.Advance(gather::kPodsComeMs);
  EXPECT_GT(Turn(), 0);
  EXPECT_FALSE(Suspended());
  EXPECT_EQ(Pods(), GangPods::kFollow);
}

TEST_F(WaitControllerTest, AJobWhoseHostsWereGivenBackIsSuspendedAgain) {
  PlaceAndResume();
  GiveBack();
  Settle();
  EXPECT_TRUE(Suspended());
  EXPECT_EQ(CountNotices("SuspendedAgain"), 1);
}

TEST_F(WaitControllerTest, AJobThatAUserSuspendsBeforeItsPodsWereThereGivesItsHostsBack) {
  PlaceAndResume();
  ChangeJob({{"spec", {{"suspend", true}}}});
  Settle();
  EXPECT_TRUE(Suspended()) << "it is not resumed for hosts that it did not use";
  EXPECT_EQ(Pods(), GangPods::kRefused);
  EXPECT_EQ(CountNotices("SuspendedByOthers"), 1);
  GiveBack();
  Settle();
  EXPECT_FALSE(IsMarked());
  clock_.Advance(10'000);
  Settle();
  EXPECT_EQ(Pods(), GangPods::kFollow);
}

TEST_F(WaitControllerTest, AJobThatAUserSuspendsWhileItRunsWaitsForAnotherPlace) {
  PlaceAndResume();
  MakePod(0);
  MakePod(1);
  MarkReleased();
  Settle();
  ChangeJob({{"spec", {{"suspend", true}}}});
  Settle();
  EXPECT_EQ(Pods(), GangPods::kFirst) << "the extender gives the hosts back";
  EXPECT_TRUE(Suspended());
  GiveBack();
  Settle();
  EXPECT_EQ(Pods(), GangPods::kFollow);
  EXPECT_FALSE(IsMarked());
  Place();
  Settle();
  EXPECT_FALSE(Suspended());
}

TEST_F(WaitControllerTest, WithoutTheLabelASuspendedJobStaysSuspended) {
  SeedJob(2);
  Settle();
  ChangeJob({{"metadata", {{"labels", {{api::kWaitLabel, nullptr}}}}}});
  Settle();
  EXPECT_EQ(Pods(), GangPods::kFirst);
  Place();
  Settle();
  EXPECT_TRUE(Suspended());
}

TEST_F(WaitControllerTest, AJobThatLosesTheLabelWhileItHasHostsGivesThemBack) {
  SeedAndPlace();
  ChangeJob({{"metadata", {{"labels", {{api::kWaitLabel, nullptr}}}}}});
  Settle();
  EXPECT_EQ(Pods(), GangPods::kRefused);
  GiveBack();
  Settle();
  EXPECT_EQ(Pods(), GangPods::kFirst);
  EXPECT_TRUE(Suspended());
}

TEST_F(WaitControllerTest, AJobThatAUserResumesHasItsPodsFirst) {
  SeedJob(2);
  Settle();
  ChangeJob({{"spec", {{"suspend", false}}}});
  Settle();
  EXPECT_EQ(Pods(), GangPods::kFirst);
  EXPECT_FALSE(Suspended());
  EXPECT_FALSE(IsMarked());
}

TEST_F(WaitControllerTest, AJobThatWasNeverSuspendedIsLeftAloneAndTold) {
  SeedJob(2, {{"spec", {{"suspend", false}}}});
  Settle();
  EXPECT_EQ(CountNotices("NotSuspended"), 1);
  EXPECT_FALSE(Gang());
  EXPECT_FALSE(Suspended());
}

TEST_F(WaitControllerTest, JobsThatOthersSuspendAreLeftAlone) {
  const std::vector<json> changes = {
      {{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}}},
      {{"spec", {{"managedBy", "kueue.x-k8s.io/multikueue"}}}},
      {{"metadata",
        {{"ownerReferences",
          json::array({{{"kind", "JobSet"}, {"name", "s"}, {"controller", true}}})}}}}};
  for (const json& change : changes) {
    notices_.clear();
    SeedJob(2, change);
    NewLeader();
    Settle();
    EXPECT_FALSE(Gang()) << change;
    EXPECT_TRUE(Suspended()) << change;
    EXPECT_EQ(CountNotices("WaitRefused"), 1) << change;
    ASSERT_TRUE(client_.Delete({Jobs(), "team", "a", ""}, {}).ok());
  }
}

TEST_F(WaitControllerTest, AJobThatGoesToAQueueWhileItWaitsIsLeftToIt) {
  SeedAndPlace();
  ChangeJob({{"metadata", {{"labels", {{"kueue.x-k8s.io/queue-name", "q"}}}}}});
  Settle();
  EXPECT_TRUE(Suspended());
  EXPECT_EQ(Pods(), GangPods::kRefused);
}

TEST_F(WaitControllerTest, AnUnknownValueOfTheLabelIsTold) {
  SeedJob(2, {{"metadata", {{"labels", {{api::kWaitLabel, "suspended"}}}}}});
  Settle();
  EXPECT_FALSE(Gang());
  EXPECT_NE(LastNote().find("the only value is Suspended"), std::string::npos) << LastNote();
}

TEST_F(WaitControllerTest, AJobThatChangesItsSizeAsksForIt) {
  SeedJob(2);
  Settle();
  json job = SuspendedJob(4);
  ChangeJob({{"spec", job["spec"]}});
  Settle();
  EXPECT_EQ(Gang()->job.workers, 4);
}

TEST_F(WaitControllerTest, AJobThatChangesWhileItHasHostsGivesThemBack) {
  SeedAndPlace();
  json job = SuspendedJob(4);
  ChangeJob({{"spec", job["spec"]}});
  Settle();
  EXPECT_TRUE(Suspended());
  EXPECT_EQ(Pods(), GangPods::kRefused);
  GiveBack();
  Settle();
  EXPECT_EQ(Pods(), GangPods::kFollow);
  EXPECT_EQ(Gang()->job.workers, 4);
}

TEST_F(WaitControllerTest, AGangThatIsStoppedForAnotherIsNotResumed) {
  SeedAndPlace();
  api::Gang gang = Gang().value();
  SetCondition(gang, api::kPreemptedCondition, true);
  Write(gang);
  Settle();
  EXPECT_TRUE(Suspended());
}

TEST_F(WaitControllerTest, AJobThatEndsAsksNoMore) {
  SeedJob(2);
  Settle();
  ChangeJob(
      {{"status", {{"conditions", json::array({{{"type", "Failed"}, {"status", "True"}}})}}}});
  Settle();
  EXPECT_EQ(Pods(), GangPods::kFirst);
}

TEST_F(WaitControllerTest, AJobThatIsDeletedGivesItsHostsBack) {
  SeedAndPlace();
  ASSERT_TRUE(client_.Delete({Jobs(), "team", "a", ""}, {}).ok());
  Settle();
  EXPECT_EQ(Pods(), GangPods::kRefused);
}

TEST_F(WaitControllerTest, AJobMadeAgainWaitsUntilTheGangOfTheFormerOneIsGone) {
  SeedAndPlace();
  ASSERT_TRUE(client_.Delete({Jobs(), "team", "a", ""}, {}).ok());
  SeedJob(2, {{"metadata", {{"uid", "later"}}}});
  EXPECT_GT(Turn(), 0);
  EXPECT_TRUE(Suspended());
  ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", "job-a", ""}, {}).ok());
  Settle();
  EXPECT_EQ(Gang()->owner.uid, "later");
}

TEST_F(WaitControllerTest, AQuotaWithoutRoomIsSaidBeforeHostsArePromised) {
  client_.Seed({"", "v1", "resourcequotas", "ResourceQuota", true},
               {{"metadata", {{"name", "q"}, {"namespace", "team"}}},
                {"spec", {{"hard", {{"pods", "1"}}}}},
                {"status", {{"hard", {{"pods", "1"}}}, {"used", {{"pods", "0"}}}}}});
  SeedJob(2);
  EXPECT_GT(Turn(), 0);
  EXPECT_FALSE(Gang());
  EXPECT_EQ(CountNotices("QuotaExceeded"), 1);
}

TEST_F(WaitControllerTest, AJobThatAQuotaRefusesIsLookedAtLessAndLessOftenAndSaysSoOnce) {
  SeedJob(3);
  std::vector<std::int64_t> waits;
  for (int used = 0; used < 4; ++used) {
    client_.Seed(
        {"", "v1", "resourcequotas", "ResourceQuota", true},
        {{"metadata", {{"name", "q"}, {"namespace", "team"}}},
         {"spec", {{"hard", {{"pods", "3"}}}}},
         {"status", {{"hard", {{"pods", "3"}}}, {"used", {{"pods", StrCat(1 + used % 3)}}}}}});
    waits.push_back(Turn());
  }
  EXPECT_EQ(CountNotices("QuotaExceeded"), 1) << "its numbers change with every look";
  EXPECT_EQ(waits, (std::vector<std::int64_t>{30'000, 60'000, 120'000, 120'000}));
}

TEST_F(WaitControllerTest, AJobThatAdmissionLeavesWithoutTheGateIsLookedAtAgain) {
  SeedJob(2, {{"spec", {{"template", {{"spec", {{"schedulingGates", nullptr}}}}}}}});
  EXPECT_GT(Turn(), 0) << "the webhook that adds it may come later";
  EXPECT_EQ(CountNotices("WaitRefused"), 1);
}

TEST_F(WaitControllerTest, APolicyThatRefusesThePodsIsSaid) {
  SeedJob(2);
  client_.FailNext(kube::Verb::kCreate, "pods", absl::PermissionDeniedError("not here"));
  EXPECT_GT(Turn(), 0);
  EXPECT_FALSE(Gang());
  EXPECT_EQ(CountNotices("PodsRefused"), 1);
}

TEST_F(WaitControllerTest, AJobThatCannotBeResumedGivesItsHostsBack) {
  SeedAndPlace();
  client_.FailNext(kube::Verb::kPatch, "jobs", absl::PermissionDeniedError("not you"));
  EXPECT_GT(Turn(), 0);
  EXPECT_TRUE(Suspended());
  EXPECT_EQ(Pods(), GangPods::kRefused);
  EXPECT_EQ(CountNotices("WaitRefused"), 1);
}

TEST_F(WaitControllerTest, AWatchThatIsBehindDoesNotSuspendAJobThatHasHosts) {
  SeedJob(2);
  Settle();
  // This process has read the Gang before it got its hosts, and another one has resumed the job.
  Sync();
  Place();
  ChangeJob({{"metadata", {{"annotations", {{api::kResumedAnnotation, Gang()->metadata.uid}}}}},
             {"spec", {{"suspend", false}}}});
  ASSERT_TRUE(controller_->Reconcile(WaitKey("team", "Job", "a")).ok());
  EXPECT_FALSE(Suspended());
}

TEST_F(WaitControllerTest, AJobThatChangedMeanwhileIsNotResumed) {
  SeedAndPlace();
  client_.SetHook([this](const kube::Call& call) {
    // A user takes the label away between the read and the patch.
    if (call.verb == kube::Verb::kPatch && call.target.resource == Jobs()) {
      ChangeJob({{"metadata", {{"labels", {{api::kWaitLabel, nullptr}}}}}});
    }
    return absl::OkStatus();
  });
  EXPECT_GT(Turn(), 0);
  client_.SetHook({});
  EXPECT_TRUE(Suspended());
}

TEST_F(WaitControllerTest, AnOperatorWithoutTheFlagTakesRequestsBackAndReadsNoJob) {
  SeedAndPlace();
  NewLeader(/*enabled=*/false);
  client_.ClearCalls();
  Settle();
  EXPECT_EQ(Pods(), GangPods::kRefused);
  GiveBack();
  Settle();
  EXPECT_EQ(Pods(), GangPods::kFirst);
  EXPECT_TRUE(Suspended());
  for (const kube::Call& call : client_.calls()) EXPECT_NE(call.target.resource, Jobs());
}

TEST_F(WaitControllerTest, AFinishedJobWithoutTheLabelCostsNoWrite) {
  SeedJob(2, {{"metadata", {{"labels", {{api::kWaitLabel, nullptr}}}}}});
  const std::int64_t before = client_.version();
  Settle();
  EXPECT_EQ(client_.version(), before);
}

}  // namespace
}  // namespace yardmaster::op
