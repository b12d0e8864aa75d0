#include "pkg/operator/jobs/stall_condition.h"

#include "gtest/gtest.h"

namespace yardmaster::op {
namespace {

using api::ConditionStatus;

const StallReason kNone;
const StallReason kHangs = {kNoProgress, "workers 1 and 2 wait"};

api::TrainingJob JobThatIs(ConditionStatus status, const std::string& reason) {
  api::TrainingJob job;
  job.status.conditions = {{"Stalled", status, reason, "", 1, 0}};
  return job;
}

TEST(StallConditionTest, AJobThatWasNeverStalledHasNoCondition) {
  EXPECT_FALSE(NextStalled({}, kNone, "PodsCreated"));
  EXPECT_FALSE(NextStalled({}, kNone, ""));
}

TEST(StallConditionTest, AReasonIsAnEventOnceAndItsMessageMayChange) {
  const auto first = NextStalled({}, kHangs, "");
  ASSERT_TRUE(first);
  EXPECT_EQ(first->condition.status, ConditionStatus::kTrue);
  EXPECT_EQ(first->condition.message, kHangs.message);
  EXPECT_TRUE(first->is_event);
  const auto again = NextStalled(JobThatIs(ConditionStatus::kTrue, kNoProgress),
                                 {kNoProgress, "workers 1, 2 and 3 wait"}, "");
  ASSERT_TRUE(again);
  EXPECT_EQ(again->condition.message, "workers 1, 2 and 3 wait");
  EXPECT_FALSE(again->is_event);
  EXPECT_TRUE(
      NextStalled(JobThatIs(ConditionStatus::kTrue, kNoProgress), {kCannotRun, ""}, "")->is_event);
  EXPECT_TRUE(NextStalled(JobThatIs(ConditionStatus::kFalse, kNoProgress), kHangs, "")->is_event);
}

TEST(StallConditionTest, ReportsThatCeaseAreUnknownAndTheSameHangAfterThemIsNoEvent) {
  const auto ceased =
      NextStalled(JobThatIs(ConditionStatus::kTrue, kNoProgress), kNone, kProgressNotKnown);
  ASSERT_TRUE(ceased);
  EXPECT_EQ(ceased->condition.status, ConditionStatus::kUnknown);
  EXPECT_FALSE(ceased->is_event);
  const api::TrainingJob unknown = JobThatIs(ConditionStatus::kUnknown, kProgressNotKnown);
  EXPECT_FALSE(NextStalled(unknown, kNone, kProgressNotKnown)) << "nothing has changed";
  EXPECT_FALSE(NextStalled(unknown, kHangs, "")->is_event);
  EXPECT_EQ(NextStalled(unknown, kNone, "Progressing")->condition.status, ConditionStatus::kFalse);
}

TEST(StallConditionTest, AConditionStaysWhileItIsNotKnownWhetherItEnds) {
  EXPECT_FALSE(NextStalled(JobThatIs(ConditionStatus::kTrue, kPodsRefused), kNone, ""));
  EXPECT_EQ(NextStalled(JobThatIs(ConditionStatus::kTrue, kPodsRefused), kNone, "PodsCreated")
                ->condition.status,
            ConditionStatus::kFalse);
}

}  // namespace
}  // namespace yardmaster::op
