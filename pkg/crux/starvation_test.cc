#include "pkg/crux/starvation.h"

#include <cmath>
#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/crux/decide.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

constexpr StarvationOptions kOptions{
    .min_share = 0.5, .recovered_share = 0.6, .patience_seconds = 60, .lift_seconds = 300};

// A job watched every ten seconds.
class Watched {
 public:
  explicit Watched(std::vector<std::int32_t> usable) : usable_(std::move(usable)) {}

  StarvationStep Look(std::int32_t planned, std::optional<double> share, double after = 10) {
    now_ += after;
    StarvationStep step = StepStarvation(state_, {now_, planned, share}, usable_, kOptions);
    state_ = step.state;
    return step;
  }
  // The first look at which something happens, within `looks`.
  std::optional<StarvationStep> Until(StarvationEvent event, std::int32_t planned,
                                      std::optional<double> share, int looks) {
    for (int i = 0; i < looks; ++i) {
      const StarvationStep step = Look(planned, share);
      if (step.event == event) return step;
    }
    return std::nullopt;
  }
  double now() const { return now_; }

 private:
  std::vector<std::int32_t> usable_;
  StarvationState state_;
  double now_ = 1000;
};

TEST(Starvation, AJobBelowTheShareForTheWholePatienceIsLiftedOneLevel) {
  Watched job({0, 1, 2, 3});
  const double begin = job.now() + 10;
  const auto lift = job.Until(StarvationEvent::kLifted, 0, 0.2, 20);
  ASSERT_TRUE(lift);
  EXPECT_EQ(job.now() - begin, 60);
  EXPECT_EQ(lift->level, 1);
  EXPECT_EQ(*lift->look_again_seconds, job.now() + 300);
}

TEST(Starvation, AShortSpellIsNoStarvation) {
  Watched job({0, 1, 2});
  for (int round = 0; round < 20; ++round) {
    EXPECT_FALSE(job.Until(StarvationEvent::kLifted, 0, 0.1, 6));
    EXPECT_EQ(job.Look(0, 0.9).level, 0);
  }
}

TEST(Starvation, HoveringBetweenTheSharesKeepsTheWaitAndAddsNothing) {
  Watched job({0, 1});
  EXPECT_FALSE(job.Until(StarvationEvent::kLifted, 0, 0.1, 4));
  EXPECT_FALSE(job.Until(StarvationEvent::kLifted, 0, 0.55, 50));
  EXPECT_TRUE(job.Until(StarvationEvent::kLifted, 0, 0.1, 5));
}

TEST(Starvation, TheLiftEndsAndHasToBeEarnedAgain) {
  Watched job({0, 1, 2});
  ASSERT_TRUE(job.Until(StarvationEvent::kLifted, 0, 0.1, 10));
  const double lifted = job.now();
  const auto back = job.Until(StarvationEvent::kReleased, 0, 0.9, 40);
  ASSERT_TRUE(back);
  EXPECT_EQ(job.now() - lifted, 300);
  EXPECT_EQ(back->level, 0);
  EXPECT_FALSE(back->look_again_seconds);
  EXPECT_FALSE(job.Until(StarvationEvent::kLifted, 0, 0.1, 6));
  EXPECT_TRUE(job.Until(StarvationEvent::kLifted, 0, 0.1, 1));
}

TEST(Starvation, StillStarvingItClimbsToTheTopAndNotBeyond) {
  Watched job({0, 1, 2});
  EXPECT_EQ(job.Until(StarvationEvent::kLifted, 0, 0.1, 10)->level, 1);
  EXPECT_EQ(job.Until(StarvationEvent::kLifted, 0, 0.1, 10)->level, 2);
  EXPECT_FALSE(job.Until(StarvationEvent::kLifted, 0, 0.1, 10));
  EXPECT_EQ(job.Look(0, 0.1).level, 2);
}

TEST(Starvation, ReservedLevelsAreJumpedOver) {
  Watched job(UsableLevels(6, std::vector<std::int32_t>{1, 2, 5}, 1));
  EXPECT_EQ(job.Until(StarvationEvent::kLifted, 0, 0.1, 10)->level, 3);
  EXPECT_EQ(job.Until(StarvationEvent::kLifted, 0, 0.1, 10)->level, 4);
  EXPECT_FALSE(job.Until(StarvationEvent::kLifted, 0, 0.1, 20));
}

