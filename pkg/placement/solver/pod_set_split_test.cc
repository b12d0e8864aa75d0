#include "pkg/placement/solver/pod_set_split.h"

#include <gtest/gtest.h>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"

namespace yardmaster::placement {
namespace {

using workload::Enforcement;
using workload::TopologyLevel;

TEST(PodSetSplitTest, FindsRoomForPipelinesInFabricPodsWheneverThereIs) {
  Random random(29);
  int found = 0, proved = 0, unknown = 0;
  for (int round = 0; round < Rounds(800); ++round) {
    Case c = RandomCase(random, {2, 5});
    const int stages = 2 + static_cast<int>(random.Below(2));
    c.job = MakeJob(8, 1, 1, 1 + static_cast<int>(random.Below(stages == 2 ? 3 : 2)), stages);
    c.groups = workload::GroupsOf(c.job.parallelism, c.job.workers, c.job.gpus_per_worker);
    c.job.placement.data = {workload::TopologyLevel::kFabric, workload::Enforcement::kPreferred};
    c.job.placement.pipeline = {workload::TopologyLevel::kFabricPod,
                                workload::Enforcement::kRequired};
    c.job.placement.max_stages_per_segment = static_cast<int>(random.Below(3));
    std::vector<int> room;
    for (fabric::SegmentId s : c.cluster.places->segments()) {
      int& sum = room.emplace_back(0);
      for (fabric::HostId h : c.cluster.places->hosts_of(s)) sum += RoomOf(c, h);
    }
    const SegmentPlan split = SplitPodSets(*c.cluster.places, ModelOf(c.job, c.groups), room,
                                           c.job.placement.max_stages_per_segment,
                                           std::vector<SegmentScore>(room.size()));
    const bool fits = FindBetter(c, std::nullopt).has_value();
    ASSERT_TRUE(!split.found || fits) << Describe(c);
    ASSERT_TRUE(!split.exact || !fits) << Describe(c);
    found += split.found;
    proved += split.exact;
    unknown += !split.found && !split.exact;
    if (!split.found) continue;
    std::vector<fabric::HostId> hosts;  // one stands for its segment
    for (int s : split.segment_of_worker) {
      ASSERT_GE(--room[static_cast<std::size_t>(s)], 0);
      hosts.push_back(c.cluster.places->hosts_of(fabric::SegmentId(s))[0]);
    }
    Case open = c;
    for (HostState& host : open.cluster.hosts) {
      host = HostState();
      host.gpus = host.free_gpus = 1024;
    }
    ASSERT_EQ(Faults(open, hosts), "") << Describe(c);
  }
  EXPECT_GT(found, MoreThan(100));
  EXPECT_GT(proved, MoreThan(100));
  EXPECT_LT(unknown, 10);
}

TEST(PodSetSplitTest, PodSetsOfOneComponentAreLeftToOthers) {
  // The stages are Required in fabric pods: a pod set lies in one component, not in all.
  Case c = MakeCase(MakeCluster({{4}, {4}}), MakeJob(8, 1, 1, 4, 2));
  c.job.placement.data = {TopologyLevel::kFabricPod, Enforcement::kRequired};
  const SegmentPlan split = SplitPodSets(*c.cluster.places, ModelOf(c.job, c.groups), {4, 4}, 0,
                                         std::vector<SegmentScore>(2));
  EXPECT_FALSE(split.found);
  EXPECT_FALSE(split.exact);
  EXPECT_TRUE(split.segment_of_worker.empty());
}

TEST(PodSetSplitTest, AsManyPipelinesAsFitStayInEachFabricPod) {
  // Four pipelines of two stages; each fabric pod has room for two of them.
  Case c = MakeCase(MakeCluster({{4}, {4}}), MakeJob(8, 1, 1, 4, 2));
  c.job.placement.data = {TopologyLevel::kFabric, Enforcement::kPreferred};
  c.job.placement.pipeline = {TopologyLevel::kFabricPod, Enforcement::kRequired};
  const GangModel model = ModelOf(c.job, c.groups);
  const std::vector<SegmentScore> scores(2);
  const SegmentPlan split = SplitPodSets(*c.cluster.places, model, {4, 4}, 0, scores);
  ASSERT_TRUE(split.found);
  for (std::size_t w = 0; w < 8; ++w) {
    for (std::size_t other = 0; other < 8; ++other) {
      if (model.pod_sets.of[w] == model.pod_sets.of[other]) {
        EXPECT_EQ(split.segment_of_worker[w], split.segment_of_worker[other]);
      }
    }
  }
  // Room for seven workers is room for three pipelines.
  EXPECT_TRUE(SplitPodSets(*c.cluster.places, model, {4, 3}, 0, scores).exact);
}

}  // namespace
}  // namespace yardmaster::placement
