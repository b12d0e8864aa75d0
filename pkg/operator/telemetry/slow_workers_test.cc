#include "pkg/operator/telemetry/slow_workers.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::op {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kGraceMs = 120'000;
const NamespacedName kGang{"team", "a"};

// Eight workers, a report of each every half minute.
class SlowWorkersTest : public ::testing::Test {
 protected:
  // `times`: of the ranks that are slow.
  std::optional<SlowHost> Round(const std::map<int, double>& times) {
    now_ms_ += 30'000;
    if (agents_report_) time_ms_ += 30'000;
    std::vector<ComparedWorker> compared;
    for (int rank = 0; rank < 8; ++rank) {
      const auto at = times.find(rank);
      WorkerPace pace{rank, StrCat("n", rank), StrCat(pods_, "-", rank), 40, 1, {}, time_ms_};
      compared.push_back({pace, at == times.end() ? 1.0 : at->second, {}, {}});
      if (limits_are_known_) compared.back().limited = rank == limited_rank_;
    }
    compared_ = compared;
    return workers_.Observe(kGang, compared, now_ms_);
  }
  // The ranks for which reports speak.
  std::size_t Fresh() { return workers_.Fresh(kGang, compared_, now_ms_).size(); }
  bool Leaves(const std::map<int, double>& times) {
    const auto found = Round(times);
    return found && found->stays.empty();
  }

  SlowWorkers workers_;
  std::vector<ComparedWorker> compared_;
  std::int64_t now_ms_ = 0;
  std::int64_t time_ms_ = 1'700'000'000'000;
  bool agents_report_ = true;
  int limited_rank_ = -1;
  bool limits_are_known_ = true;
  std::string pods_ = "p";
};

TEST_F(SlowWorkersTest, AHostIsNamedAtOnceAndLeftOnceALaterReportSaysTheSame) {
  EXPECT_FALSE(Round({}));
  const auto first = Round({{3, 1.85}});
  ASSERT_TRUE(first);
  EXPECT_EQ(first->host, "n3");
  EXPECT_EQ(first->rank, 3);
  EXPECT_EQ(first->has, "1.8 times the compute time of its like");
  EXPECT_THAT(first->stays, HasSubstr("confirms"));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Leaves({{3, 1.8}}));
  EXPECT_TRUE(Leaves({{3, 1.8}}));
}

TEST_F(SlowWorkersTest, TheLastWordOfAnAgentRemovesNothingAndIsForgotten) {
  EXPECT_TRUE(Round({{3, 2}}));
  agents_report_ = false;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(Leaves({{3, 2}}));
  EXPECT_FALSE(Round({{3, 2}})) << "it is old";
  agents_report_ = true;
  EXPECT_FALSE(Leaves({{3, 2}})) << "by its own time that is half a minute later";
  time_ms_ += 100 * 30'000;
  EXPECT_TRUE(Leaves({{3, 2}})) << "it has been slow all the time";
}

TEST_F(SlowWorkersTest, AnOldReportOfASlowWorkerIsNotFresh) {
  EXPECT_EQ(Fresh(), 0u);
  Round({{3, 2}});
  EXPECT_EQ(Fresh(), 8u);
  agents_report_ = false;
  for (int i = 0; i < 33; ++i) Round({{3, 2}});
  EXPECT_EQ(Fresh(), 8u);
  Round({{3, 2}});
  EXPECT_EQ(Fresh(), 7u) << "the others are not said to be slow";
  agents_report_ = true;
  Round({{3, 2}});
  EXPECT_EQ(Fresh(), 8u);
}

TEST_F(SlowWorkersTest, ReportsConfirmByTheirOwnTimesHoweverLateTheyAreSeen) {
  EXPECT_TRUE(Round({{3, 2}}));
  now_ms_ += 600'000;
  EXPECT_FALSE(Leaves({{3, 2}})) << "half a minute after the first";
  time_ms_ += kGraceMs - 60'000;
  EXPECT_TRUE(Leaves({{3, 2}}));
  time_ms_ -= 3'600'000;
  EXPECT_FALSE(Leaves({{3, 2}})) << "its clock was set back";
  time_ms_ += kGraceMs - 30'000;
  EXPECT_TRUE(Leaves({{3, 2}}));
}

TEST_F(SlowWorkersTest, TheLastWordOfAnAgentDoesNotKeepOthersOnTheirHost) {
  const std::int64_t last_word_ms = time_ms_;
  std::optional<SlowHost> found;
  for (int i = 0; i < 100; ++i) {
    now_ms_ += 30'000;
    time_ms_ += 30'000;
    std::vector<ComparedWorker> compared;
    for (int rank = 0; rank < 8; ++rank) {
      WorkerPace pace{rank, StrCat("n", rank), "p", 40, 1, {}, rank == 5 ? last_word_ms : time_ms_};
      compared.push_back({pace, rank == 3 || rank == 5 ? 2.0 : 1.0, {}});
    }
    found = workers_.Observe(kGang, compared, now_ms_);
    ASSERT_TRUE(found);
    if (i == 20) {
      EXPECT_EQ(found->stays, "another host of it is slow, too");
    }
  }
  EXPECT_EQ(found->host, "n3");
  EXPECT_EQ(found->stays, "");
}

