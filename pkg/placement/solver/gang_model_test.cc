#include "pkg/placement/solver/gang_model.h"

#include <gtest/gtest.h>
#include <numeric>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {
namespace {

using workload::Enforcement;
using workload::GroupPolicy;
using workload::TopologyLevel;

constexpr GroupPolicy kRequiredInPod{TopologyLevel::kFabricPod, Enforcement::kRequired};
constexpr GroupPolicy kAnywhere{TopologyLevel::kFabric, Enforcement::kPreferred};

Case AnyCase(Random& random, int round) {
  return round % 4 == 0 ? IrregularCase(random) : RandomCase(random, {24, 4, true});
}

// Workers that are together in `fine` are together in `coarse`.
bool Refines(const Partition& fine, const Partition& coarse) {
  for (std::size_t v = 0; v < fine.of.size(); ++v) {
    for (std::size_t w = 0; w < v; ++w) {
      if (fine.of[v] == fine.of[w] && coarse.of[v] != coarse.of[w]) return false;
    }
  }
  return true;
}

TEST(GangModelTest, EachPartitionIsMadeOfWholeClassesOfTheFinerOne) {
  Random random(1);
  for (int round = 0; round < Rounds(400); ++round) {
    const Case c = AnyCase(random, round);
    const GangModel model = ModelOf(c.job, c.groups);
    EXPECT_TRUE(Refines(model.host_sets, model.atoms)) << Describe(c);
    EXPECT_TRUE(Refines(model.atoms, model.units)) << Describe(c);
    EXPECT_TRUE(Refines(model.units, model.components)) << Describe(c);
    EXPECT_TRUE(Refines(model.atoms, model.pod_sets)) << Describe(c);
  }
}

TEST(GangModelTest, ClassesAreNumberedByTheirLowestWorkerAndHoldAllWorkers) {
  Random random(2);
  for (int round = 0; round < Rounds(400); ++round) {
    const Case c = AnyCase(random, round);
    const GangModel model = ModelOf(c.job, c.groups);
    for (const Partition* classes :
         {&model.host_sets, &model.atoms, &model.units, &model.components, &model.pod_sets}) {
      int next = 0;
      for (int of : classes->of) {
        ASSERT_LE(of, next) << Describe(c);
        next += of == next;
      }
      ASSERT_EQ(next, classes->count());
      ASSERT_EQ(std::accumulate(classes->size.begin(), classes->size.end(), 0), c.job.workers);
    }
  }
}

TEST(GangModelTest, AStageNeverLiesInTwoComponents) {
  Random random(3);
  for (int round = 0; round < Rounds(400); ++round) {
    const Case c = AnyCase(random, round);
    const GangModel model = ModelOf(c.job, c.groups);
    for (const std::vector<int>& stage : c.groups.workers_of_stage) {
      for (int worker : stage) {
        EXPECT_EQ(model.components.of[worker], model.components.of[stage[0]]) << Describe(c);
      }
    }
  }
}

TEST(GangModelTest, AnOrdinaryJobIsUniformWithAComponentForEachStage) {
  // Tensor groups on two hosts of 8 GPUs, eight of them in a data group, four stages.
  const Case c = MakeCase(MakeCluster({{4}}), MakeJob(16, 1, 1, 8, 4));
  const GangModel model = ModelOf(c.job, c.groups);
  EXPECT_EQ(model.workers, 64);
  EXPECT_EQ(model.units.size, std::vector<int>(32, 2));
  EXPECT_EQ(model.components.size, std::vector<int>(4, 16));
  EXPECT_EQ(model.stages_per_component, 1);
  EXPECT_TRUE(model.equal_components);
  EXPECT_TRUE(model.uniform);
  EXPECT_EQ(model.data_groups, 16) << "one for each tensor rank";
  EXPECT_EQ(model.host_set_size, 1);
}

TEST(GangModelTest, TheExampleOfTheDocumentationHasFivePartitions) {
  Case c = MakeCase(MakeCluster({{4}}), MakeJob(8, 2, 2, 4, 2, 4));
  c.job.placement.tensor = {TopologyLevel::kHost, Enforcement::kRequired};
  const GangModel model = ModelOf(c.job, c.groups);
  EXPECT_EQ(model.host_sets.size, std::vector<int>(16, 2));
  EXPECT_EQ(model.atoms.size, std::vector<int>(8, 4));
  EXPECT_EQ(model.units.size, std::vector<int>(4, 8));
  EXPECT_EQ(model.components.size, std::vector<int>(2, 16));
  EXPECT_EQ(model.pod_sets.of, model.components.of);
  EXPECT_EQ(model.components.of[15], 0) << "workers 0 to 15 are the first stage";
}

GangModel WithPolicy(GroupPolicy data, GroupPolicy pipeline) {
  Case c = MakeCase(MakeCluster({{4}}), MakeJob(8, 1, 1, 4, 2));
  c.job.placement.data = data;
  c.job.placement.pipeline = pipeline;
  return ModelOf(c.job, c.groups);
}

TEST(GangModelTest, ThePodRuleIsTheTightestThatTheLimitsAskFor) {
  EXPECT_EQ(WithPolicy(kAnywhere, kAnywhere).pod_rule, PodRule::kNone);
  const GangModel components = WithPolicy(kRequiredInPod, kAnywhere);
  EXPECT_EQ(components.pod_rule, PodRule::kComponent);
  EXPECT_TRUE(components.rule_is_limit);
  const GangModel gang = WithPolicy(kRequiredInPod, kRequiredInPod);
  EXPECT_EQ(gang.pod_rule, PodRule::kGang);
  EXPECT_TRUE(gang.rule_is_limit);
  // Pipelines cross all components, and together with them they are the gang: more than is asked
  // for.
  const GangModel pipelines = WithPolicy(kAnywhere, kRequiredInPod);
  EXPECT_EQ(pipelines.pod_rule, PodRule::kGang);
  EXPECT_FALSE(pipelines.rule_is_limit);
  EXPECT_EQ(pipelines.pod_sets.size, std::vector<int>(4, 2));
}

TEST(GangModelTest, GroupsThatMustShareAHostAreHostSets) {
  Case c = MakeCase(MakeCluster({{4}}), MakeJob(8, 1, 1, 4, 1, 2));
  c.job.placement.tensor = {TopologyLevel::kHost, Enforcement::kRequired};
  const GangModel model = ModelOf(c.job, c.groups);
  EXPECT_EQ(model.host_set_size, 4);
  EXPECT_EQ(model.host_sets.size, std::vector<int>(4, 4));
  c.job.placement.tensor.mode = Enforcement::kPreferred;
  EXPECT_EQ(ModelOf(c.job, c.groups).host_set_size, 1);
}

TEST(GangModelTest, APipelineGroupIsWorkersThatDifferInTheStageOnly) {
  // Two GPUs of each worker have the same partners: one group, counted for both.
  const Case c = MakeCase(MakeCluster({{4}}), MakeJob(2, 1, 1, 2, 3, 2));
  const std::vector<workload::WorkerGroup> groups = PipelineGroups(c.job);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0], (workload::WorkerGroup{{0, 2, 4}, 2}));
  EXPECT_EQ(groups[1], (workload::WorkerGroup{{1, 3, 5}, 2}));
  EXPECT_TRUE(PipelineGroups(MakeJob(8, 1, 1, 2, 1)).empty()) << "one stage";
}

TEST(GangModelTest, JoiningNothingChangesNothingAndJoiningAllGroupsGivesComponents) {
  Random random(4);
  for (int round = 0; round < Rounds(200); ++round) {
    const Case c = AnyCase(random, round);
    const GangModel model = ModelOf(c.job, c.groups);
    EXPECT_EQ(Joined(model.atoms, {}).of, model.atoms.of);
    const Partition joined = Joined(
        model.atoms, {&c.groups.data, &c.groups.expert, &c.groups.context, &c.groups.tensor});
    EXPECT_EQ(joined.of, model.components.of) << Describe(c);
    EXPECT_EQ(joined.size, model.components.size) << Describe(c);
  }
}

}  // namespace
}  // namespace yardmaster::placement
