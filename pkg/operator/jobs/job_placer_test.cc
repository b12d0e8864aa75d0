// Jobs whose pods follow their place: what they ask for, how their pods are made, and what is taken
// back when pods are refused.
#include <chrono>
#include <condition_variable>
#include <mutex>

#include "pkg/api/slot.h"
#include "pkg/operator/capacity/capacity_observer.h"
#include "pkg/operator/jobs/refusal_reason.h"
#include "pkg/operator/testing/placed_job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class JobPlacerTest : public PlacedJobFixture {
 protected:
  static constexpr std::int64_t kNetworkWaitMs = 10'000;

  JobPlacerTest() {
    place_ = {.first = true, .network = &planned_, .network_wait_ms = kNetworkWaitMs};
    NewLeader();
  }

  void GiveBack() {
    api::Gang gang = Gang().value();
    gang.status.assignments.clear();
    SetGangCondition(gang, api::kPlannedCondition, false);
    SetGangCondition(gang, api::kReleasedCondition, false);
    Write(gang);
  }
  // As a round plans the network of the gang's ranks.
  void PlanNetwork() {
    std::set<int> ranks;
    for (int rank = 0; rank < Workers(); ++rank) ranks.insert(rank);
    planned_.Set(Gang().value(), std::move(ranks), [](int rank) {
      return Annotations{{api::kPriorityAnnotation, StrCat(rank)}};
    });
  }
  void AddFabric() {
    cache_->Deliver(state::Kind::kFabric,
                    json{{"apiVersion", api::kGroupVersion},
                         {"kind", "Fabric"},
                         {"metadata", {{"name", "f"}, {"uid", "f"}, {"resourceVersion", "1"}}},
                         {"spec", json::object()}});
  }
  // Calls that make pods, and those that ask what would be made.
  int Creates(bool dry_run) {
    int count = 0;
    for (const kube::Call& call : client_.calls()) {
      count += IsPodCreate(call) && call.dry_run == dry_run ? 1 : 0;
    }
    return count;
  }
  static bool IsPodCreate(const kube::Call& call) {
    return call.verb == kube::Verb::kCreate && kube::WhereOf(call.target) == "pods";
  }
  // Pod `name` is refused when it is made; to ask about it is not.
  void RefusePod(const std::string& name) {
    client_.SetHook([name](const kube::Call& call) {
      const bool refused =
          IsPodCreate(call) && !call.dry_run && call.body["metadata"]["name"] == name;
      return refused ? absl::PermissionDeniedError("a webhook says no") : absl::OkStatus();
    });
  }
  // One turn as the job loop has them.
  absl::StatusOr<TurnResult> Turn() {
    Sync();
    auto result = controller_->RunOnce("team/a", JobTurn::kBackground);
    if (IsRefusal(result.status())) {
      Sync();
      (void)controller_->RunOnce("team/a", JobTurn::kLook);
    }
    return result;
  }
  // A job of two that has its place and its plan.
  void PlacedJob() {
    SeedJob(2, 3);
    RunUntilStable();
    Place();
    PlanNetwork();
  }

  PlannedRanks planned_;
};

TEST_F(JobPlacerTest, AJobAsksForItsPlaceAndHasNoPodUntilItHasOne) {
  SeedJob(2, 3);
  RunUntilStable();
  const auto gang = Gang();
  ASSERT_TRUE(gang);
  EXPECT_EQ(gang->pods, api::GangPods::kFollow);
  EXPECT_EQ(gang->job.workers, 2);
  EXPECT_EQ(gang->owner.uid, "job");
  EXPECT_EQ(workload::AmountOf(gang->requests, api::kGpuResource), 8);
  EXPECT_EQ(Creates(/*dry_run=*/true), 1);
  EXPECT_EQ(Creates(/*dry_run=*/false), 0);
  const auto result = Turn();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->waits);
}

// Batches grow from one pod: 1, 2, 4 and 8, and then as many as calls may be under way.
TEST_F(JobPlacerTest, PodsOfAGangThatHasItsHostsAreMadeManyAtATime) {
  constexpr int kGrown = 15;
  const int workers = kGrown + static_cast<int>(kPlacedWriteThreads);
  SeedJob(workers, workers);
  RunUntilStable();
  Place();
  PlanNetwork();
  std::mutex mutex;
  std::condition_variable all_there;
  int calls = 0;
  bool together = true;
  client_.SetHook([&](const kube::Call& call) {
    if (!IsPodCreate(call) || call.dry_run) return absl::OkStatus();
    std::unique_lock lock(mutex);
    if (++calls == workers) all_there.notify_all();
    if (calls <= kGrown) return absl::OkStatus();
    together &= all_there.wait_for(lock, std::chrono::minutes(1), [&] { return calls == workers; });
    return absl::OkStatus();
  });
  const auto result = Turn();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->pods_left, 0u);
  EXPECT_TRUE(together) << "each of the last calls waited for all of them to be under way";
}

