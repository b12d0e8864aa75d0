#include "pkg/plan/contention_cost.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/planner.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using ::testing::HasSubstr;

// Segments of four hosts and a backup, one scarce uplink per ToR.
fabric::FabricSpec Scarce(int segments) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, segments, 5);
  spec.tiers[0].up_ports = 1;
  spec.tiers[0].up_gbps = 200;
  spec.tiers[1].switches = 1;
  spec.tiers[1].down_gbps = 200;
  return spec;
}

// A job that talks a lot, and one second of compute.
JobState& AddTalker(Snapshot& snapshot, const std::string& name, int hosts, double gigabytes) {
  JobState& state = AddJob(snapshot, name, hosts);
  state.job.profile.flop_per_iteration = 1e15 * hosts;
  state.job.profile.compute_seconds = 1;
  state.job.profile.data_bytes = gigabytes * 1e9;
  return state;
}

PlanOptions Contention(bool on) {
  PlanOptions options;
  if (on) options.policies = {AvoidContention()};
  return options;
}

TEST(ContentionCost, AJobInsideOneSegmentCostsNothing) {
  Snapshot snapshot = MakeSnapshot(Scarce(4));
  AddTalker(snapshot, "a", 4, 2);
  const ContentionCost cost(snapshot);
  EXPECT_EQ(cost.Of(JobId(0), HostsOfSegment(snapshot, 0, 0, 4)), std::nullopt);
}

// Two hosts of two segments, whose transfers take a second inside a segment and half of one on all
// uplinks together.
TEST(ContentionCost, ACutJobLosesWhereAnUplinkIsNarrowerThanAPort) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 5);
  ASSERT_EQ(spec.nic_gbps, 200);
  const auto lost = [&](int uplink_gbps, bool cut) {
    spec.tiers[0].up_gbps = spec.tiers[1].down_gbps = uplink_gbps;
    Snapshot snapshot = MakeSnapshot(spec);
    AddTalker(snapshot, "a", 2, 50);
    Place(snapshot, JobId(0),
          cut ? Joined(HostsOfSegment(snapshot, 0, 0, 1), HostsOfSegment(snapshot, 1, 0, 1))
              : HostsOfSegment(snapshot, 0, 0, 2));
    return ContentionCost(snapshot).LostGpus();
  };
  // Half of the second of compute, then the transfers: 2.5 s instead of 1.5 s.
  EXPECT_NEAR(lost(100, true), 16 * (1 - 1.5 / 2.5), 1e-9);
  EXPECT_EQ(lost(100, false), 0);
  EXPECT_EQ(lost(200, true), 0);
  EXPECT_EQ(lost(400, true), 0);
  spec.nic_spraying = true;
  EXPECT_EQ(lost(100, true), 0) << "all uplinks carry it";
}

TEST(ContentionCost, AnEmptyNetworkGivesTheJobItsOwnRate) {
  Snapshot snapshot = MakeSnapshot(Scarce(4));
  AddTalker(snapshot, "a", 6, 2);
  const ContentionCost cost(snapshot);
  const auto answer = cost.Of(
      JobId(0), Joined(HostsOfSegment(snapshot, 0, 0, 4), HostsOfSegment(snapshot, 1, 0, 2)));
  ASSERT_TRUE(answer.has_value());
  EXPECT_DOUBLE_EQ(answer->gained_flop_rate, answer->lone_flop_rate);
  EXPECT_FALSE(answer->worst_job.valid());
}

TEST(ContentionCost, SharingUplinksCosts) {
  Snapshot snapshot = MakeSnapshot(Scarce(4));
  AddTalker(snapshot, "running", 4, 40);
  Place(snapshot, JobId(0),
        Joined(HostsOfSegment(snapshot, 0, 0, 2), HostsOfSegment(snapshot, 1, 0, 2)));
  AddTalker(snapshot, "new", 4, 40);
  const ContentionCost cost(snapshot);
  const auto shared = cost.Of(
      JobId(1), Joined(HostsOfSegment(snapshot, 0, 2, 2), HostsOfSegment(snapshot, 1, 2, 2)));
  const auto apart = cost.Of(
      JobId(1), Joined(HostsOfSegment(snapshot, 2, 0, 2), HostsOfSegment(snapshot, 3, 0, 2)));
  ASSERT_TRUE(shared && apart);
  EXPECT_LT(shared->gained_flop_rate, 0.9 * apart->gained_flop_rate);
  EXPECT_EQ(shared->worst_job, JobId(0));
}

