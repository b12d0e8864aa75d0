// Moves of a running job: what the operator asks for, when the job leaves its hosts, and when its
// pods are made again.
#include "gmock/gmock.h"

#include "pkg/api/checkpoint_mark.h"
#include "pkg/kube/testing/kill_at_write.h"
#include "pkg/operator/jobs/job_move_step.h"
#include "pkg/operator/testing/moving_job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;
using testing::HasSubstr;

using JobMoveTest = MovingJobFixture;

TEST_F(JobMoveTest, AJobMovesOnceItsNextHostsArePromised) {
  RunJob();
  const auto before = Uids();
  Ask();
  EXPECT_EQ(State(), "Asked");
  EXPECT_EQ(Move()["hosts"], (json{"n2", "n3"}));
  EXPECT_EQ(Move()["byPolicy"], false);
  // It has run for ten minutes, of which half may be lost, and restarts in 300 s.
  EXPECT_EQ(Move()["priceGPUSeconds"], 16 * (300 + 300));
  EXPECT_EQ(Uids(), before) << "nothing is promised yet";
  Answer(api::GangMoveState::kPromised);
  EXPECT_EQ(State(), "Moving");
  EXPECT_FALSE(Move().contains("hosts"));
  EXPECT_EQ(Pods(), 0) << "its pods end, and none is made while the ledger has two places for it";
  EXPECT_EQ(Reason("Recovering"), "Moved");
  EXPECT_EQ(Reason("Degraded"), "Moving");
  EXPECT_EQ(CountNotices("Moving"), 1);
  TakeUp();
  EXPECT_EQ(Pods(), 2);
  EXPECT_EQ(Pins(), (Hosts{"n2", "n3"}));
  EXPECT_FALSE(IsGated(0) || IsGated(1));
  StartPods();
  MarkReleased();
  RunUntilStable();
  EXPECT_EQ(State(), "Done");
  EXPECT_TRUE(Move().contains("endTime"));
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Condition("Recovering"), "False");
  EXPECT_EQ(Status().value("restarts", 0), 0);
  EXPECT_EQ(CountNotices("MoveDone"), 1);
  EXPECT_EQ(CountNotices("Recovering"), 0);
}

TEST_F(JobMoveTest, ARefusedRequestLeavesTheJobAsItIs) {
  RunJob();
  const auto before = Uids();
  Ask();
  Answer(api::GangMoveState::kRefused, "host n2 is full");
  EXPECT_EQ(State(), "Refused");
  EXPECT_EQ(Why(), "host n2 is full");
  EXPECT_EQ(Uids(), before);
  EXPECT_EQ(CountNotices("NotMoved"), 1);
  RunUntilStable();
  EXPECT_EQ(State(), "Refused") << "the same annotation is one request";
  clock_.Advance(kRefusedAgainMs);
  Ask({"n4", "n5"}, "m2");
  EXPECT_EQ(State(), "Asked");
}

TEST_F(JobMoveTest, RequestsThatCannotBeAreRefusedWithTheirReason) {
  RunJob();
  AskBy("n2,n3");
  EXPECT_EQ(State(), "Refused");
  EXPECT_THAT(Why(), HasSubstr("metadata.annotations[\"yardmaster.dev/move\"]"));
  clock_.Advance(kRefusedAgainMs);
  Ask({"n2"}, "m2");
  EXPECT_THAT(Why(), HasSubstr("has 1 hosts and the job has 2 workers"));
  Change({{"movable", "Never"}});
  clock_.Advance(kRefusedAgainMs);
  Ask({"n2", "n3"}, "m3");
  EXPECT_EQ(Why(), "spec.movable: is Never");
}