TEST_F(JobPlacerTest, WhatIsAskedForIsWhatAdmissionMakesOfThePods) {
  SeedJob(2, 3, {{"template", {{"spec", {{"priorityClassName", "high"}}}}}});
  client_.SetHook([](const kube::Call&) { return absl::OkStatus(); });
  RunUntilStable();
  ASSERT_TRUE(Gang());
  // Edited templates are asked about again.
  json containers = Job()["spec"]["template"]["spec"]["containers"];
  containers[0]["resources"] = {{"requests", {{"cpu", "3"}}}};
  Change({{"template", {{"spec", {{"containers", containers}}}}}});
  RunUntilStable();
  EXPECT_EQ(workload::AmountOf(Gang()->requests, "cpu"), 3'000);
  EXPECT_EQ(Creates(/*dry_run=*/true), 2);
}

TEST_F(JobPlacerTest, PodsAreMadeWithHostSlotAndNetworkInOneCreateEach) {
  PlacedJob();
  client_.ClearCalls();
  RunUntilStable();
  for (int rank = 0; rank < 2; ++rank) {
    ASSERT_TRUE(HasPod(rank)) << rank;
    EXPECT_FALSE(IsGated(rank)) << rank;
    EXPECT_EQ(HostOfPin(rank), StrCat("n", rank));
    const json annotations = Pod(rank)["metadata"]["annotations"];
    EXPECT_EQ(annotations[api::kPriorityAnnotation], StrCat(rank));
    EXPECT_EQ(annotations[api::kSlotAnnotation],
              api::EncodeSlot({GangName(), rank, "p0", "s0", {0}}));
  }
  EXPECT_EQ(Creates(/*dry_run=*/false), 2);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "pods"), 0);
}

TEST_F(JobPlacerTest, ATurnOfAGangThatHasItsHostsMakesHundredsOfPods) {
  SeedJob(150, 151);
  RunUntilStable();
  Place();
  PlanNetwork();
  // The turn of a job without a place would end after 63 pods, or 100 ms.
  client_.SetHook([this](const kube::Call& call) {
    if (IsPodCreate(call)) clock_.Advance(1);
    return absl::OkStatus();
  });
  const auto turn = Turn();
  ASSERT_TRUE(turn.ok()) << turn.status();
  EXPECT_EQ(turn->pods_left, 0u);
  EXPECT_EQ(Creates(/*dry_run=*/false), 150);
}

TEST_F(JobPlacerTest, PodsWaitForTheirNetworkPlanForAWhile) {
  SeedJob(2, 3);
  RunUntilStable();
  Place();
  AddFabric();
  RunUntilStable();
  EXPECT_FALSE(HasPod(0));
  clock_.Advance(kNetworkWaitMs);
  RunUntilStable();
  EXPECT_TRUE(HasPod(0) && HasPod(1));
  EXPECT_EQ(HostOfPin(1), "n1");
  EXPECT_EQ(CountNotices("NetworkPlanLate"), 1);
}

TEST_F(JobPlacerTest, ARankWhoseHostIsNotReadyWaitsBehindTheGate) {
  PlacedJob();
  SetNode("n1", false);
  RunUntilStable();
  ASSERT_TRUE(HasPod(0) && HasPod(1));
  EXPECT_EQ(HostOfPin(0), "n0");
  EXPECT_TRUE(IsGated(1)) << "the extender moves it";
}

TEST_F(JobPlacerTest, NoPodIsMadeForAPlaceThatIsNotTheLedgersAnyMore) {
  PlacedJob();
  Sync();
  GiveBack();
  const auto result = controller_->RunOnce("team/a", JobTurn::kBackground);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_TRUE(result->waits);
  EXPECT_FALSE(HasPod(0));
}

