#include "pkg/operator/telemetry/stragglers.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::op {
namespace {

class StragglersTest : public ::testing::Test {
 protected:
  void Report(int rank, double compute_seconds, std::int64_t samples = 40) {
    Add({rank, StrCat("n", rank), "", samples, compute_seconds, std::nullopt, 0});
  }
  void Clock(int rank, double megahertz, std::optional<double> compute_seconds = std::nullopt) {
    Add({rank, StrCat("n", rank), "", 40, compute_seconds, megahertz, 0});
  }
  void Add(const WorkerPace& pace) {
    std::erase_if(reports_, [&](const WorkerPace& known) { return known.rank == pace.rank; });
    reports_.push_back(pace);
  }
  std::optional<api::Condition> Look(int workers, int pipeline = 1) {
    workload::Parallelism p;
    p.pipeline = pipeline;
    p.data = workers * 8 / pipeline;
    return Straggling(CompareWorkers(reports_, workload::GroupsOf(p, workers, 8)), 0.8, 1, before_);
  }

  std::vector<WorkerPace> reports_;
  std::vector<api::Condition> before_;
};

TEST_F(StragglersTest, AWorkerThatComputesLongerThanTheMedianIsNamedWithItsHost) {
  for (int rank = 0; rank < 8; ++rank) Report(rank, rank == 5 ? 1.9 : 1.0 + 0.01 * rank);
  const auto condition = Look(8);
  ASSERT_TRUE(condition);
  EXPECT_EQ(condition->status, api::ConditionStatus::kTrue);
  EXPECT_EQ(condition->message, "rank 5 on n5 has 1.8 times the compute time of its like");
}

TEST_F(StragglersTest, LowClocksOfGpusAreNamedAsTheCause) {
  for (int rank = 0; rank < 8; ++rank) Clock(rank, rank == 5 ? 1'000 : 1'800, rank == 5 ? 1.8 : 1);
  EXPECT_EQ(Look(8)->message,
            "rank 5 on n5 has 1.8 times the compute time of its like, with GPUs at 55 % of their "
            "clock");
}

TEST_F(StragglersTest, ItsOwnCpuLimitIsNamedAsTheCauseWhereItExplainsTheTime) {
  const auto look = [&](std::optional<double> throttled, double others_throttled,
                        double megahertz = 1'800) {
    for (int rank = 0; rank < 8; ++rank) {
      WorkerPace pace{rank, StrCat("n", rank), "", 40, 1, 1'800, 0, others_throttled};
      if (rank == 5) {
        pace.compute_seconds = 2;
        pace.gpu_clock_mhz = megahertz;
        pace.cpu_throttled = throttled;
      }
      Add(pace);
    }
    return Look(8)->message;
  };
  const std::string slow = "rank 5 on n5 has 2.0 times the compute time of its like";
  EXPECT_EQ(look(0.8, 0), slow + ", throttled by its own CPU limit");
  EXPECT_EQ(look(0.25, 0), slow + ", throttled by its own CPU limit");
  EXPECT_EQ(look(0.2, 0), slow) << "a fifth of its periods costs no half of its time";
  EXPECT_EQ(look(0.8, 0.7), slow) << "the others are throttled, too, and are not slow";
  EXPECT_EQ(look(std::nullopt, 0), slow) << "not known";
  EXPECT_EQ(look(0.8, 0, 1'000), slow + ", with GPUs at 55 % of their clock")
      << "a clock is the host's";
}

TEST_F(StragglersTest, WithoutComputeTimesTheClocksCount) {
  for (int rank = 0; rank < 8; ++rank) Clock(rank, rank == 5 ? 1'000 : 1'800 - rank);
  EXPECT_EQ(Look(8)->message, "rank 5 on n5 has GPUs at 55 % of their clock");
  Clock(5, 1'500);
  EXPECT_EQ(Look(8)->status, api::ConditionStatus::kFalse);
}

TEST_F(StragglersTest, AWorkerThatComputesAsLongAsItsLikeIsNotSlowWithAnyClock) {
  for (int rank = 0; rank < 8; ++rank) Clock(rank, rank == 5 ? 345 : 1'800, 1);
  EXPECT_EQ(Look(8)->status, api::ConditionStatus::kFalse);
}

TEST_F(StragglersTest, GpusOfOtherModelsAreComparedWithTheirLike) {
  const auto of_model = [this](int rank, bool old, double times) {
    WorkerPace pace{rank, StrCat("n", rank), "", 40, (old ? 2 : 1) * times, old ? 1'400.0 : 1'900.0,
                    0};
    pace.gpu_model = old ? "NVIDIA-A100" : "NVIDIA-H100";
    Add(pace);
  };
  for (int rank = 0; rank < 8; ++rank) of_model(rank, rank < 4, 1);
  EXPECT_EQ(Look(8)->status, api::ConditionStatus::kFalse);
  of_model(2, true, 1.5);
  EXPECT_EQ(Look(8)->message, "rank 2 on n2 has 1.5 times the compute time of its like");
  // Too few of a model to say what is usual of it.
  of_model(3, false, 1);
  EXPECT_EQ(Look(8)->status, api::ConditionStatus::kFalse);
}

TEST_F(StragglersTest, EvenWorkersAreNoStragglers) {
  for (int rank = 0; rank < 8; ++rank) Report(rank, 1.0 + 0.02 * rank);
  EXPECT_EQ(Look(8)->status, api::ConditionStatus::kFalse);
}

TEST_F(StragglersTest, StagesAreComparedWithTheirLike) {
  for (int rank = 0; rank < 8; ++rank) Report(rank, rank < 4 ? 1.0 : 2.0);
  EXPECT_EQ(Look(8, 2)->status, api::ConditionStatus::kFalse);
}

TEST_F(StragglersTest, FewReportsAndShortOnesSayNothing) {
  for (int rank = 0; rank < 3; ++rank) Report(rank, rank == 0 ? 9 : 1);
  EXPECT_FALSE(Look(8));
  for (int rank = 3; rank < 8; ++rank) Report(rank, 1, kMinSamples - 1);
  EXPECT_FALSE(Look(8));
}

TEST_F(StragglersTest, WhatWasSaidOfWorkersThatReportNothingMoreIsNotKnown) {
  before_ = {{"Straggling", api::ConditionStatus::kTrue, "SlowWorker", "rank 5", 1, 0}};
  const auto condition = Look(8);
  ASSERT_TRUE(condition);
  EXPECT_EQ(condition->status, api::ConditionStatus::kUnknown);
  before_ = {*condition};
  EXPECT_FALSE(Look(8));
}

TEST_F(StragglersTest, OneHostThatReportsNonsenseBlamesOnlyItself) {
  for (int rank = 0; rank < 8; ++rank) Report(rank, 1.0);
  Report(2, 1e-6);
  EXPECT_EQ(Look(8)->status, api::ConditionStatus::kFalse);
  Report(2, 80'000);
  EXPECT_NE(Look(8)->message.find("rank 2 on n2"), std::string::npos);
}

}  // namespace
}  // namespace yardmaster::op
