#include "pkg/api/unnumbered_pod.h"

#include "gtest/gtest.h"

#include "pkg/api/names.h"

namespace yardmaster::api {
namespace {

Pod Worker(std::map<std::string, std::string> labels, const char* name = "p") {
  Pod pod;
  pod.metadata.name = name;
  pod.metadata.labels = std::move(labels);
  pod.metadata.labels["ray.io/cluster"] = "c";
  pod.metadata.owners = {{"ray.io/v1", "RayCluster", "c", "u1", true}};
  return pod;
}

TEST(UnnumberedPodTest, AWorkerOfARayClusterHasAGangAndNoRankUntilTheLabelIsThere) {
  const auto member = ResolveUnnumbered(Worker({{"ray.io/group", "g"}}));
  ASSERT_TRUE(member.ok() && *member) << member.status();
  EXPECT_EQ((*member)->gang_name, "raycluster-c");
  EXPECT_EQ((*member)->owner.uid, "u1");
  EXPECT_FALSE(ResolveMembership(Worker({{"ray.io/group", "g"}})).ok());

  const Pod numbered = Worker({{"ray.io/group", "g"}, {kRankLabel, "7"}});
  const auto none = ResolveUnnumbered(numbered);
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(*none);
  const auto rank = ResolveMembership(numbered);
  ASSERT_TRUE(rank.ok() && *rank) << rank.status();
  EXPECT_EQ((*rank)->index, 7);
  EXPECT_EQ((*rank)->gang_name, (*member)->gang_name);
}

TEST(UnnumberedPodTest, PodsOfOtherKindsAndCopiedLabelsGetNoNumber) {
  Pod of_job = Worker({{"batch.kubernetes.io/job-name", "j"}});
  of_job.metadata.labels.erase("ray.io/cluster");
  const auto other = ResolveUnnumbered(of_job);
  ASSERT_TRUE(other.ok());
  EXPECT_FALSE(*other);
  Pod copied = Worker({});
  copied.metadata.owners[0].name = "d";
  EXPECT_FALSE(ResolveUnnumbered(copied).ok());
}

TEST(UnnumberedPodTest, NumbersFollowHeadGroupsReplicasHostsAndNames) {
  const std::vector<Pod> order = {
      Worker({{"ray.io/node-type", "head"}, {"ray.io/group", "headgroup"}}, "z"),
      Worker({{"ray.io/group", "a"}}, "a"),
      Worker({{"ray.io/group", "a"}}, "b"),
      Worker({{"ray.io/group", "b"},
              {"ray.io/worker-group-replica-index", "2"},
              {"ray.io/replica-host-index", "1"}},
             "y"),
      Worker({{"ray.io/group", "b"},
              {"ray.io/worker-group-replica-index", "10"},
              {"ray.io/replica-host-index", "0"}},
             "x"),
      Worker({{"ray.io/group", "b"}, {"ray.io/worker-group-replica-index", "many"}}, "c")};
  for (std::size_t a = 0; a < order.size(); ++a) {
    for (std::size_t b = 0; b < order.size(); ++b) {
      EXPECT_EQ(NumberedBefore(order[a], order[b]), a < b) << a << " and " << b;
    }
  }
}

}  // namespace
}  // namespace yardmaster::api