TEST_F(JobPlacerTest, RefusedPodsAreAllTakenBackWithTheHosts) {
  PlacedJob();
  RefusePod("a-1");
  EXPECT_FALSE(Turn().ok());
  EXPECT_FALSE(HasPod(0) || HasPod(1));
  EXPECT_EQ(Gang()->pods, api::GangPods::kRefused);
  EXPECT_EQ(Reason("Stalled"), "PodsRefused");
  // It does not ask again before the extender has its hosts back, and then for all of them.
  client_.SetHook(nullptr);
  ASSERT_TRUE(Turn().ok());
  EXPECT_EQ(Gang()->pods, api::GangPods::kRefused);
  GiveBack();
  ASSERT_TRUE(Turn().ok());
  EXPECT_EQ(Gang()->pods, api::GangPods::kFollow);
  EXPECT_EQ(Condition("Stalled"), "False");
  Place();
  PlanNetwork();
  RunUntilStable();
  EXPECT_TRUE(HasPod(0) && HasPod(1));
}

TEST_F(JobPlacerTest, TheNextLeaderTakesBackWhatTheOneBeforeHasLeft) {
  PlacedJob();
  RefusePod("a-1");
  Sync();
  // Killed between the refusal and what it takes back.
  EXPECT_FALSE(controller_->RunOnce("team/a", JobTurn::kBackground).ok());
  ASSERT_TRUE(HasPod(0));
  NewLeader();
  Sync();
  (void)controller_->RunOnce("team/a", JobTurn::kLook);
  EXPECT_FALSE(HasPod(0));
  EXPECT_EQ(Gang()->pods, api::GangPods::kRefused);
}

TEST_F(JobPlacerTest, WhatIsLeftOfARefusedAttemptGoesInEveryTurn) {
  PlacedJob();
  RefusePod("a-1");
  Sync();
  EXPECT_FALSE(controller_->RunOnce("team/a", JobTurn::kBackground).ok());
  api::Gang gang = Gang().value();
  gang.pods = api::GangPods::kRefused;
  Write(gang);
  NewLeader();
  ASSERT_TRUE(Turn().ok());
  EXPECT_FALSE(HasPod(0));
}

TEST_F(JobPlacerTest, AFullNamespaceIsPromisedNoHosts) {
  SeedJob(2, 3);
  client_.Seed({"", "v1", "resourcequotas", "ResourceQuota", true},
               json{{"apiVersion", "v1"},
                    {"kind", "ResourceQuota"},
                    {"metadata", {{"name", "gpus"}, {"namespace", "team"}}},
                    {"status",
                     {{"hard", {{"requests.nvidia.com/gpu", "24"}}},
                      {"used", {{"requests.nvidia.com/gpu", "16"}}}}}});
  EXPECT_FALSE(Turn().ok());
  EXPECT_FALSE(Gang());
  EXPECT_EQ(Reason("Stalled"), "QuotaExceeded");
  EXPECT_NE(Message("Stalled").find("ResourceQuota gpus: requests.nvidia.com/gpu is short of 8: 2 "
                                    "pods need 16, and others use 16 of 24"),
            std::string::npos)
      << Message("Stalled");
}

