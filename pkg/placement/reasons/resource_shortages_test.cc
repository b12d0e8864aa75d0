#include "pkg/placement/reasons/resource_shortages.h"

#include <gtest/gtest.h>

#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;

TEST(FormatAmountTest, CpuIsInCoresWhereItIsWhole) {
  EXPECT_EQ(FormatAmount("cpu", 96'000), "96");
  EXPECT_EQ(FormatAmount("cpu", 95'500), "95500m");
  EXPECT_EQ(FormatAmount("cpu", 0), "0");
}

TEST(FormatAmountTest, BytesHaveTheLargestUnitThatLosesNothing) {
  EXPECT_EQ(FormatAmount("memory", 1), "1");
  EXPECT_EQ(FormatAmount("memory", 1025), "1025");
  EXPECT_EQ(FormatAmount("ephemeral-storage", 1024), "1Ki");
  EXPECT_EQ(FormatAmount("hugepages-2Mi", 3LL << 20), "3Mi");
  EXPECT_EQ(FormatAmount("memory", (1LL << 30) + (1LL << 20)), "1025Mi");
  EXPECT_EQ(FormatAmount("nvidia.com/gpu", 1LL << 30), "1073741824") << "devices have no unit";
}

// Three hosts; on the second more cpu is held than there is.
class ShortagesTest : public testing::Test {
 protected:
  ShortagesTest() : cluster_(MakeCluster({{3}})) {
    HostResources& resources = cluster_.resources;
    resources.names = std::make_shared<const std::vector<std::string>>(std::vector<std::string>{
        "cpu", "yardmaster.dev/host-port-80", "yardmaster.dev/one-per-host-compute-domain",
        "yardmaster.dev/one-per-host-x"});
    resources.allocatable = std::make_shared<const std::vector<std::int64_t>>(
        std::vector<std::int64_t>{8000, 1, 1, 1, 4000, 1, 1, 1, 16'000, 1, 1, 1});
    resources.free = {2000, 0, 0, 0, -3000, 0, 1, 1, 16'000, 1, 1, 1};
  }

  // The reasons for workers with these requests.
  std::vector<Reason> Reasons(const workload::ResourceList& requests, bool empty) {
    const WorkerNeed need(cluster_, 0, requests);
    ResourceShortages shortages(cluster_, empty);
    for (HostId host : cluster_.places->hosts()) {
      shortages.Note(host, need.ShortOf(cluster_, host, empty));
    }
    std::vector<Reason> reasons;
    shortages.AppendReasons(reasons);
    for (const Reason& reason : reasons) {
      EXPECT_EQ(reason.code, ReasonCode::kInsufficientResources);
    }
    return reasons;
  }

  Cluster cluster_;
};

TEST_F(ShortagesTest, TheMostThatAShortHostHasIsTold) {
  const auto now = Reasons({{"cpu", 9000}}, /*empty=*/false);
  ASSERT_EQ(now.size(), 1u);
  EXPECT_EQ(now[0].count, 2);
  EXPECT_EQ(now[0].message, "2 hosts short of cpu: 9 requested, 2 free");
  const auto ever = Reasons({{"cpu", 9000}}, /*empty=*/true);
  ASSERT_EQ(ever.size(), 1u);
  EXPECT_EQ(ever[0].message, "2 hosts short of cpu: 9 requested, 8 in all");
}

TEST_F(ShortagesTest, WhereMoreIsHeldThanThereIsNothingIsFree) {
  cluster_.resources.free[0] = 9000;
  const auto reasons = Reasons({{"cpu", 9000}}, false);
  ASSERT_EQ(reasons.size(), 1u);
  EXPECT_EQ(reasons[0].message, "1 host short of cpu: 9 requested, 0 free");
}

TEST_F(ShortagesTest, HostPortsAndAntiAffinityReadAsWhatTheyAre) {
  const auto ports = Reasons({{"yardmaster.dev/host-port-80", 1}}, false);
  ASSERT_EQ(ports.size(), 1u);
  EXPECT_EQ(ports[0].message, "2 hosts whose host port 80 is taken");
  const auto pods = Reasons({{"yardmaster.dev/one-per-host-x", 1}}, false);
  ASSERT_EQ(pods.size(), 1u);
  EXPECT_EQ(pods[0].message, "1 host with a pod that the workers' anti-affinity excludes");
  const auto channels = Reasons({{"yardmaster.dev/one-per-host-compute-domain", 1}}, false);
  ASSERT_EQ(channels.size(), 1u);
  EXPECT_EQ(channels[0].message,
            "1 host with a pod of a ComputeDomain, which has the host's channel");
}

TEST_F(ShortagesTest, AHostIsCountedOnceForTheFirstResourceByName) {
  const auto reasons =
      Reasons({{"cpu", 1000}, {"yardmaster.dev/host-port-80", 1}}, /*empty=*/false);
  ASSERT_EQ(reasons.size(), 2u);
  EXPECT_EQ(reasons[0].message, "1 host short of cpu: 1 requested, 0 free");
  EXPECT_EQ(reasons[1].message, "1 host whose host port 80 is taken");
}

TEST_F(ShortagesTest, WhereNothingIsShortThereIsNoReason) {
  EXPECT_TRUE(Reasons({{"cpu", 4000}}, /*empty=*/true).empty());
  EXPECT_TRUE(Reasons({}, /*empty=*/false).empty());
}

}  // namespace
}  // namespace yardmaster::placement
