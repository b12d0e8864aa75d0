// Conditions of a TrainingJob say what holds now, whatever happened before.
#include "gtest/gtest.h"

#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

class JobConditionsTest : public JobFixture {};

TEST_F(JobConditionsTest, AJobThatIsSuspendedIsNotSaidToRun) {
  SeedJob(2, 2);
  RunAll();
  ASSERT_EQ(Condition("Running"), "True");
  Suspend(true);
  RunUntilStable();
  ASSERT_TRUE(client_.All(kube::Pods()).empty());
  EXPECT_EQ(Condition("Running"), "False");
  EXPECT_EQ(Condition("Degraded"), "False");
  EXPECT_EQ(Reason("Degraded"), "Suspended");
}

TEST_F(JobConditionsTest, AJobThatWaitsAfterItWasResumedIsNotDegraded) {
  SeedJob(2, 2);
  RunAll();
  Suspend(true);
  RunUntilStable();
  Suspend(false);
  RunUntilStable();
  ASSERT_EQ(client_.All(kube::Pods()).size(), 2u);
  EXPECT_EQ(Condition("Suspended"), "False");
  EXPECT_EQ(Condition("Degraded"), "False") << Message("Degraded");
  EXPECT_EQ(Reason("Degraded"), "NotStarted");
  RunAll();
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Reason("Degraded"), "WorkersRunning");
  FailPod(1, 1);
  Reconcile();
  EXPECT_EQ(Condition("Degraded"), "True");
}

}  // namespace
}  // namespace yardmaster::op