TEST_F(JobPlacerTest, PodsThatSayWhatOnlyPodsSayComeFirst) {
  SeedJob(
      2, 3,
      {{"template",
        {{"spec",
          {{"volumes",
            json::array({{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", "c"}}}}})}}}}}});
  RunUntilStable();
  EXPECT_FALSE(Gang());
  EXPECT_TRUE(IsGated(0));
  EXPECT_TRUE(IsGated(1));
}

TEST_F(JobPlacerTest, AJobWithGatedPodsOfAVersionBeforeChangesOverAtItsNextAttempt) {
  place_.first = false;
  NewLeader();
  SeedJob(2, 3);
  RunUntilStable();
  ASSERT_TRUE(IsGated(0) && IsGated(1));
  place_.first = true;
  NewLeader();
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-1", ""}, {}).ok());
  RunUntilStable();
  EXPECT_TRUE(IsGated(1));
  EXPECT_FALSE(Gang());
  Suspend(true);
  RunUntilStable();
  ASSERT_FALSE(HasPod(0) || HasPod(1));
  Suspend(false);
  RunUntilStable();
  EXPECT_FALSE(HasPod(0) || HasPod(1));
  EXPECT_EQ(Gang()->pods, api::GangPods::kFollow);
}

TEST_F(JobPlacerTest, NothingIsAskedForWhileTheJobIsSuspended) {
  SeedJob(2, 3, {{"suspend", true}});
  RunUntilStable();
  EXPECT_FALSE(Gang());
  EXPECT_EQ(Creates(/*dry_run=*/true), 0);
}

TEST_F(JobPlacerTest, APodThatGoesBeforeTheOthersHaveComeIsMadeAgainInItsPlace) {
  PlacedJob();
  RunUntilStable();
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-1", ""}, {}).ok());
  RunUntilStable();
  EXPECT_EQ(HostOfPin(1), "n1");
}

TEST_F(JobPlacerTest, ARankOfAGangThatHasRunIsMadeAgainAsBefore) {
  PlacedJob();
  RunAll();
  MarkReleased();
  RunUntilStable();
  ASSERT_EQ(Condition("Running"), "True");
  FailPod(1, 1);
  SetNode("n1", false);
  RunUntilStable();
  EXPECT_EQ(Gang()->pods, api::GangPods::kFollow);
  clock_.Advance(60'000);
  RunUntilStable();
  ASSERT_TRUE(HasPod(1));
  EXPECT_TRUE(IsGated(1));
}

TEST_F(JobPlacerTest, AStoppedGangGetsNoPodsBehindTheGateWhereTheWatchIsLate) {
  PlacedJob();
  RunAll();
  MarkReleased();
  RunUntilStable();
  ASSERT_EQ(Condition("Running"), "True");
  for (const char* pod : {"a-0", "a-1"}) {
    ASSERT_TRUE(client_.Delete({kube::Pods(), "team", pod, ""}, {}).ok());
  }
  Sync();
  api::Gang gang = Gang().value();
  SetGangCondition(gang, api::kPreemptedCondition, true);
  Write(gang);
  client_.ClearCalls();
  for (int turn = 0; turn < 4; ++turn) {
    clock_.Advance(1'000);
    ASSERT_TRUE(controller_->RunOnce("team/a", JobTurn::kBackground).ok());
  }
  EXPECT_GT(client_.CountCalls(kube::Verb::kGet, "gangs"), 0) << "pods were to be made";
  EXPECT_EQ(Creates(/*dry_run=*/false), 0);
}

TEST_F(JobPlacerTest, AStoppedGangGetsNoPodsBehindTheGateWhileTheLastOfItsPodsGo) {
  PlacedJob();
  RunAll();
  MarkReleased();
  RunUntilStable();
  api::Gang gang = Gang().value();
  SetGangCondition(gang, api::kPreemptedCondition, true);
  Write(gang);
  // The extender evicts its pods one after the other.
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-0", ""}, {}).ok());
  client_.ClearCalls();
  RunUntilStable();
  EXPECT_EQ(Creates(/*dry_run=*/false), 0);
}

TEST_F(JobPlacerTest, HostsMayBeRentedForAJobThatAsksAndFindsNoPlace) {
  SeedJob(2, 1);
  RunUntilStable();
  const auto waits = [&] {
    Sync();
    return CapacityObserver(*cache_, *hosts_, clock_).Observe(*cache_->FindJob("team/a")).waits;
  };
  EXPECT_FALSE(waits()) << "nothing was planned yet";
  api::Gang gang = Gang().value();
  gang.status.outcome = placement::Outcome::kNotNow;
  gang.status.reasons = {
      {placement::ReasonCode::kSearchCut, workload::TopologyLevel::kSegment, 2, "cut"}};
  Write(gang);
  EXPECT_TRUE(waits());
  gang.pods = api::GangPods::kRefused;
  Write(gang);
  EXPECT_FALSE(waits());
}

TEST_F(JobPlacerTest, AGangOfAnEarlierJobOfThisNameIsWaitedFor) {
  SeedJob(2, 3);
  api::Gang gang = SeedGangOfTwo();
  gang.owner = {api::kGroupVersion, api::kTrainingJobKind, "a", "an-earlier-job", true};
  Write(gang);
  RunUntilStable();
  EXPECT_FALSE(HasPod(0));
  EXPECT_EQ(Gang()->owner.uid, "an-earlier-job");
  ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", GangName(), ""}, {}).ok());
  cache_->Remove(state::Kind::kGang,
                 json{{"metadata", {{"name", GangName()}, {"namespace", "team"}}}});
  RunUntilStable();
  EXPECT_EQ(Gang()->owner.uid, "job");
}

}  // namespace
}  // namespace yardmaster::op
