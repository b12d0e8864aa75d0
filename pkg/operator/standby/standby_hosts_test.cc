#include "pkg/operator/standby/standby_hosts.h"

#include <algorithm>
#include <map>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/testing/rounds.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::op {
namespace {

using fabric::HostId;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr placement::Unavailability kDown = placement::Unavailability::kNotReady;

// Segments of four hosts, the last of each a backup host. One job.
class StandbyHostsTest : public ::testing::Test {
 protected:
  void Start(int segments, const std::vector<HostId>& hosts) {
    fabric::FabricSpec spec = fabric::SmallHpn(1, segments, 4);
    spec.backup.hosts_per_segment = 1;
    snapshot_ = plan::MakeSnapshot(spec);
    plan::AddJob(snapshot_, "a", static_cast<int>(hosts.size()));
    plan::Place(snapshot_, plan::JobId(0), hosts);
  }
  StandbyHosts Find(int n, const std::vector<std::string>& refused = {}) const {
    return FindStandbyHosts(snapshot_, plan::JobId(0), refused, n);
  }
  std::string Name(int host) const { return snapshot_.places->name(HostId(host)); }
  void TakeDown(int host) {
    snapshot_.cluster.hosts[static_cast<std::size_t>(host)].unavailable = kDown;
  }

  plan::Snapshot snapshot_;
};

TEST_F(StandbyHostsTest, TheFirstIsTheBackupHostOfTheSegmentAndTheNextThatOfASecondLoss) {
  Start(1, {HostId(0), HostId(1)});
  EXPECT_THAT(Find(1).hosts, ElementsAre(Name(3)));
  const StandbyHosts two = Find(2);
  EXPECT_THAT(two.hosts, ElementsAre(Name(3), Name(2)));
  EXPECT_THAT(two.short_of, IsEmpty());
}

TEST_F(StandbyHostsTest, TheSegmentWithMostRanksComesFirstAndTheOtherNext) {
  Start(2, {HostId(0), HostId(4), HostId(5)});
  EXPECT_THAT(Find(1).hosts, ElementsAre(Name(7)));
  EXPECT_THAT(Find(2).hosts, ElementsAre(Name(7), Name(3)));
}

TEST_F(StandbyHostsTest, ASegmentWithoutAFreeHostGetsNoneAndTheOtherTwo) {
  Start(2, {HostId(0), HostId(1), HostId(4)});
  TakeDown(2);
  TakeDown(3);
  EXPECT_THAT(Find(2).hosts, ElementsAre(Name(7), Name(5)));
}

TEST_F(StandbyHostsTest, AHostThatTheJobAvoidsIsNotOne) {
  Start(1, {HostId(0), HostId(1)});
  EXPECT_THAT(Find(1, {Name(3), "gone"}).hosts, ElementsAre(Name(2)));
}

TEST_F(StandbyHostsTest, WhereTooFewAreFreeItSaysWhere) {
  Start(1, {HostId(0), HostId(1)});
  TakeDown(2);
  const StandbyHosts one = Find(2);
  EXPECT_THAT(one.hosts, ElementsAre(Name(3)));
  EXPECT_EQ(one.short_of, "no other host is free that a replacement would use");
  TakeDown(3);
  const StandbyHosts none = Find(2);
  EXPECT_THAT(none.hosts, IsEmpty());
  EXPECT_EQ(none.short_of, "no host is free that a replacement would use in segment " +
                               snapshot_.places->name(fabric::SegmentId(0)));
}

// The planner is asked what each loss would do, host by host.
TEST_F(StandbyHostsTest, NoHostWouldTakeMoreRanksThanTheFirst) {
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  int found = 0;
  for (int round = 0; round < Rounds(200); ++round) {
    std::vector<HostId> hosts;
    for (int host = 0; host < 12; ++host) {
      if (host % 4 != 3 && below(2) == 0) hosts.push_back(HostId(host));
    }
    if (hosts.empty()) continue;
    std::shuffle(hosts.begin(), hosts.end(), random);
    Start(3, hosts);
    for (int host = 0; host < 12; ++host) {
      const bool is_its = std::find(hosts.begin(), hosts.end(), HostId(host)) != hosts.end();
      if (!is_its && below(3) == 0) TakeDown(host);
    }
    std::map<HostId, int> taken;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      plan::Snapshot lost = snapshot_;
      lost.jobs[0].lost_ranks = {static_cast<int>(rank)};
      lost.cluster.hosts[hosts[rank].index()].unavailable = kDown;
      plan::PlanOptions options;
      options.policies = {plan::ReplaceLostRanks()};
      const plan::Plan plan = plan::MakePlan(lost, options);
      if (plan.jobs[0].is_new) ++taken[plan.jobs[0].gang.host_of_rank[rank]];
    }
    const StandbyHosts one = Find(1);
    ASSERT_EQ(one.hosts.empty(), taken.empty());
    EXPECT_EQ(one.short_of.empty(), !taken.empty());
    if (taken.empty()) continue;
    ++found;
    const int first = taken[snapshot_.places->FindHost(one.hosts[0])];
    EXPECT_GT(first, 0);
    for (const auto& [host, ranks] : taken) EXPECT_LE(ranks, first);
  }
  EXPECT_GT(found, MoreThan(100));
}

}  // namespace
}  // namespace yardmaster::op
