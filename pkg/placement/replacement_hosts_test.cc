#include "pkg/placement/replacement_hosts.h"

#include <gtest/gtest.h>

#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;

// Four data ranks of 8 GPUs on hosts 0 to 3 of a segment of six; 4 and 5 are free, 5 is a backup.
class ReplacementHostsTest : public ::testing::Test {
 protected:
  ReplacementHostsTest() {
    c_.cluster.hosts[5].backup = true;
    for (int id : {0, 1, 2, 3}) c_.cluster.hosts[id].free_gpus = 0;
  }
  HostId Find(bool backup, const Ranks& ranks) const { return hosts_.Find(All(), backup, ranks); }
  HostRange All() const { return c_.cluster.places->hosts(); }

  Case c_ = MakeCase(MakeCluster({{6}}), MakeJob(8, 1, 1, 4, 1));
  const GangRequest request_ = c_.request();
  ReplacementHosts hosts_{c_.cluster, request_, {HostId(0), HostId(1), HostId(2), HostId(3)}};
};

TEST_F(ReplacementHostsTest, AHostTakesRanksUntilItIsFull) {
  hosts_.Lose(0);
  EXPECT_EQ(Find(true, {0}), HostId(5));
  EXPECT_EQ(Find(false, {0}), HostId(4));
  EXPECT_FALSE(Find(false, {0, 1}).valid()) << "16 GPUs";
  hosts_.Give({0}, HostId(4));
  EXPECT_EQ(hosts_.of(0), HostId(4));
  EXPECT_EQ(hosts_.old(0), HostId(0));
  EXPECT_FALSE(Find(false, {1}).valid());
}

TEST_F(ReplacementHostsTest, AHostThatARankWasLostFromTakesNone) {
  c_.cluster.hosts[0].free_gpus = 8;
  EXPECT_EQ(Find(false, {1}), HostId(0));
  hosts_.Lose(0);
  EXPECT_EQ(Find(false, {1}), HostId(4));
}

TEST_F(ReplacementHostsTest, TheHealthiestHostIsTakenFirst) {
  c_.cluster.hosts[3].free_gpus = 8;
  EXPECT_EQ(Find(false, {0}), HostId(3));
  c_.cluster.hosts[3].degraded = 1;
  EXPECT_EQ(Find(false, {0}), HostId(4));
}

TEST_F(ReplacementHostsTest, ARankThatIsTakenBackFreesItsHost) {
  hosts_.Lose(0);
  hosts_.Give({0}, HostId(4));
  hosts_.TakeBack({0});
  EXPECT_EQ(hosts_.of(0), HostId(0));
  EXPECT_EQ(Find(false, {1}), HostId(4));
}

TEST_F(ReplacementHostsTest, AHostThatStandsForOneThatIsGoneIsNotLostAndIsFreedToo) {
  hosts_.Lose(0);
  hosts_.Presume(0, HostId(4));
  EXPECT_TRUE(hosts_.IsGone(0));
  EXPECT_EQ(Find(false, {0}), HostId(4));
  hosts_.Give({0}, HostId(4));
  EXPECT_FALSE(Find(false, {1}).valid());
  hosts_.TakeBack({0});
  EXPECT_EQ(Find(false, {1}), HostId(4));
}

TEST_F(ReplacementHostsTest, AnAssignmentIsRestoredAsItWas) {
  for (int rank : {0, 1}) hosts_.Lose(rank);
  hosts_.Give({0}, HostId(4));
  const ReplacementHosts::Assignment before = hosts_.now();
  hosts_.Give({1}, HostId(5));
  hosts_.TakeBack({0});
  hosts_.Restore(before);
  EXPECT_EQ(hosts_.of(0), HostId(4));
  EXPECT_EQ(hosts_.of(1), HostId(1));
  EXPECT_EQ(Find(true, {1}), HostId(5));
  EXPECT_FALSE(Find(false, {1}).valid());
}

}  // namespace
}  // namespace yardmaster::placement
