#include "pkg/placement/solver/piece_problem.h"

#include <gtest/gtest.h>
#include <numeric>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/search_problems.h"

namespace yardmaster::placement {
namespace {

using workload::Enforcement;
using workload::TopologyLevel;

SearchProblem ProblemIn(const Case& c, const GangModel& model, const Partition& pieces) {
  return ProblemOf(*c.cluster.places, model, c.groups, CapacityFor(c.cluster, c.request(), 1),
                   pieces);
}

// Of any assignment of whole pieces, the problem and the objective say the same.
TEST(PieceProblemTest, APlacementOfPiecesCostsWhatItsWorkersCost) {
  Random random(1);
  int split = 0;
  for (int round = 0; round < Rounds(600); ++round) {
    const Case c = round % 5 == 0 ? IrregularCase(random) : RandomCase(random, {12, 5});
    const GangModel model = ModelOf(c.job, c.groups);
    for (const Partition* pieces : {&model.atoms, &model.units, &model.components}) {
      SearchProblem problem = ProblemIn(c, model, *pieces);
      // Room and limits are not what is compared.
      problem.max_stages_per_segment = 0;
      std::iota(problem.pod_set.begin(), problem.pod_set.end(), 0);
      problem.capacity.assign(problem.capacity.size(), c.job.workers);
      std::vector<int> segment, segment_of_worker;
      for (int p = 0; p < pieces->count(); ++p) {
        segment.push_back(static_cast<int>(random.Below(problem.capacity.size())));
      }
      for (int piece : pieces->of) {
        segment_of_worker.push_back(segment[static_cast<std::size_t>(piece)]);
      }
      const Objective want = EvaluateSegments(*c.cluster.places, c.groups, segment_of_worker);
      ASSERT_EQ(CostOf(problem, segment), want) << Describe(c);
      split += want.data_split_segments > 0;
    }
  }
  EXPECT_GT(split, MoreThan(200));
}

TEST(PieceProblemTest, GroupsInsideAPieceAreLeftOutAndEqualOnesAddedUp) {
  // Tensor groups on two hosts, three of them in a data group: 16 data groups, 8 over each host of
  // the pairs.
  const Case c = MakeCase(MakeCluster({{4, 4}}), MakeJob(16, 1, 1, 3, 1));
  const GangModel model = ModelOf(c.job, c.groups);
  const SearchProblem units = ProblemIn(c, model, model.units);
  EXPECT_EQ(units.piece_size, (std::vector<int>{2, 2, 2}));
  ASSERT_EQ(units.groups.size(), 1u);
  EXPECT_EQ(units.groups[0].pieces, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(units.groups[0].count, 16);
  EXPECT_FALSE(units.groups[0].tensor);
  EXPECT_TRUE(ProblemIn(c, model, model.components).groups.empty());
}

TEST(PieceProblemTest, APieceJoinsThePodSetsThatItLiesIn) {
  // Four pipelines Required in a fabric pod: pod sets of workers {0, 4}, {1, 5}, ...
  Case c = MakeCase(MakeCluster({{8}}), MakeJob(8, 1, 1, 4, 2));
  c.job.placement.data = {TopologyLevel::kFabric, Enforcement::kPreferred};
  c.job.placement.pipeline = {TopologyLevel::kFabricPod, Enforcement::kRequired};
  const GangModel model = ModelOf(c.job, c.groups);
  EXPECT_EQ(ProblemIn(c, model, model.atoms).pod_set, (std::vector<int>{0, 1, 2, 3, 0, 1, 2, 3}));
  EXPECT_EQ(ProblemIn(c, model, model.components).pod_set, (std::vector<int>{0, 0}));
}

TEST(PieceProblemTest, HomesAreTheCoarserClasses) {
  const Partition fine{{0, 1, 0, 2, 1}, {2, 2, 1}}, coarse{{0, 0, 0, 1, 0}, {4, 1}};
  EXPECT_EQ(HomeOf(fine, coarse), (std::vector<int>{0, 0, 1}));
}

TEST(PieceProblemTest, StagesOfAPieceAscendEachOnceAndOnlyWhereTheyAreLimited) {
  Case c = MakeCase(MakeCluster({{4}}), MakeJob(4, 1, 1, 1, 4));  // two stages on a worker
  GangModel model = ModelOf(c.job, c.groups);
  EXPECT_EQ(StagesOf(model, c.groups, model.units),
            std::vector<std::vector<int>>(model.units.size.size()));
  c.job.placement.max_stages_per_segment = 2;
  model = ModelOf(c.job, c.groups);
  EXPECT_EQ(StagesOf(model, c.groups, model.atoms),
            (std::vector<std::vector<int>>{{0, 1}, {2, 3}}));
  const Partition whole{std::vector<int>(static_cast<std::size_t>(c.job.workers), 0),
                        {c.job.workers}};
  EXPECT_EQ(StagesOf(model, c.groups, whole), (std::vector<std::vector<int>>{{0, 1, 2, 3}}));
}

}  // namespace
}  // namespace yardmaster::placement
