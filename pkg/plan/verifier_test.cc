#include "pkg/plan/verifier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/exhaustive.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using testing::HasSubstr;

std::string Verdict(const Snapshot& s, const std::vector<HostId>& hosts, bool backup = false) {
  return MessageOf(VerifyPlacement(s, JobId(0), hosts, backup));
}

TEST(VerifierTest, NamesEveryBrokenPromise) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 2, 4));  // hosts 3 and 7 are backups
  AddJob(s, "a", 2);
  s.jobs[0].job.placement.data = {workload::TopologyLevel::kSegment,
                                  workload::Enforcement::kRequired};
  EXPECT_EQ(Verdict(s, {HostId(0), HostId(1)}), "");
  EXPECT_THAT(Verdict(s, {HostId(0)}), HasSubstr("1 ranks have a host, the job has 2"));
  EXPECT_THAT(Verdict(s, {HostId(0), HostId()}), HasSubstr("rank 1 has no host"));
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(800)}), HasSubstr("rank 1 has no host"));
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(0)}), HasSubstr("16 GPUs are given out"));
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(3)}), HasSubstr("backup host"));
  EXPECT_EQ(Verdict(s, {HostId(0), HostId(3)}, true), "");
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(4)}), HasSubstr("8 groups of data split"));
  s.cluster.hosts[1].unavailable = placement::Unavailability::kTainted;
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(1)}), HasSubstr("out of service"));
  s.cluster.hosts[2].reserved_for = 4;
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(2)}), HasSubstr("reserved"));
  s.jobs[0].eligible =
      std::make_shared<const std::vector<std::uint8_t>>(std::vector<std::uint8_t>(8, 0));
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(2)}), HasSubstr("pod template"));
}

TEST(VerifierTest, ARankOnAHostThatItsOwnRoleForbidsIsRefused) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 2, 4));
  AddJob(s, "a", 3);
  const auto only = [](std::size_t host) {
    placement::HostSet hosts(8, 0);
    hosts[host] = 1;
    return std::make_shared<const placement::HostSet>(std::move(hosts));
  };
  s.jobs[0].role_hosts = std::make_shared<const std::vector<placement::RoleHosts>>(
      std::vector<placement::RoleHosts>{{0, only(2)}, {1, nullptr}, {2, only(0)}});
  EXPECT_EQ(Verdict(s, {HostId(2), HostId(1), HostId(0)}), "");
  EXPECT_THAT(Verdict(s, {HostId(2), HostId(0), HostId(1)}),
              HasSubstr("rank 2 on host p0s0h001: its role's pods may not use it"));
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(1), HostId(2)}), HasSubstr("rank 0 on host"));
}

TEST(VerifierTest, HostsAJobKeepsAreNotCheckedAgain) {
  Snapshot s = MakeSnapshot(fabric::SmallHpn(1, 2, 4));
  AddJob(s, "a", 2);
  Place(s, JobId(0), {HostId(0), HostId(1)});
  s.cluster.hosts[0].unavailable = placement::Unavailability::kCordoned;
  EXPECT_EQ(Verdict(s, {HostId(0), HostId(2)}), "");
  EXPECT_THAT(Verdict(s, {HostId(0), HostId(0)}), HasSubstr("GPUs are given out"));
}

TEST(VerifierTest, AcceptsWhatThePlannerPlansAndNothingOutsideTheLimits) {
  Random random(3);
  int rejected = 0;
  for (int round = 0; round < 2000; ++round) {
    const placement::Case c = placement::RandomCase(random, {6, 4, true});
    Snapshot s;
    s.places = c.cluster.places;
    s.cluster = c.cluster;
    s.jobs.emplace_back().job = c.job;
    s.jobs[0].groups = std::make_shared<const workload::WorkerGroups>(c.groups);
    const placement::GangPlan plan = placement::PlanGang(c.cluster, c.request(), {200'000, false});
    if (plan.outcome == placement::Outcome::kPlaced) {
      ASSERT_EQ(Verdict(s, plan.host_of_rank), "") << placement::Describe(c);
    }
    std::vector<HostId> any;
    for (int w = 0; w < c.job.workers; ++w) {
      any.push_back(HostId(static_cast<int>(
          random.Below(static_cast<std::uint64_t>(c.cluster.places->num_hosts())))));
    }
    const bool valid = placement::Faults(c, any).empty();
    ASSERT_EQ(Verdict(s, any).empty(), valid) << placement::Describe(c);
    rejected += !valid;
  }
  EXPECT_GT(rejected, 100);
}

}  // namespace
}  // namespace yardmaster::plan
