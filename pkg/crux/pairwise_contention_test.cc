#include "pkg/crux/pairwise_contention.h"

#include <gtest/gtest.h>

#include "pkg/base/random.h"

namespace yardmaster::crux {
namespace {

IterationTiming Of(double compute, double start, double link) {
  return {compute, start, link, link};
}

TEST(PairwiseContention, ExampleOneGivesJobTwoACorrectionOfOneAndAHalfExactly) {
  EXPECT_EQ(CorrectionFactor(Of(2, 1, 2), Of(1, 1, 1)), 1.5);
}

TEST(PairwiseContention, ExampleOneLowerPriorityRunsAreThoseOfTheFigure) {
  const LowerPriorityRun job2 = SimulateLowerPriority(Of(2, 1, 2), Of(1, 1, 1));
  EXPECT_EQ(job2.stretch_seconds / job2.iterations, 4);
  const LowerPriorityRun job1 = SimulateLowerPriority(Of(1, 1, 1), Of(2, 1, 2));
  EXPECT_EQ(job1.stretch_seconds / job1.iterations, 6);
}

TEST(PairwiseContention, ExampleTwoPutsTheJobFirstWhoseCommunicationCannotBeHidden) {
  // Job 2 carries more traffic, so it is the reference; equal intensity, so k_1 < 1 decides.
  const IterationTiming job1 = Of(4, 0.5, 1);
  const IterationTiming job2 = Of(2, 0.5, 3);
  EXPECT_EQ(SimulateLowerPriority(job2, job1).SpeedLoss(), 0);
  EXPECT_EQ(SimulateLowerPriority(job1, job2).SpeedLoss(), 0);
  EXPECT_LT(CorrectionFactor(job2, job1), 1);
}

TEST(PairwiseContention, AJobAgainstItsLikeHasCorrectionOne) {
  EXPECT_EQ(CorrectionFactor(Of(1, 0.5, 1), Of(1, 0.5, 1)), 1);
}

TEST(PairwiseContention, ASecondJobBehindALinkThatIsNeverFreeStandsStill) {
  EXPECT_EQ(SimulateLowerPriority(Of(1, 0, 1), Of(1, 1, 1)).SpeedLoss(), 1);
  EXPECT_EQ(CorrectionFactor(Of(1, 0, 1), Of(1, 1, 1)) > 0, true);
}

TEST(PairwiseContention, TrafficThatFitsIntoTheGapsCostsNothing) {
  EXPECT_EQ(SimulateLowerPriority(Of(3, 1, 1), Of(3, 1, 1)).SpeedLoss(), 0);
}

TEST(PairwiseContention, TheCorrectionStaysWithinItsBoundsForAnyIterationTimings) {
  Random random(7);
  for (int i = 0; i < 2000; ++i) {
    const IterationTiming a = Of(0.1 + random.Unit(), random.Unit(), 0.01 + random.Unit());
    const IterationTiming b = Of(0.1 + random.Unit(), random.Unit(), 0.01 + random.Unit());
    const double k = CorrectionFactor(a, b);
    EXPECT_GE(k, kMinCorrection);
    EXPECT_LE(k, kMaxCorrection);
    const double loss = SimulateLowerPriority(a, b).SpeedLoss();
    EXPECT_GE(loss, 0);
    EXPECT_LE(loss, 1);
  }
}

}  // namespace
}  // namespace yardmaster::crux
