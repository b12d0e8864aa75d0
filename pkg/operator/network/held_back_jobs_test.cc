#include "pkg/operator/network/held_back_jobs.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/api/training_job.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::op {
namespace {

using fabric::HostId;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr double kShare = 0.875;

// Two segments of four hosts, eight planes. A job on the first three hosts.
class HeldBackJobsTest : public ::testing::Test {
 protected:
  explicit HeldBackJobsTest(int spares = 0) : snapshot_(plan::MakeSnapshot(Spec(spares))) {
    Add("a", {HostId(0), HostId(1), HostId(2)});
  }
  static fabric::FabricSpec Spec(int spares) {
    fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 4);
    spec.planes = spec.nic_ports = 8;
    spec.nic_spraying = true;
    spec.backup.hosts_per_segment = spares;
    return spec;
  }
  void Add(const std::string& name, const std::vector<HostId>& hosts,
           const char* kind = api::kTrainingJobKind) {
    plan::AddJob(snapshot_, name, static_cast<int>(hosts.size()));
    const plan::JobId id = plan::LastJob(snapshot_);
    plan::Place(snapshot_, id, hosts);
    const NamespacedName key = snapshot_.jobs[id.index()].job.key;
    auto gang = std::make_shared<api::Gang>();
    gang->metadata.namespace_name = key.namespace_name;
    gang->metadata.name = key.name;
    gang->owner.kind = kind;
    gang->owner.name = "of-" + name;
    gangs_.Put(std::move(gang));
  }
  void Lose(int host, int ports) {
    const fabric::Network& network = *snapshot_.network;
    snapshot_.cable_down.resize(static_cast<std::size_t>(network.num_cables()), 0);
    for (int port = 0; port < ports; ++port) {
      snapshot_.cable_down[network.host_cable({HostId(host), 3, port}).index()] = 1;
    }
  }
  HeldBackByJob Jobs(bool gangs_wait = false) const {
    return HeldBackJobs(snapshot_, gangs_, {gangs_wait, kShare, slow_, avoided_});
  }
  void Slow(int rank, int host, const std::string& stays = "") {
    slow_[snapshot_.jobs[0].job.key] = {rank, snapshot_.places->name(HostId(host)),
                                        "1.8 times the compute time of its like", stays};
  }
  // Of the job "a".
  HeldBack OfA(bool gangs_wait = false) const {
    const HeldBackByJob jobs = Jobs(gangs_wait);
    EXPECT_EQ(jobs.size(), 1u);
    return jobs.empty() ? HeldBack{} : jobs.begin()->second;
  }

  plan::Snapshot snapshot_;
  state::ObjectTable<api::Gang> gangs_;
  SlowHosts slow_;
  std::map<std::string, std::set<std::string>> avoided_;
};

TEST_F(HeldBackJobsTest, AJobIsNamedWithItsHostAndWhatItCosts) {
  Lose(1, 4);
  const HeldBackByJob jobs = Jobs();
  ASSERT_EQ(jobs.size(), 1u);
  const std::string key = snapshot_.jobs[0].job.key.namespace_name + "/of-a";
  EXPECT_EQ(jobs.begin()->first, key);
  EXPECT_EQ(jobs.begin()->second.host, snapshot_.places->name(HostId(1)));
  EXPECT_EQ(jobs.begin()->second.has,
            "50 % of its bandwidth (4 of 8 ports of rail 3 are down), so that the job communicates "
            "2 times as long");
  EXPECT_EQ(jobs.begin()->second.stays, "") << "the fourth host of the segment is free";
}

TEST_F(HeldBackJobsTest, OnePlaneOfEightHoldsNoJobBack) {
  Lose(1, 1);
  EXPECT_THAT(Jobs(), IsEmpty());
  Lose(1, 2);
  EXPECT_EQ(Jobs().size(), 1u);
}

TEST_F(HeldBackJobsTest, AHostIsBetterOnlyIfItHasItsBandwidth) {
  Lose(1, 4);
  Lose(3, 2);
  EXPECT_EQ(OfA().stays, "no better host of its segment is free");
}

TEST_F(HeldBackJobsTest, NoRankLeavesTheSegment) {
  Lose(1, 4);
  snapshot_.cluster.hosts[3].free_gpus = 0;
  EXPECT_EQ(OfA().stays, "no better host of its segment is free");
}

TEST_F(HeldBackJobsTest, OrdinaryHostsAreLeftToGangsThatWait) {
  Lose(1, 4);
  EXPECT_THAT(OfA(/*gangs_wait=*/true).stays, HasSubstr("other gangs wait"));
}

class HeldBackJobsWithSparesTest : public HeldBackJobsTest {
 protected:
  HeldBackJobsWithSparesTest() : HeldBackJobsTest(1) {}
};

TEST_F(HeldBackJobsWithSparesTest, ASpareHostIsTakenThoughGangsWait) {
  ASSERT_TRUE(snapshot_.cluster.hosts[3].backup);
  Lose(1, 4);
  EXPECT_EQ(OfA(/*gangs_wait=*/true).stays, "");
}

TEST_F(HeldBackJobsTest, LeavingOneOfTwoSlowHostsGainsNothing) {
  Lose(1, 4);
  Lose(2, 3);
  EXPECT_EQ(OfA().stays, "another host of it has lost as much");
}

TEST_F(HeldBackJobsTest, WhileRanksAreMovedNoOtherLeaves) {
  Lose(1, 4);
  snapshot_.jobs[0].lost_ranks = {0};
  EXPECT_EQ(OfA().stays, "other ranks have lost their hosts");
}

TEST_F(HeldBackJobsTest, AJobIsNamedWithItsSlowHost) {
  Slow(1, 1);
  const HeldBack found = OfA();
  EXPECT_EQ(found.host, snapshot_.places->name(HostId(1)));
  EXPECT_EQ(found.has, "1.8 times the compute time of its like");
  EXPECT_EQ(found.slow_rank, 1);
  EXPECT_EQ(found.stays, "");
  Slow(1, 1, "not confirmed");
  EXPECT_EQ(OfA().stays, "not confirmed");
  Slow(1, 2);
  EXPECT_THAT(Jobs(), IsEmpty()) << "the rank is elsewhere by now";
  Slow(7, 2);
  EXPECT_THAT(Jobs(), IsEmpty());
}

TEST_F(HeldBackJobsTest, ASlowHostIsLeftForOneThatTheJobDoesNotAvoid) {
  Slow(1, 1);
  avoided_[snapshot_.jobs[0].job.key.namespace_name + "/of-a"] = {
      snapshot_.places->name(HostId(3))};
  EXPECT_EQ(OfA().stays, "no better host of its segment is free");
  avoided_.clear();
  Lose(3, 2);
  EXPECT_EQ(OfA().stays, "no better host of its segment is free") << "it has lost bandwidth";
}

TEST_F(HeldBackJobsTest, LeavingTheNarrowOrTheSlowHostOfTwoGainsNothing) {
  Lose(1, 4);
  Slow(2, 2);
  EXPECT_EQ(OfA().stays, "another host of it is slow");
  Slow(1, 1);
  EXPECT_EQ(OfA().stays, "") << "they are the same host";
  EXPECT_EQ(OfA().slow_rank, -1);
}

TEST_F(HeldBackJobsTest, GangsOfOtherOwnersAreNotOurs) {
  Add("b", {HostId(4), HostId(5)}, "JobSet");
  Lose(4, 4);
  EXPECT_THAT(Jobs(), IsEmpty());
}

}  // namespace
}  // namespace yardmaster::op