// Packing fills the half segments whose uplinks are busy; with contention the job goes where they
// are idle, and says so.
TEST(ContentionCost, AmongEqualPlacesTheOneWithLessContentionIsTaken) {
  Snapshot snapshot = MakeSnapshot(Scarce(4));
  AddTalker(snapshot, "running", 4, 40);
  Place(snapshot, JobId(0),
        Joined(HostsOfSegment(snapshot, 0, 0, 2), HostsOfSegment(snapshot, 1, 0, 2)));
  AddTalker(snapshot, "new", 6, 40);
  const auto uses_busy = [&](const JobPlan& job) {
    return std::any_of(job.gang.host_of_rank.begin(), job.gang.host_of_rank.end(),
                       [&](HostId host) { return snapshot.places->segment_of(host).value < 2; });
  };
  const Plan packed = MakePlan(snapshot, Contention(false));
  const Plan spread = MakePlan(snapshot, Contention(true));
  ASSERT_EQ(spread.jobs[1].gang.outcome, placement::Outcome::kPlaced);
  EXPECT_TRUE(uses_busy(packed.jobs[1]));
  EXPECT_FALSE(uses_busy(spread.jobs[1]));
  EXPECT_EQ(packed.jobs[1].gang.objective, spread.jobs[1].gang.objective);
  EXPECT_EQ(packed.jobs[1].contention_note, "");
  EXPECT_THAT(spread.jobs[1].contention_note, HasSubstr("less lost to contention with default/"));
}

TEST(ContentionCost, WithoutContentionPackingStays) {
  Snapshot snapshot = MakeSnapshot(Scarce(4));
  AddTalker(snapshot, "quiet", 4, 0.001);
  Place(snapshot, JobId(0),
        Joined(HostsOfSegment(snapshot, 0, 0, 2), HostsOfSegment(snapshot, 1, 0, 2)));
  AddTalker(snapshot, "new", 6, 0.001);
  EXPECT_EQ(MakePlan(snapshot, Contention(true)).jobs[1].gang.host_of_rank,
            MakePlan(snapshot, Contention(false)).jobs[1].gang.host_of_rank);
}

// Every pair of segments with enough free hosts, against what the planner takes.
TEST(ContentionCost, IsNearTheBestOfAllEqualPlaces) {
  double regret = 0;
  double packing_regret = 0;
  constexpr int kSeeds = 40;
  constexpr int kSegments = 6;
  for (std::uint64_t seed = 0; seed < kSeeds; ++seed) {
    Random random(seed);
    Snapshot snapshot = MakeSnapshot(Scarce(kSegments));
    // Three jobs of two and two hosts, so that half segments are left.
    std::vector<int> used(kSegments, 0);
    for (int j = 0; j < 3; ++j) {
      const int a = static_cast<int>(random.Below(kSegments));
      const int b = (a + 1 + static_cast<int>(random.Below(kSegments - 1))) % kSegments;
      if (used[a] > 0 && used[b] > 0) continue;
      if (used[a] + 2 > 4 || used[b] + 2 > 4) continue;
      AddTalker(snapshot, StrCat("j", j), 4, 5 + 40 * random.Unit());
      Place(
          snapshot, LastJob(snapshot),
          Joined(HostsOfSegment(snapshot, a, used[a], 2), HostsOfSegment(snapshot, b, used[b], 2)));
      used[a] += 2;
      used[b] += 2;
    }
    AddTalker(snapshot, "new", 6, 5 + 40 * random.Unit());
    const JobId job = LastJob(snapshot);
    const ContentionCost cost(snapshot);
    double best = 0;
    double lone = 1;
    for (int a = 0; a < kSegments; ++a) {
      for (int b = 0; b < kSegments; ++b) {
        if (a == b || used[a] > 0 || used[b] > 2) continue;
        const auto answer = cost.Of(job, Joined(HostsOfSegment(snapshot, a, 0, 4),
                                                HostsOfSegment(snapshot, b, used[b], 2)));
        best = std::max(best, answer->gained_flop_rate);
        lone = answer->lone_flop_rate;
      }
    }
    const auto gained = [&](bool contention) {
      const Plan plan = MakePlan(snapshot, Contention(contention));
      const auto answer = cost.Of(job, plan.jobs[job.index()].gang.host_of_rank);
      return answer ? answer->gained_flop_rate : lone;
    };
    regret += std::max(0.0, best - gained(true)) / lone / kSeeds;
    packing_regret += std::max(0.0, best - gained(false)) / lone / kSeeds;
  }
  EXPECT_LT(regret, 0.01);
  EXPECT_GT(packing_regret, 5 * regret);
}

}  // namespace
}  // namespace yardmaster::plan
