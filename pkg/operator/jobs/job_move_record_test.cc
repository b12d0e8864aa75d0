// Moves of a running job: what earlier requests, of people and of the policy, mean for later ones,
// and how a move ends whose promise or whose job has ended.
#include "gmock/gmock.h"

#include "pkg/operator/jobs/job_move_step.h"
#include "pkg/operator/testing/moving_job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;
using testing::HasSubstr;

class JobMoveRecordTest : public MovingJobFixture {
 protected:
  void Succeed() {
    for (int rank = 0; rank < 2; ++rank) SetPod(rank, "Succeeded", Pod(rank)["spec"]["nodeName"]);
    RunUntilStable();
    ASSERT_EQ(Condition("Succeeded"), "True");
  }
};

TEST_F(JobMoveRecordTest, AnAnsweredAnnotationIsNotFollowedAgainAfterAMoveByThePolicy) {
  RunJob();
  Ask();
  Answer(api::GangMoveState::kRefused, "host n2 is full");
  AskByPolicy();
  const std::string by_policy = MoveId();
  Answer(api::GangMoveState::kRefused, "host n3 is full");
  EXPECT_EQ(MoveId(), by_policy);
  EXPECT_EQ(State(), "Refused");
  clock_.Advance(2 * kMoveAgainMs);
  RunUntilStable();
  EXPECT_EQ(MoveId(), by_policy) << "the annotation m1 was answered";
  Ask({"n2", "n3"}, "m2");
  EXPECT_EQ(MoveId(), "m2");
  EXPECT_EQ(State(), "Asked");
}

// One that cannot be read, too.
TEST_F(JobMoveRecordTest, ARequestThatComesDuringAMoveIsAnsweredOnceAfterIt) {
  RunJob();
  AskByPolicy();
  AskBy("n2,n3");
  EXPECT_EQ(State(), "Asked");
  Answer(api::GangMoveState::kPromised);
  TakeUp();
  EXPECT_EQ(State(), "Moving");
  StartPods();
  MarkReleased();
  RunUntilStable();
  EXPECT_EQ(CountNotices("MoveDone"), 1);
  EXPECT_EQ(State(), "Refused");
  EXPECT_THAT(Why(), HasSubstr("metadata.annotations[\"yardmaster.dev/move\"]"));
  EXPECT_EQ(CountNotices("NotMoved"), 1);
}

TEST_F(JobMoveRecordTest, ARefusalDoesNotShortenTheHourAfterAMove) {
  RunJob();
  Ask();
  MoveOnce();
  clock_.Advance(kLeastRunMs);
  for (const char* id : {"m2", "m3", "m4"}) {
    Ask({"n4", "n5"}, id);
    EXPECT_EQ(State(), "Refused") << id;
    EXPECT_EQ(Why(), "the job was asked to move less than an hour ago") << id;
  }
  clock_.Advance(kMoveAgainMs - kLeastRunMs);
  Ask({"n4", "n5"}, "m5");
  EXPECT_EQ(State(), "Asked");
}

