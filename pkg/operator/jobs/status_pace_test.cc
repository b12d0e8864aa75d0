#include "pkg/operator/jobs/status_pace.h"

#include <functional>

#include "gtest/gtest.h"

#include "pkg/api/condition.h"

namespace yardmaster::op {
namespace {

using api::TrainingJobStatus;

class StatusPaceTest : public ::testing::Test {
 protected:
  static void Set(TrainingJobStatus& status, const char* type, bool holds,
                  const std::string& reason) {
    api::SetCondition(status.conditions,
                      {type, holds ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                       reason, "it is so", 1, 0},
                      0);
  }
  // As the first look at a job gives it.
  static TrainingJobStatus Begins() {
    TrainingJobStatus status;
    status.observed_generation = 1;
    status.workers = 4;
    status.roles = {{"driver", 0, 0}};
    Set(status, "Planned", false, kGatheringReason);
    Set(status, "Placed", false, kGatheringReason);
    Set(status, "Queued", true, kGatheringReason);
    Set(status, "Running", false, "WorkersMissing");
    return status;
  }
  std::int64_t WaitMs(const TrainingJobStatus& after, bool asks = true) {
    return pace_.WaitMs(job_, after, asks);
  }
  void Write(const TrainingJobStatus& status) {
    job_.status = status;
    pace_.Written(job_);
  }

  StatusPaceTest() {
    job_.metadata.namespace_name = "team";
    job_.metadata.name = "a";
    job_.metadata.uid = "1";
  }

  FakeClock clock_;
  StatusPace pace_{clock_};
  api::TrainingJob job_;
};

TEST_F(StatusPaceTest, TheFirstStatusWaitsFromTheFirstLookOn) {
  EXPECT_EQ(WaitMs(Begins()), kFirstMs);
  clock_.Advance(1'500);
  EXPECT_EQ(WaitMs(Begins()), kFirstMs - 1'500);
  clock_.Advance(10'000);
  EXPECT_EQ(WaitMs(Begins()), 0) << "however late the look comes";
}

TEST_F(StatusPaceTest, WhileTheLedgerTellsOthersTheFirstStatusWaitsForItsTurn) {
  const auto tell = [this](const std::string& name) {
    api::TrainingJob other = job_;
    other.metadata.name = other.metadata.uid = name;
    EXPECT_GT(pace_.WaitMs(other, Begins(), true), 0);
    TrainingJobStatus told = Begins();
    Set(told, "Planned", false, "NotNow");
    EXPECT_EQ(pace_.WaitMs(other, told, true), 0);
    pace_.Written(other);
  };
  EXPECT_EQ(WaitMs(Begins()), kFirstMs);
  clock_.Advance(kFirstMs);
  tell("b");
  EXPECT_EQ(WaitMs(Begins()), kBusyAgainMs);
  clock_.Advance(kFirstMs);
  EXPECT_EQ(WaitMs(Begins()), 0) << "it has told nobody for a while";
  clock_.Advance(kFirstBusyMs - 2 * kFirstMs - 100);
  tell("c");
  EXPECT_EQ(WaitMs(Begins()), 100);
  clock_.Advance(100);
  EXPECT_EQ(WaitMs(Begins()), 0) << "long enough";
}

TEST_F(StatusPaceTest, AJobThatIsRefusedSaysNothingOfTheLedger) {
  EXPECT_EQ(WaitMs(Begins()), kFirstMs);
  clock_.Advance(kFirstMs);
  TrainingJobStatus refused = Begins();
  Set(refused, "Planned", false, "QuotaExceeded");
  Set(refused, "Stalled", true, "QuotaExceeded");
  api::TrainingJob other = job_;
  other.metadata.name = "b";
  EXPECT_GT(pace_.WaitMs(other, Begins(), true), 0);
  EXPECT_EQ(pace_.WaitMs(other, refused, true), 0);
  EXPECT_EQ(WaitMs(Begins()), 0);
}

TEST_F(StatusPaceTest, AJobWhosePodsComeFirstHasItsStatusBeforeThem) {
  EXPECT_EQ(WaitMs(Begins(), /*asks=*/false), 0);
}

TEST_F(StatusPaceTest, AJobOfTheSameNameHasAFirstLookOfItsOwn) {
  EXPECT_EQ(WaitMs(Begins()), kFirstMs);
  clock_.Advance(kFirstMs);
  job_.metadata.uid = "2";
  EXPECT_EQ(WaitMs(Begins()), kFirstMs);
}

TEST_F(StatusPaceTest, OnceItIsWrittenOrTheJobIsGoneNothingIsRemembered) {
  EXPECT_EQ(WaitMs(Begins()), kFirstMs);
  clock_.Advance(kFirstMs);
  pace_.Forget("team/a");
  EXPECT_EQ(WaitMs(Begins()), kFirstMs);
  Write(Begins());
  clock_.Advance(kCountsMs);
  job_.status = {};
  EXPECT_EQ(WaitMs(Begins()), kFirstMs);
}

// Each change says something that people or a later step need.
TEST_F(StatusPaceTest, AStatusThatSaysMoreIsWrittenAtOnce) {
  const std::function<void(TrainingJobStatus&)> changes[] = {
      [](TrainingJobStatus& s) { Set(s, "Planned", false, "NotNow"); },
      [](TrainingJobStatus& s) { Set(s, "Queued", false, "Suspended"); },
      [](TrainingJobStatus& s) { Set(s, "Placed", true, "Placed"); },
      [](TrainingJobStatus& s) { Set(s, "Running", true, "WorkersRunning"); },
      [](TrainingJobStatus& s) { Set(s, "Stalled", true, "NameTaken"); },
      [](TrainingJobStatus& s) { s.rendezvous_port = 31'000; },
      [](TrainingJobStatus& s) { s.elastic.data = 2; },
      [](TrainingJobStatus& s) { s.recovery.attempt = 1; },
      [](TrainingJobStatus& s) { s.roles[0].ready = 1; },
      [](TrainingJobStatus& s) { s.ready_workers = 1; },
      [](TrainingJobStatus& s) {
        s.segments.push_back({"p", "s", 1});
      },
  };
  for (std::size_t i = 0; i < std::size(changes); ++i) {
    TrainingJobStatus status = Begins();
    changes[i](status);
    EXPECT_EQ(WaitMs(status), 0) << i;
  }
}

TEST_F(StatusPaceTest, AJobThatHasAStatusIsNotNew) {
  job_.status.observed_generation = 1;
  EXPECT_EQ(WaitMs(Begins()), 0);
}

TEST_F(StatusPaceTest, CountsAreWrittenOnceInAWhile) {
  Write(Begins());
  TrainingJobStatus counted = Begins();
  counted.ready_workers = 3;
  EXPECT_EQ(WaitMs(counted), kCountsMs);
  clock_.Advance(kCountsMs - 1);
  EXPECT_EQ(WaitMs(counted), 1);
  clock_.Advance(1);
  EXPECT_EQ(WaitMs(counted), 0);
  EXPECT_EQ(WaitMs(Begins()), 0) << "nothing is new";
}

TEST_F(StatusPaceTest, ANewLeaderDoesNotKnowWhenCountsWereWrittenAndWritesThem) {
  job_.status = Begins();
  TrainingJobStatus counted = Begins();
  counted.ready_workers = 3;
  EXPECT_EQ(WaitMs(counted), 0);
}

}  // namespace
}  // namespace yardmaster::op
