// What must not hold a preemption up, and what must not take its place away.
#include "gtest/gtest.h"

#include "pkg/extender/testing/preemption_fixture.h"

namespace yardmaster::extender {
namespace {

// Pods that can never run keep no victim on its hosts.
class UnusablePodsTest : public PreemptionTest {
 protected:
  void ExpectHighGetsItsPlace() {
    for (int i = 0; i < 6; ++i) {
      PassOfANewProcess();
      MakeMissingPods();
      RunReleasedPods();
    }
    EXPECT_TRUE(Placed("high"));
    EXPECT_FALSE(Placed("low"));
  }
  json Unbound(const std::string& name) {
    json pod = *client_.Find(kube::Pods(), "team", name);
    pod["spec"].erase("nodeName");
    pod["status"]["phase"] = "Pending";
    return pod;
  }
};

TEST_F(UnusablePodsTest, APodWithCopiedLabelsAndWithoutAControllerKeepsNoVictimOnItsHosts) {
  AddLow();
  AddHigh();
  PassOfANewProcess();
  json copy = Unbound("low-0");
  copy["metadata"]["name"] = "copy";
  copy["metadata"]["uid"] = "copy";
  copy["metadata"].erase("ownerReferences");
  copy["spec"].erase("affinity");
  client_.Seed(kube::Pods(), copy);
  ExpectHighGetsItsPlace();
}

TEST_F(UnusablePodsTest, ADeletedPodThatWasNeverBoundKeepsNoVictimOnItsHosts) {
  AddLow();
  AddHigh();
  PassOfANewProcess();
  json pod = Unbound("low-0");
  pod["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
  pod["metadata"]["finalizers"] = {"example.com/kept"};
  pod["spec"].erase("affinity");
  client_.Seed(kube::Pods(), pod);
  ExpectHighGetsItsPlace();
}

TEST_F(PreemptionTest, AVictimThatCannotBeReadIsNeitherWrittenNorStopped) {
  AddLow();
  AddHigh();
  Process process(*this, /*leader=*/true);
  process.Pass();
  json victim = *client_.Find(kube::Gangs(), "team", "trainingjob-low");
  victim["status"]["assignments"][0]["rank"] = 3;
  client_.Seed(kube::Gangs(), victim);
  const json before = GangStatus("low");
  const PassReport report = process.Pass();
  EXPECT_EQ(report.evicted_pods, 0);
  EXPECT_EQ(GangStatus("low"), before) << "what cannot be read is not written over";
  EXPECT_EQ(Condition("high", api::kPreemptingCondition)["reason"], "PlaceLost");
}

// `low` has left for `high`, whose commit was refused.
class KeptPlaceTest : public PreemptionTest {
 protected:
  KeptPlaceTest() : process_(*this, /*leader=*/true) {}
  void LeaveWithoutCommit() {
    AddLow();
    AddHigh();
    process_.Lead();
    process_.Pass();
    process_.Pass();
    MakeMissingPods();
    client_.SetHook([](const kube::Call& call) -> absl::Status {
      const bool of_high =
          call.verb == kube::Verb::kReplace && call.target.name == "trainingjob-high";
      return of_high ? absl::PermissionDeniedError("policy") : absl::OkStatus();
    });
    process_.Pass();
    client_.SetHook(nullptr);
    ASSERT_FALSE(Placed("low"));
    ASSERT_FALSE(Placed("high"));
  }
  Process process_;
};

TEST_F(KeptPlaceTest, ItStaysKeptWhileTheGangWaitsForAnotherTry) {
  LeaveWithoutCommit();
  process_.Pass();
  EXPECT_FALSE(Placed("low")) << "the hosts that it left are kept";
  clock_.Advance(60'000);
  process_.Pass();
  EXPECT_TRUE(Placed("high"));
}

TEST_F(KeptPlaceTest, ItStaysKeptWhileTheGangDoesNotSayYetWhatItsPodsSay) {
  LeaveWithoutCommit();
  json job = *client_.Find(kube::TrainingJobs(), "team", "high");
  job["spec"]["priority"] = 11;
  client_.Seed(kube::TrainingJobs(), job);
  json pod = *client_.Find(kube::Pods(), "team", "high-0");
  pod["metadata"]["labels"]["changed"] = "yes";
  client_.Seed(kube::Pods(), pod);
  process_.Pass();
  EXPECT_FALSE(Placed("low")) << "the hosts that it left are kept";
  clock_.Advance(60'000);
  process_.Pass();
  EXPECT_TRUE(Placed("high"));
}

TEST_F(KeptPlaceTest, ItStaysKeptWhileTheGangIsInQuarantine) {
  LeaveWithoutCommit();
  json gang = *client_.Find(kube::Gangs(), "team", "trainingjob-high");
  gang["status"]["planGeneration"] = "one";
  client_.Seed(kube::Gangs(), gang);
  ASSERT_EQ(process_.Pass().isolated, 1);
  EXPECT_FALSE(Placed("low")) << "the hosts that it left are kept";
}

}  // namespace
}  // namespace yardmaster::extender