TEST_F(JobMoveRecordTest, NorAfterOneThatWasAbandoned) {
  RunJob();
  Ask();
  clock_.Advance(60'000);
  RunUntilStable();
  ASSERT_EQ(State(), "Abandoned");
  for (const char* id : {"m2", "m3"}) {
    Ask({"n4", "n5"}, id);
    EXPECT_EQ(State(), "Refused") << id;
  }
}

TEST_F(JobMoveRecordTest, WhatThePolicyHasSpentOutlivesOtherRequests) {
  RunJob();
  AskByPolicy();
  const std::vector<api::MoveExpense> spent = Record().policy_moves;
  MoveOnce();
  EXPECT_EQ(Record().policy_moves, spent);
  Ask({"n4", "n5"}, "m2");
  ASSERT_EQ(State(), "Refused");
  EXPECT_EQ(Record().policy_moves, spent);
  clock_.Advance(kMoveAgainMs);
  Ask({"n4", "n5"}, "m3");
  ASSERT_EQ(State(), "Asked");
  EXPECT_EQ(Record().policy_moves, spent);
}

TEST_F(JobMoveRecordTest, AMoveByThePolicyThatWasRefusedHasCostNothingAndIsRemembered) {
  RunJob();
  AskByPolicy();
  const std::int64_t refused_ms = clock_.WallMs() / 1000 * 1000;
  Answer(api::GangMoveState::kRefused, "host n3 is full");
  EXPECT_TRUE(Record().policy_moves.empty());
  EXPECT_EQ(Record().policy_refused_ms, refused_ms);
  EXPECT_EQ(Record().last_ms, 0);
  Ask({"n2"}, "m1");
  ASSERT_EQ(State(), "Refused");
  EXPECT_EQ(Record().policy_refused_ms, refused_ms);
}

TEST_F(JobMoveRecordTest, AJobLeavesItsHostsOnlyForAPromiseThatTheApiServerHas) {
  const std::vector<std::function<void(api::Gang&)>> changes = {
      [](api::Gang& gang) { gang.status.move->state = api::GangMoveState::kGivenUp; },
      [](api::Gang& gang) { gang.status.move->id = "another"; },
      [](api::Gang& gang) { gang.owner.uid = "another"; },
      [](api::Gang& gang) { gang.status.move.reset(); },
      [this](api::Gang& gang) { gang.status.move->expires_ms = clock_.WallMs(); }};
  RunJob();
  Ask();
  WriteAnswer(api::GangMoveState::kPromised);
  const api::Gang promised = Gang().value();
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Write(promised);
    Sync();
    api::Gang gang = promised;
    changes[i](gang);
    Write(gang);
    const auto again = controller_->Reconcile("team/a");
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_TRUE(*again) << "it looks again: " << i;
    EXPECT_EQ(State(), "Asked") << i;
    EXPECT_EQ(Pods(), 2) << i;
  }
  Write(promised);
  RunUntilStable();
  EXPECT_EQ(State(), "Moving");
}

TEST_F(JobMoveRecordTest, AJobDoesNotLeaveItsHostsForAPromiseThatIsAboutToExpire) {
  RunJob();
  Ask();
  WriteAnswer(api::GangMoveState::kPromised);
  clock_.Advance(599'000);
  RunUntilStable();
  EXPECT_EQ(State(), "Abandoned");
  EXPECT_THAT(Why(), HasSubstr("expires"));
  EXPECT_EQ(Pods(), 2);
}

TEST_F(JobMoveRecordTest, WhileItWaitsForItsCheckpointItLooksAgainBeforeThePromiseExpires) {
  RunJob({{"checkpoint", {{"request", "Annotation"}, {"graceSeconds", 1'200}}}});
  Ask();
  Answer(api::GangMoveState::kPromised);
  ASSERT_EQ(State(), "Asked");
  const auto again = Reconcile();
  ASSERT_TRUE(again);
  EXPECT_LT(*again, 600'000);
}

TEST_F(JobMoveRecordTest, AJobThatHasEndedIsNotAskedToMoveAnyMore) {
  RunJob();
  Ask();
  Succeed();
  EXPECT_EQ(State(), "Abandoned");
  EXPECT_EQ(Why(), "the job has ended");
  EXPECT_FALSE(Move().contains("hosts"));
  EXPECT_EQ(CountNotices("NotMoved"), 1);
}

TEST_F(JobMoveRecordTest, AJobThatHasEndedAtItsNextPlaceHasMoved) {
  RunJob();
  Ask();
  Answer(api::GangMoveState::kPromised);
  TakeUp();
  ASSERT_EQ(State(), "Moving");
  StartPods();
  Succeed();
  EXPECT_EQ(State(), "Done");
}

TEST_F(JobMoveRecordTest, AJobThatFailsWhileItMovesHasNotMoved) {
  RunJob();
  Change({{"activeDeadlineSeconds", 3'600}});
  Ask();
  Answer(api::GangMoveState::kPromised);
  ASSERT_EQ(State(), "Moving");
  clock_.Advance(3'600'000);
  RunUntilStable();
  ASSERT_EQ(Condition("Failed"), "True");
  EXPECT_EQ(State(), "Abandoned");
}

}  // namespace
}  // namespace yardmaster::op
