#include "simulation/bench/failover.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "pkg/repac/testing/networks.h"

namespace yardmaster::bench {
namespace {

using fabric::CableId;
using fabric::LinkId;
using fabric::Network;

constexpr double kGigabyte = 1e9;

class TransferTest : public testing::Test {
 protected:
  TransferTest() : net_(repac::HpnPod(2, 8)) {
    plan_ = repac::PlanPaths(repac::Rings(*net_.network, 8, 1), net_.Forwarding(), {});
  }
  repac::HashedNetwork net_;
  repac::PathPlan plan_;
};

TEST_F(TransferTest, AFlowAloneRunsAtTheSpeedOfItsSlowestLink) {
  const auto results =
      RunTransfers(*net_.network, {{25 * kGigabyte, {{0, plan_.flows[0].links}}}}, 100);
  EXPECT_NEAR(results[0].finish_seconds, 1.0, 1e-9);  // 200 Gb/s is 25 GB/s
  EXPECT_DOUBLE_EQ(results[0].last_gbps, 200);
}

TEST_F(TransferTest, FlowsOnOneLinkShareItAndSpeedUpWhenOneEnds) {
  const fabric::LinkPath& links = plan_.flows[0].links;
  const auto results = RunTransfers(
      *net_.network, {{25 * kGigabyte, {{0, links}}}, {50 * kGigabyte, {{0, links}}}}, 100);
  EXPECT_NEAR(results[0].finish_seconds, 2.0, 1e-9);
  EXPECT_NEAR(results[1].finish_seconds, 3.0, 1e-9);
}

TEST_F(TransferTest, ALegWithoutLinksIsAStall) {
  const fabric::LinkPath& links = plan_.flows[0].links;
  const auto results =
      RunTransfers(*net_.network, {{25 * kGigabyte, {{0, links}, {0.5, {}}, {2.5, links}}}}, 100);
  EXPECT_NEAR(results[0].finish_seconds, 3.0, 1e-9);
  EXPECT_NEAR(results[0].stalled_seconds, 2.0, 1e-9);
  EXPECT_NEAR(results[0].delivered_bytes, 25 * kGigabyte, 1);
}

TEST_F(TransferTest, TheWindowCutsOff) {
  const auto results =
      RunTransfers(*net_.network, {{1e30, {{0, plan_.flows[0].links}}}, {1e30, {{0, {}}}}}, 4);
  EXPECT_NEAR(results[0].delivered_bytes, 100 * kGigabyte, 1);
  EXPECT_EQ(results[1].delivered_bytes, 0);
  EXPECT_EQ(results[1].stalled_seconds, 4);
}

class FailoverTest : public testing::Test {
 protected:
  static constexpr FailoverTiming kTiming{0.01, 0.05, 2};

  FailoverTest()
      : net_(repac::HpnPod(2, 12)),
        connections_(repac::Rings(*net_.network, 12, 1)),
        plan_(repac::PlanPaths(connections_, net_.Forwarding(), {})) {}

  std::vector<TransferFlow> Legs(const std::vector<CableId>& dead, Recovery recovery,
                                 std::uint64_t seed = 1) {
    Random random(seed);
    return LegsAfterFailure(plan_, connections_, *net_.network, net_.hashes, dead, recovery,
                            kTiming, random);
  }
  double LongestStall(const std::vector<CableId>& dead, Recovery recovery) {
    double longest = 0;
    for (const TransferResult& r : RunTransfers(*net_.network, Legs(dead, recovery), 10)) {
      longest = std::max(longest, r.stalled_seconds);
    }
    return longest;
  }

  repac::HashedNetwork net_;
  std::vector<repac::NicConnection> connections_;
  repac::PathPlan plan_;
};

TEST_F(FailoverTest, WithoutAFailureNoFlowMoves) {
  for (Recovery recovery :
       {Recovery::kAlternatePort, Recovery::kRandomRetry, Recovery::kReconvergence}) {
    for (const TransferFlow& flow : Legs({}, recovery)) EXPECT_EQ(flow.legs.size(), 1u);
  }
}

TEST_F(FailoverTest, AnUplinkCostsTheDelayOfEachWay) {
  const std::vector<CableId> dead = {Network::cable_of(plan_.flows[0].links[1])};
  EXPECT_NEAR(LongestStall(dead, Recovery::kAlternatePort), 0.01, 1e-6);
  const double retried = LongestStall(dead, Recovery::kRandomRetry);
  EXPECT_GE(retried, 0.05 - 1e-6);
  EXPECT_LT(retried, 0.3);
  EXPECT_NEAR(LongestStall(dead, Recovery::kReconvergence), 2, 1e-6);
}

TEST_F(FailoverTest, PlannedPortsKeepFullSpeedBehindTheFailure) {
  const std::vector<CableId> dead = {Network::cable_of(plan_.flows[0].links[1])};
  for (const TransferResult& r :
       RunTransfers(*net_.network, Legs(dead, Recovery::kAlternatePort), 10)) {
    EXPECT_NEAR(r.last_gbps, 200, 1e-6);
  }
}

TEST_F(FailoverTest, OnlyTheOtherNicPortHelpsWhenOneIsDeadAndPlanesAreIsolated) {
  const std::vector<CableId> dead = {net_.network->host_cable({fabric::HostId(2), 3, 0})};
  EXPECT_NEAR(LongestStall(dead, Recovery::kAlternatePort), 0.01, 1e-6);
  EXPECT_EQ(LongestStall(dead, Recovery::kRandomRetry), 10);
  EXPECT_EQ(LongestStall(dead, Recovery::kReconvergence), 10);
}

TEST_F(FailoverTest, IsTheSameForTheSameSeed) {
  const std::vector<CableId> dead = {Network::cable_of(plan_.flows[0].links[1])};
  const auto a = Legs(dead, Recovery::kRandomRetry, 7);
  const auto b = Legs(dead, Recovery::kRandomRetry, 7);
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(a[i].legs.size(), b[i].legs.size());
    for (std::size_t k = 0; k < a[i].legs.size(); ++k) {
      EXPECT_EQ(a[i].legs[k].links, b[i].legs[k].links);
    }
  }
}

}  // namespace
}  // namespace yardmaster::bench
