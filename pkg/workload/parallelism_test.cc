#include "pkg/workload/parallelism.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/workload/job.h"

namespace yardmaster::workload {
namespace {

Parallelism Make(int tp, int cp, int ep, int dp, int pp) {
  Parallelism p;
  p.tensor = tp;
  p.context = cp;
  p.expert = ep;
  p.data = dp;
  p.pipeline = pp;
  return p;
}

TEST(ParallelismTest, RanksAndCoordinatesAreOneToOneInEveryOrder) {
  Random random(1);
  for (int trial = 0; trial < 200; ++trial) {
    const int ep = 1 + static_cast<int>(random.Below(3));
    Parallelism p =
        Make(1 + static_cast<int>(random.Below(4)), 1 + static_cast<int>(random.Below(3)), ep,
             ep * (1 + static_cast<int>(random.Below(3))), 1 + static_cast<int>(random.Below(4)));
    random.Shuffle(p.order);
    const RankLayout layout(p);
    for (std::int64_t rank = 0; rank < p.world(); ++rank) {
      const Coordinates c = layout.At(rank);
      EXPECT_EQ(layout.RankOf(c), rank);
      EXPECT_LT(c.data, p.data);
      EXPECT_LT(c.pipeline, p.pipeline);
    }
  }
}

TEST(ParallelismTest, TheProductOfTheLargestSizesDoesNotOverflow) {
  constexpr int kMax = 1'000'000;
  EXPECT_EQ(Make(kMax, kMax, 1, kMax, 1).world(), std::int64_t{kMax} * kMax * kMax);
  EXPECT_EQ(Make(kMax, kMax, kMax, kMax, kMax).world(), INT64_MAX);
  const absl::Status status =
      ValidateParallelism(Make(kMax, kMax, kMax, kMax, kMax), kMax, 1024, "x");
  EXPECT_EQ(MessageOf(status).rfind("x: tensor*context*data*pipeline = ", 0), 0u) << status;
}

TEST(ParallelismTest, MegatronsOrderPutsTensorRanksNextToEachOtherAndStagesInBlocks) {
  const RankLayout layout(Make(8, 1, 1, 8, 2));
  EXPECT_EQ(layout.At(7).tensor, 7);
  EXPECT_EQ(layout.At(8).data, 1);
  EXPECT_EQ(layout.At(63).pipeline, 0);
  EXPECT_EQ(layout.At(64).pipeline, 1);
}

TEST(ParallelismTest, TensorGroupsInsideAWorkerAreLeftOutAndDataGroupsCountOncePerTensorRank) {
  const WorkerGroups groups = GroupsOf(Make(8, 1, 1, 8, 2), 16, 8);
  EXPECT_TRUE(groups.tensor.empty());
  ASSERT_EQ(groups.data.size(), 2u);
  EXPECT_EQ(groups.data[0].workers, (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
  EXPECT_EQ(groups.data[0].count, 8);
  EXPECT_EQ(groups.workers_of_stage[1].front(), 8);
}

TEST(ParallelismTest, AWideTensorGroupSpansWorkersAndASmallStageSharesOne) {
  const WorkerGroups wide = GroupsOf(Make(16, 1, 1, 1, 1), 2, 8);
  ASSERT_EQ(wide.tensor.size(), 1u);
  EXPECT_EQ(wide.tensor[0].workers, (std::vector<int>{0, 1}));
  const WorkerGroups small = GroupsOf(Make(2, 1, 1, 2, 2), 1, 8);
  EXPECT_EQ(small.stages_of_worker[0], (std::vector<int>{0, 1}));
}

TEST(ParallelismTest, AProductThatIsNotTheNumberOfGpusIsRefusedWithBothSides) {
  const absl::Status status = ValidateParallelism(Make(8, 1, 1, 8, 3), 16, 8, "spec.parallelism");
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.message().find("8*1*8*3"), std::string::npos);
  EXPECT_NE(status.message().find("16*8 = 128"), std::string::npos);
  // 10^6 to the fourth overflows 64 bits; the check must not.
  EXPECT_FALSE(ValidateParallelism(Make(1000000, 1000000, 1, 1000000, 1000000), 1, 1, "p").ok());
}

TEST(ParallelismTest, GpusAreNumberedWorkerByWorkerHoweverManyEachHas) {
  const GpuNumbers numbers({{1, 0}, {2, 1}, {1, 0}, {2, 8}, {1, 2}});
  EXPECT_EQ(numbers.workers(), 7);
  EXPECT_EQ(numbers.world(), 20);
  std::vector<int> workers;
  std::vector<int> places;
  for (std::int64_t gpu = 0; gpu < numbers.world(); ++gpu) {
    workers.push_back(numbers.WorkerOf(gpu));
    places.push_back(numbers.PlaceOnWorker(gpu));
  }
  EXPECT_EQ(workers,
            (std::vector<int>{1, 2, 4, 4, 4, 4, 4, 4, 4, 4, 5, 5, 5, 5, 5, 5, 5, 5, 6, 6}));
  EXPECT_EQ(places, (std::vector<int>{0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1, 2, 3, 4, 5, 6, 7, 0, 1}));
}

Job RolesOf(const Parallelism& p, const std::vector<WorkerRun>& runs) {
  Job job;
  job.workers = 0;
  job.gpus_per_worker = 0;
  job.parallelism = p;
  for (const WorkerRun& run : runs) {
    job.roles.push_back({job.workers, {}, run.gpus});
    job.workers += run.workers;
    job.gpus_per_worker = std::max(job.gpus_per_worker, run.gpus);
  }
  return job;
}

TEST(ParallelismTest, SizesThatCountTheLargestRoleAloneNumberItsGpusOnly) {
  const std::vector<WorkerRun> runs{{2, 1}, {3, 8}};
  const Job all = RolesOf(Make(1, 1, 1, 26, 1), runs);
  EXPECT_TRUE(Problems(all, 8).empty());
  EXPECT_EQ(GroupsOf(all).data[0].workers, (std::vector<int>{0, 1, 2, 3, 4}));
  const Job largest = RolesOf(Make(8, 1, 1, 3, 1), runs);
  EXPECT_TRUE(Problems(largest, 8).empty());
  EXPECT_EQ(GroupsOf(largest).data[0].workers, (std::vector<int>{2, 3, 4}));
  EXPECT_TRUE(GroupsOf(largest).stages_of_worker[0].empty());
  EXPECT_EQ(largest.gpus(), 26);
  const Job neither = RolesOf(Make(8, 1, 1, 2, 1), runs);
  EXPECT_FALSE(Problems(neither, 8).empty());
}

TEST(ParallelismTest, ARoleWithMoreGpusThanTheMostIsRefused) {
  Job job = RolesOf(Make(1, 1, 1, 9, 1), {{1, 1}, {1, 8}});
  job.gpus_per_worker = 4;
  const std::vector<std::string> problems = Problems(job, 8);
  ASSERT_EQ(problems.size(), 1u);
  EXPECT_NE(problems[0].find("spec.roles"), std::string::npos);
}

TEST(ParallelismTest, AJobOfMoreGpusThanGroupsAreListedForIsRefusedByField) {
  Job job;
  job.workers = 131'072;
  job.parallelism = Make(8, 1, 1, 131'072, 1);
  EXPECT_EQ(Problems(job, 8), std::vector<std::string>());
  job.workers = 1'000'000;
  job.parallelism.data = 1'000'000;
  EXPECT_EQ(Problems(job, 8),
            std::vector<std::string>{"spec.workers: its 1000000 workers ask for 8000000 GPUs "
                                     "together, more than 1048576; split the job"});
  const std::vector<WorkerRun> runs{{1000, 1}, {3000, 1024}};
  EXPECT_EQ(Problems(RolesOf(Make(1024, 1, 1, 3000, 1), runs), 1024).size(), 1u);
}

TEST(ParallelismTest, OrdersParseAndFormatAndRepeatsAreRefused) {
  EXPECT_EQ(FormatOrder(ParseOrder("pp-dp-tp").value()), "pp-dp-tp-cp-ep");
  EXPECT_FALSE(ParseOrder("tp-tp").ok());
  EXPECT_FALSE(ParseOrder("tp-xx").ok());
}

}  // namespace
}  // namespace yardmaster::workload