TEST(Starvation, APlanThatRaisesTheJobItselfIsNotOvershot) {
  Watched job({0, 1});
  ASSERT_TRUE(job.Until(StarvationEvent::kLifted, 0, 0.1, 10));
  EXPECT_EQ(job.Look(1, 0.1).level, 1);
  EXPECT_EQ(job.Look(0, 0.9).level, 0);
}

TEST(Starvation, AnUnknownShareNeitherStartsNorEndsAWait) {
  Watched job({0, 1});
  EXPECT_FALSE(job.Until(StarvationEvent::kLifted, 0, std::nullopt, 100));
  EXPECT_FALSE(job.Until(StarvationEvent::kLifted, 0, std::nan(""), 100));
  EXPECT_FALSE(job.Until(StarvationEvent::kLifted, 0, 0.1, 5));
  EXPECT_EQ(job.Look(0, std::nullopt).event, StarvationEvent::kNone);
  EXPECT_TRUE(job.Until(StarvationEvent::kLifted, 0, 0.1, 3));
}

TEST(Starvation, AClockThatStepsBackCountsAsNoTime) {
  Watched job({0, 1});
  job.Look(0, 0.1);
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(job.Look(0, 0.1, -5).event, StarvationEvent::kNone);
  }
}

TEST(Starvation, ALevelThatIsNotHandedOutIsLeftAlone) {
  Watched job({0, 1});
  EXPECT_FALSE(job.Until(StarvationEvent::kLifted, 7, 0.0, 30));
  EXPECT_EQ(job.Look(7, 0.0).level, 7);
}

Problem OneLink(double busy_share_of_first) {
  Problem problem;
  problem.levels = 2;
  problem.links = {{"l", 8}};  // 1e9 bytes a second
  for (const double bytes : {busy_share_of_first * 1e9, 0.5e9}) {
    ContendingJob job;
    job.id = problem.jobs.empty() ? "first" : "second";
    job.gpus = 1;
    job.flop_per_iteration = 1e12;
    job.compute_seconds = 1 - bytes / 1e9;
    job.flows = {{"f", bytes, {{0}}}};
    problem.jobs.push_back(job);
  }
  return problem;
}

TEST(PredictedShares, TheHighLevelLosesNothingAndTheLowGetsWhatIsLeft) {
  const Problem problem = OneLink(0.5);
  const Solution solution = Describe(problem, {{0}, {0}}, {1, 0}, {0, 1});
  const std::vector<double> shares = PredictedShares(problem, solution);
  EXPECT_DOUBLE_EQ(shares[0], 1);
  EXPECT_NEAR(shares[1], 1 / 1.5, 1e-9);  // half of the link: twice as long for half an iteration
}

TEST(PredictedShares, ALinkThatIsFullStarvesTheLowLevelUntilItIsLifted) {
  const Problem problem = OneLink(0.999);
  const Solution solution = Describe(problem, {{0}, {0}}, {1, 0}, {0, 1});
  EXPECT_LT(PredictedShares(problem, solution)[1], 0.01);
  const std::vector<std::int32_t> lifted = {1, 1};
  const std::vector<double> shares = PredictedShares(problem, solution, lifted);
  EXPECT_GT(shares[1], 0.6);
  EXPECT_GT(shares[0], 0.4);
}

TEST(PredictedShares, StayWithinZeroAndOneAndOnlyLowerLevelsLose) {
  for (std::uint64_t seed = 0; seed < Rounds(50u); ++seed) {
    const Problem problem = testing::RandomProblem(
        {.jobs = 8, .links = 4, .levels = 4, .flows = 2, .candidates = 2}, seed);
    const auto solution = Decide(problem);
    ASSERT_TRUE(solution.ok());
    const std::vector<double> shares = PredictedShares(problem, *solution);
    for (std::size_t j = 0; j < shares.size(); ++j) {
      EXPECT_GT(shares[j], 0);
      EXPECT_LE(shares[j], 1);
    }
    for (std::size_t j = 0; j < shares.size(); ++j) {
      const bool contends = std::any_of(
          solution->edges.begin(), solution->edges.end(),
          [&](const ContentionEdge& e) { return e.from.index() == j || e.to.index() == j; });
      if (!contends) {
        EXPECT_NEAR(shares[j], 1, 1e-9);
      }
    }
  }
}

}  // namespace
}  // namespace yardmaster::crux
