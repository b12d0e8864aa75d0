// Ranks that are made again after an incident: with the place and the network plan that they had,
// where these hold, and behind the gate otherwise.
#include "pkg/api/slot.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class JobAgainTest : public JobFixture {
 protected:
  // Two workers on n0 and n1, as the extender has released them.
  void RunJob(const json& recovery = {{"onWorkerFailure", "Restart"}}) {
    SeedJob(2, 3, {{"recovery", recovery}});
    SeedGang("n1", "");
    RunAll();
    for (int rank = 0; rank < 2; ++rank) {
      json pod = Pod(rank);
      pod["metadata"]["annotations"][api::kSlotAnnotation] =
          api::EncodeSlot({api::GangName(api::kTrainingJobKind, "a"), rank, "p0", "s0", {0}});
      pod["metadata"]["annotations"][api::kPriorityAnnotation] = "3";
      client_.Seed(kube::Pods(), pod);
    }
    RunUntilStable();
    ASSERT_EQ(Condition("Running"), "True");
    client_.ClearCalls();
  }
  void SeedGang(const std::string& host_of_1, const char* also) {
    api::Gang gang;
    gang.metadata.name = api::GangName(api::kTrainingJobKind, "a");
    gang.metadata.namespace_name = "team";
    gang.metadata.uid = "gang";
    gang.owner = {api::kGroupVersion, api::kTrainingJobKind, "a", "job", true};
    gang.job.workers = 2;
    gang.status.plan_generation = 1;
    gang.status.assignments = {{0, "n0", "p0", "s0", {0}}, {1, host_of_1, "p0", "s0", {0}}};
    for (const char* type : {api::kReleasedCondition, also}) {
      if (*type == 0) continue;
      api::SetCondition(gang.status.conditions,
                        {type, api::ConditionStatus::kTrue, "Because", "", 1, 0}, clock_.WallMs());
    }
    client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  }
};

TEST_F(JobAgainTest, ARestartIsOneCreateARank) {
  RunJob();
  FailPod(1, 1);
  RunUntilStable();
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(HasPod(rank)) << rank;
    EXPECT_FALSE(IsGated(rank)) << rank;
    EXPECT_EQ(HostOfPin(rank), StrCat("n", rank));
    const json annotations = Pod(rank)["metadata"]["annotations"];
    EXPECT_EQ(annotations[api::kPriorityAnnotation], "3");
    EXPECT_EQ(annotations[api::kAttemptAnnotation], "1");
  }
  EXPECT_EQ(client_.CountCalls(kube::Verb::kCreate, "pods"), 2);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "pods"), 0);
}

TEST_F(JobAgainTest, ARankWhoseHostIsLostWaitsBehindTheGate) {
  RunJob({{"onHostLoss", "Restart"}});
  SetNode("n1", false);
  RunUntilStable();
  clock_.Advance(60'000);
  RunUntilStable();
  ASSERT_TRUE(HasPod(0) && HasPod(1));
  EXPECT_FALSE(IsGated(0));
  EXPECT_TRUE(IsGated(1));
}

TEST_F(JobAgainTest, RanksOfAGangThatIsStoppedWaitBehindTheGate) {
  RunJob();
  SeedGang("n1", api::kPreemptedCondition);
  FailPod(1, 1);
  RunUntilStable();
  EXPECT_TRUE(IsGated(0));
  EXPECT_TRUE(IsGated(1));
}

TEST_F(JobAgainTest, TheLedgerAndNotThePodSaysWhereARankGoes) {
  RunJob();
  SeedGang("n2", "");
  FailPod(1, 1);
  RunUntilStable();
  EXPECT_FALSE(IsGated(0));
  EXPECT_TRUE(IsGated(1)) << "its place is n2, for which it has no plan";
}

TEST_F(JobAgainTest, WhereAPolicyForbidsPodsWithAPlaceTheyWaitBehindTheGate) {
  RunJob();
  client_.SetHook([](const kube::Call& call) {
    const bool placed = call.verb == kube::Verb::kCreate && call.target.resource == kube::Pods() &&
                        call.body["metadata"]["annotations"].contains(api::kSlotAnnotation);
    return placed ? absl::InvalidArgumentError("cannot be given to a new pod") : absl::OkStatus();
  });
  FailPod(1, 1);
  RunUntilStable();
  EXPECT_TRUE(IsGated(0));
  EXPECT_TRUE(IsGated(1));
  EXPECT_NE(Condition("Stalled"), "True");
}

TEST_F(JobAgainTest, WhatTheProcessHasForgottenWaitsBehindTheGate) {
  RunJob();
  FailPod(1, 1);
  // The decision and the removal of the pods.
  Reconcile();
  ASSERT_FALSE(HasPod(0));
  NewLeader();
  RunUntilStable();
  EXPECT_TRUE(IsGated(0));
  EXPECT_TRUE(IsGated(1));
}

}  // namespace
}  // namespace yardmaster::op