TEST_F(JobMoveTest, AJobThatHasRunForTooShortIsNotMoved) {
  RunJob();
  clock_.Advance(-1'000);
  Ask();
  EXPECT_EQ(State(), "Refused");
  EXPECT_THAT(Why(), HasSubstr("have run for less than 600 s"));
}

TEST_F(JobMoveTest, AJobIsNotMovedAgainWithinAnHour) {
  RunJob();
  Ask();
  Answer(api::GangMoveState::kPromised);
  TakeUp();
  StartPods();
  MarkReleased();
  RunUntilStable();
  ASSERT_EQ(State(), "Done");
  clock_.Advance(kMoveAgainMs - kRefusedAgainMs);
  Ask({"n4", "n5"}, "m2");
  EXPECT_EQ(State(), "Refused");
  clock_.Advance(kRefusedAgainMs);
  Ask({"n4", "n5"}, "m3");
  EXPECT_EQ(State(), "Asked");
}

TEST_F(JobMoveTest, WithoutAnAnswerTheMoveIsAbandoned) {
  RunJob();
  Ask();
  EXPECT_LE(Reconcile(), 60'000);
  clock_.Advance(60'000);
  RunUntilStable();
  EXPECT_EQ(State(), "Abandoned");
  EXPECT_EQ(Pods(), 2);
}

TEST_F(JobMoveTest, AJobThatIsAskedByAnnotationLeavesItsHostsWithItsCheckpoint) {
  RunJob({{"checkpoint", {{"request", "Annotation"}, {"graceSeconds", 300}}}});
  Ask();
  Answer(api::GangMoveState::kPromised);
  EXPECT_EQ(State(), "Asked");
  EXPECT_EQ(Pods(), 2);
  clock_.Advance(5'000);
  json pod = Pod(1);
  pod["metadata"]["annotations"][api::kCheckpointAnnotation] =
      api::EncodeCheckpointMark({clock_.WallMs() / 1000 * 1000, 0});
  client_.Seed(kube::Pods(), pod);
  RunUntilStable();
  EXPECT_EQ(State(), "Moving");
}

TEST_F(JobMoveTest, PodsAreNotRestartedInPlace) {
  RunJob({{"recovery", {{"inPlaceSeconds", 120}}}});
  Ask();
  Answer(api::GangMoveState::kPromised);
  EXPECT_EQ(Pods(), 0);
}

// The promise is given up while its pods end: it goes on where it was.
TEST_F(JobMoveTest, AJobWhoseNextHostsAreLostGoesOnWhereItWas) {
  RunJob();
  Ask();
  Answer(api::GangMoveState::kPromised);
  ASSERT_EQ(Pods(), 0);
  Answer(api::GangMoveState::kGivenUp, "host n3 is out");
  EXPECT_EQ(Pods(), 2);
  EXPECT_EQ(Pins(), (Hosts{"n0", "n1"}));
  EXPECT_EQ(State(), "Moving") << "until it runs again";
  StartPods();
  RunUntilStable();
  EXPECT_EQ(State(), "Abandoned");
  EXPECT_EQ(Why(), "host n3 is out");
  EXPECT_EQ(Condition("Running"), "True");
}

TEST_F(JobMoveTest, WhatElseHappensToTheJobComesFirst) {
  RunJob();
  Ask();
  SetNode("n1", false);
  clock_.Advance(15'000);
  RunUntilStable();
  clock_.Advance(15'000);
  RunUntilStable();
  EXPECT_EQ(Reason("Recovering"), "HostLost");
  EXPECT_EQ(State(), "Abandoned");
  EXPECT_EQ(Why(), "the job is recovering");
}

TEST_F(JobMoveTest, ASuspendedJobDoesNotMove) {
  RunJob();
  Ask();
  Suspend(true);
  RunUntilStable();
  EXPECT_EQ(State(), "Abandoned");
  EXPECT_EQ(Pods(), 0);
}

// A worker that ends just before the ledger's answer is an incident of its own, and no pod is made
// until the ledger has one place for the job again.
TEST_F(JobMoveTest, NoPodIsMadeWhileTheLedgerHasTwoPlacesForTheJob) {
  RunJob({{"recovery", {{"onWorkerFailure", "Replace"}}}});
  Ask();
  FailPod(1, 1);
  Answer(api::GangMoveState::kPromised);
  EXPECT_EQ(Reason("Recovering"), "WorkerFailed");
  EXPECT_EQ(State(), "Abandoned");
  EXPECT_EQ(Pods(), 1);
  Answer(api::GangMoveState::kGivenUp);
  EXPECT_EQ(Pods(), 2);
  EXPECT_EQ(HostOfPin(1), "n1");
}

// The watch of Gangs is behind: the one in the cache has no promise, or has it still.
TEST_F(JobMoveTest, TheApiServerSaysWhetherThereAreTwoPlaces) {
  RunJob();
  Ask();
  Answer(api::GangMoveState::kPromised);
  ASSERT_EQ(Pods(), 0);
  const json promised = *client_.Find(kube::Gangs(), "team", GangName());
  json without = promised;
  without["status"].erase("move");
  Sync();
  without["metadata"]["resourceVersion"] = StrCat(client_.version() + 1'000);
  cache_->Deliver(state::Kind::kGang, without);
  ASSERT_TRUE(controller_->Reconcile("team/a").ok());
  EXPECT_EQ(Pods(), 0);
}

TEST_F(JobMoveTest, PodsThatAreRefusedAtTheNextPlaceAreTakenBack) {
  RunJob();
  Ask();
  Answer(api::GangMoveState::kPromised);
  client_.SetHook([](const kube::Call& call) {
    const bool is_second = call.verb == kube::Verb::kCreate &&
                           call.target.resource == kube::Pods() && !call.dry_run &&
                           call.body["metadata"]["name"] == PodName("a", 1);
    return is_second ? absl::PermissionDeniedError("a webhook says no") : absl::OkStatus();
  });
  WriteNextPlace();
  Sync();
  EXPECT_FALSE(controller_->RunOnce("team/a", JobTurn::kBackground).ok());
  for (int i = 0; i < 4; ++i) {
    Sync();
    (void)controller_->RunOnce("team/a", JobTurn::kLook);
  }
  client_.SetHook({});
  EXPECT_EQ(Pods(), 0) << "never a part of a gang";
  EXPECT_EQ(Gang()->pods, api::GangPods::kRefused) << "the hosts are given back";
}

TEST_F(JobMoveTest, KilledAtAnyWriteAnotherLeaderCarriesOn) {
  for (int killed_at = 0;; ++killed_at) {
    SCOPED_TRACE(killed_at);
    for (const kube::Resource& resource : {kube::Pods(), kube::Gangs(), kube::TrainingJobs()}) {
      for (const json& o : client_.All(resource)) {
        ASSERT_TRUE(client_.Delete({resource, "team", o["metadata"]["name"], ""}, {}).ok());
      }
    }
    NewLeader();
    RunJob();
    json job = Job();
    job["metadata"]["annotations"][api::kMoveAnnotation] =
        api::EncodeMoveRequest({"m", {"n2", "n3"}});
    client_.Seed(kube::TrainingJobs(), job);
    // What the others do when they see what there is.
    const auto others = [&] {
      const auto move = Gang()->status.move;
      if (State() == "Asked" && !move) WriteAnswer(api::GangMoveState::kPromised);
      if (State() == "Moving" && move->promised() && Pods() == 0) WriteNextPlace();
      StartPods();
      if (move && !move->promised() && Pods() == 2) MarkReleased();
    };
    int writes = 0;
    {
      const kube::KillAtWrite kill(client_, killed_at);
      for (int i = 0; i < 12 && kill.writes() <= killed_at; ++i) {
        (void)TryReconcile();
        others();
      }
      writes = kill.writes();
    }
    NewLeader();
    for (int i = 0; i < 12; ++i) {
      RunUntilStable();
      others();
    }
    RunUntilStable();
    EXPECT_EQ(State(), "Done");
    EXPECT_EQ(Pins(), (Hosts{"n2", "n3"}));
    EXPECT_EQ(Status()["recovery"]["incidents"].size(), 1u);
    if (writes <= killed_at) break;
  }
}

}  // namespace
}  // namespace yardmaster::op