TEST_F(SlowWorkersTest, AHostStaysWhileItsOwnCpuLimitMakesAWorkerSlow) {
  EXPECT_TRUE(Round({{3, 2}}));
  limited_rank_ = 3;
  for (int i = 0; i < 20; ++i) {
    const auto found = Round({{3, 2}});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->has, "2.0 times the compute time of its like, throttled by its own CPU limit");
    EXPECT_THAT(found->stays, HasSubstr("resources.limits.cpu"));
  }
  limited_rank_ = -1;
  EXPECT_THAT(Round({{3, 2}})->stays, HasSubstr("confirms"));
  for (int i = 0; i < 3; ++i) EXPECT_FALSE(Leaves({{3, 2}}));
  EXPECT_TRUE(Leaves({{3, 2}})) << "it is slow without the limit, too";
}

TEST_F(SlowWorkersTest, AReportThatDipsBelowTheLimitMovesNothing) {
  for (int i = 0; i < 20; ++i) {
    limited_rank_ = i % 4 == 3 ? -1 : 3;
    time_ms_ += 480'000;
    EXPECT_FALSE(Leaves({{3, 2}})) << "a checkpoint, and reports that are renewed seldom";
  }
}

TEST_F(SlowWorkersTest, WhereTheLimitIsNotKnownItIsAsItWas) {
  limited_rank_ = 3;
  EXPECT_TRUE(Round({{3, 2}}));
  limits_are_known_ = false;
  for (int i = 0; i < 20; ++i) {
    const auto found = Round({{3, 2}});
    ASSERT_TRUE(found);
    EXPECT_TRUE(found->limited);
    EXPECT_THAT(found->has, HasSubstr("throttled by its own CPU limit"));
    EXPECT_THAT(found->stays, HasSubstr("resources.limits.cpu"));
  }
  for (int i = 20; i < 33; ++i) EXPECT_TRUE(Round({{3, 2}})->limited);
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(Leaves({{3, 2}})) << "it is too long ago";
  EXPECT_TRUE(Leaves({{3, 2}}));
  pods_ = "q";
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(Leaves({{3, 2}}));
  EXPECT_TRUE(Leaves({{3, 2}})) << "nothing was ever known of a limit";
}

TEST_F(SlowWorkersTest, AReportWithoutATimeConfirmsNothing) {
  time_ms_ = 0;
  agents_report_ = false;
  for (int i = 0; i < 10; ++i) {
    const auto found = Round({{3, 2}});
    ASSERT_TRUE(found);
    EXPECT_THAT(found->stays, HasSubstr("does not say when"));
  }
}

TEST_F(SlowWorkersTest, NoiseAroundTheLimitNeitherBeginsNorEndsIt) {
  for (int i = 0; i < 50; ++i) EXPECT_FALSE(Round({{3, 1.24}}));
  EXPECT_TRUE(Round({{3, 1.3}}));
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Round({{3, i % 2 == 0 ? 1.15 : 1.3}}));
  EXPECT_TRUE(Leaves({{3, 1.2}}));
  EXPECT_FALSE(Round({{3, 1.1}}));
}

TEST_F(SlowWorkersTest, OneThatFlapsBeginsAgainEachTime) {
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(Leaves({{3, 3}}));
    EXPECT_FALSE(Leaves({{3, 3}}));
    EXPECT_FALSE(Leaves({{3, 3}}));
    EXPECT_FALSE(Round({}));
  }
}

TEST_F(SlowWorkersTest, OfTwoSlowHostsNoneIsLeftAndTheFirstStaysNamed) {
  EXPECT_TRUE(Round({{3, 1.5}}));
  for (int i = 0; i < 10; ++i) {
    const auto found = Round({{3, 1.5}, {5, 4}});
    ASSERT_TRUE(found);
    EXPECT_EQ(found->host, "n3");
    EXPECT_EQ(found->stays, "another host of it is slow, too");
  }
  EXPECT_TRUE(Leaves({{3, 1.5}}));
}

TEST_F(SlowWorkersTest, AnotherPodAndAnotherLeaderBeginAgain) {
  for (int i = 0; i < 10; ++i) Round({{3, 2}});
  pods_ = "q";
  EXPECT_FALSE(Leaves({{3, 2}}));
  for (int i = 0; i < 10; ++i) Round({{3, 2}});
  EXPECT_TRUE(Leaves({{3, 2}}));
  workers_.Clear();
  EXPECT_FALSE(Leaves({{3, 2}}));
}

TEST_F(SlowWorkersTest, WhatIsToldStaysWhileThePaceDoes) {
  const std::string has = Round({{3, 1.99}})->has;
  EXPECT_EQ(Round({{3, 2.05}})->has, has);
  EXPECT_NE(Round({{3, 2.6}})->has, has);
}

}  // namespace
}  // namespace yardmaster::op
