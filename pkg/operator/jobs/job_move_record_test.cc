// Moves of a running job: what earlier requests, of people and of the policy, mean for later ones,
// and how a move ends whose promise or whose job has ended.
#include <set>
#include <string>

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
  // As a version wrote it that had no record, or as an API server gives it whose CRD has none.
  void PruneRecord() {
    json job = Job();
    job["status"]["move"].erase("record");
    client_.Seed(kube::TrainingJobs(), job);
  }
  // Status writes of the operator in five rounds, after each of which the API server prunes.
  int WritesWherePruned() {
    client_.ClearCalls();
    for (int i = 0; i < 5; ++i) {
      PruneRecord();
      Reconcile();
    }
    PruneRecord();
    return client_.CountCalls(kube::Verb::kPatch, "trainingjobs/status");
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
    EXPECT_EQ(MoveId(), id);
    EXPECT_EQ(State(), "Refused") << id;
    EXPECT_EQ(Why(), "the job was asked to move less than an hour ago") << id;
    clock_.Advance(kRefusedAgainMs);
  }
  clock_.Advance(kMoveAgainMs - kLeastRunMs - 3 * kRefusedAgainMs);
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
    EXPECT_EQ(MoveId(), id);
    EXPECT_EQ(State(), "Refused") << id;
    clock_.Advance(kRefusedAgainMs);
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
  clock_.Advance(kRefusedAgainMs);
  Ask({"n2"}, "m1");
  ASSERT_EQ(MoveId(), "m1");
  ASSERT_EQ(State(), "Refused");
  EXPECT_EQ(Record().policy_refused_ms, refused_ms);
}

TEST_F(JobMoveRecordTest, WithoutARecordAnAnsweredAnnotationIsNotFollowedAgain) {
  RunJob();
  Ask();
  MoveOnce();
  EXPECT_EQ(WritesWherePruned(), 0);
  clock_.Advance(kMoveAgainMs);
  EXPECT_EQ(WritesWherePruned(), 0);
  EXPECT_EQ(MoveId(), "m1");
  EXPECT_EQ(State(), "Done");
  EXPECT_EQ(Pins(), (Hosts{"n2", "n3"}));
  Ask({"n4", "n5"}, "m2");
  EXPECT_EQ(State(), "Asked");
}

TEST_F(JobMoveRecordTest, WithoutARecordARefusalIsWrittenOnce) {
  for (const char* text : {R"({"version": 1, "id": "m1", "hosts": ["n2"]})", "n2,n3"}) {
    RunJob();
    AskBy(text);
    ASSERT_EQ(State(), "Refused") << text;
    clock_.Advance(kRefusedAgainMs);
    EXPECT_EQ(WritesWherePruned(), 0) << text;
    EXPECT_EQ(CountNotices("NotMoved"), 1) << text;
    notices_.clear();
    ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", GangName(), ""}, {}).ok());
    for (const json& pod : client_.All(kube::Pods())) {
      ASSERT_TRUE(client_.Delete({kube::Pods(), "team", pod["metadata"]["name"], ""}, {}).ok());
    }
    NewLeader();
  }
}

TEST_F(JobMoveRecordTest, WithoutARecordTheHourAfterAMoveIsKept) {
  RunJob();
  Ask();
  MoveOnce();
  PruneRecord();
  clock_.Advance(kLeastRunMs);
  Ask({"n4", "n5"}, "m2");
  EXPECT_EQ(State(), "Refused");
  EXPECT_EQ(Why(), "the job was asked to move less than an hour ago");
}

TEST_F(JobMoveRecordTest, TheIdOfTheLastMoveIsAnsweredWhateverTheRecordSays) {
  api::TrainingJob job;
  job.metadata.annotations[api::kMoveAnnotation] = api::EncodeMoveRequest({"m1", {"n2"}});
  job.status.move.id = "m1";
  job.status.move.state = api::JobMoveState::kDone;
  EXPECT_EQ(NextMove(job, nullptr, 1'800'000'000'000, kLeastRunMs).move, job.status.move);
}

TEST_F(JobMoveRecordTest, AfterARefusalOneRequestIsLookedAtEveryHalfMinute) {
  RunJob();
  Ask({"n2"}, "m0");
  ASSERT_EQ(State(), "Refused");
  client_.ClearCalls();
  std::set<std::string> answered;
  for (int i = 1; i <= 90; ++i) {
    clock_.Advance(1'000);
    Ask({"n2"}, StrCat("m", i));
    answered.insert(MoveId());
  }
  EXPECT_EQ(answered, (std::set<std::string>{"m0", "m30", "m60", "m90"}));
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "trainingjobs/status"), 3);
  EXPECT_EQ(CountNotices("NotMoved"), 4);
}

// Of the extender, too, which has written the Gang for it.
TEST_F(JobMoveRecordTest, ARequestThatComesSoonAfterARefusalIsLookedAtByItself) {
  RunJob();
  Ask();
  Answer(api::GangMoveState::kRefused, "host n2 is full");
  clock_.Advance(10'000);
  Ask({"n4", "n5"}, "m2");
  EXPECT_EQ(MoveId(), "m1");
  const auto again = Reconcile();
  ASSERT_TRUE(again);
  EXPECT_LE(*again, 20'000);
  clock_.Advance(20'000);
  RunUntilStable();
  EXPECT_EQ(MoveId(), "m2");
  EXPECT_EQ(State(), "Asked");
}

// By a clock that was wrong.
TEST_F(JobMoveRecordTest, ARefusalOfTheFutureKeepsNobodyWaiting) {
  RunJob();
  Ask({"n2"}, "m1");
  clock_.Advance(-kRefusedAgainMs);
  Ask({"n2"}, "m2");
  EXPECT_EQ(MoveId(), "m2");
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
