#include "pkg/placement/hosts_near.h"

#include <gtest/gtest.h>

#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {
namespace {

using workload::TopologyLevel;
using Flags = std::vector<std::uint8_t>;

Flags Near(const Case& c, const GangRequest& request, TopologyLevel level) {
  // Two segments of two hosts in each of two fabric pods; the gang is in the second segment.
  return HostsNear(*c.cluster.places, request, {fabric::SegmentId(1)}, {fabric::FabricPodId(0)},
                   level);
}

TEST(HostsNearTest, EachLevelReachesFurther) {
  const Case c = MakeCase(MakeCluster({{2, 2}, {2, 2}}), MakeJob(8, 1, 1, 2, 1));
  const GangRequest request = c.request();
  EXPECT_EQ(Near(c, request, TopologyLevel::kSegment), (Flags{0, 0, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(Near(c, request, TopologyLevel::kFabricPod), (Flags{1, 1, 1, 1, 0, 0, 0, 0}));
  EXPECT_EQ(Near(c, request, TopologyLevel::kFabric), (Flags{1, 1, 1, 1, 1, 1, 1, 1}));
}

TEST(HostsNearTest, HostsThatTheRequestExcludesAreNotNear) {
  const Case c = MakeCase(MakeCluster({{2, 2}, {2, 2}}), MakeJob(8, 1, 1, 2, 1));
  GangRequest request = c.request();
  const Flags eligible = {1, 0, 1, 0, 1, 0, 1, 0};
  request.eligible = &eligible;
  EXPECT_EQ(Near(c, request, TopologyLevel::kSegment), (Flags{0, 0, 1, 0, 0, 0, 0, 0}));
  EXPECT_EQ(Near(c, request, TopologyLevel::kFabric), eligible);
  const Flags all;  // an empty list excludes nothing
  request.eligible = &all;
  EXPECT_EQ(Near(c, request, TopologyLevel::kSegment), (Flags{0, 0, 1, 1, 0, 0, 0, 0}));
}

TEST(HostsNearTest, NothingIsNearAGangThatIsNowhere) {
  const Case c = MakeCase(MakeCluster({{2}}), MakeJob(8, 1, 1, 2, 1));
  EXPECT_EQ(HostsNear(*c.cluster.places, c.request(), {}, {}, TopologyLevel::kSegment),
            (Flags{0, 0}));
  EXPECT_EQ(HostsNear(*c.cluster.places, c.request(), {}, {}, TopologyLevel::kFabricPod),
            (Flags{0, 0}));
}

}  // namespace
}  // namespace yardmaster::placement
