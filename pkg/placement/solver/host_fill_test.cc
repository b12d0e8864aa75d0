#include "pkg/placement/solver/host_fill.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <map>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/placement/solver/gang_solver.h"
#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;
using workload::Enforcement;
using workload::TopologyLevel;

TEST(HostFillTest, WorkersGetHostsOfTheirSegmentWithRoomAndSetsStayTogether) {
  Random random(1);
  int filled = 0, sets = 0;
  for (int round = 0; round < Rounds(1500); ++round) {
    const Case c = RandomCase(random, {10, 4, true});
    const fabric::Places& places = *c.cluster.places;
    const GangModel model = ModelOf(c.job, c.groups);
    const Capacity capacity = CapacityFor(c.cluster, c.request(), model.host_set_size);
    const std::vector<SegmentScore> scores = ScoreSegments(c.cluster, capacity);
    const SegmentPlan plan = ChooseSegments({places, model, c.groups, scores}, capacity);
    if (!plan.found) continue;
    const std::vector<HostId> hosts = FillHosts(c.cluster, capacity, model, plan.segment_of_worker);
    ASSERT_EQ(static_cast<int>(hosts.size()), c.job.workers) << Describe(c);
    std::map<HostId, int> given;
    std::map<int, HostId> host_of_set;
    for (std::size_t w = 0; w < hosts.size(); ++w) {
      ASSERT_EQ(places.segment_of(hosts[w]).value, plan.segment_of_worker[w]) << Describe(c);
      ASSERT_LE(++given[hosts[w]], capacity.of_host[hosts[w].index()]) << Describe(c);
      const auto at = host_of_set.emplace(model.host_sets.of[w], hosts[w]).first;
      ASSERT_EQ(at->second, hosts[w]) << Describe(c);
    }
    ++filled;
    sets += model.host_set_size > 1;
  }
  EXPECT_GT(filled, MoreThan(300));
  EXPECT_GT(sets, MoreThan(30));
}

// Hosts of a single segment.
std::vector<int> FilledHosts(const Case& c) {
  const GangModel model = ModelOf(c.job, c.groups);
  const Capacity capacity = CapacityFor(c.cluster, c.request(), model.host_set_size);
  std::vector<int> hosts;
  for (HostId host : FillHosts(c.cluster, capacity, model,
                               std::vector<int>(static_cast<std::size_t>(c.job.workers), 0))) {
    hosts.push_back(host.value);
  }
  return hosts;
}

TEST(HostFillTest, RanksAscendWithHostsWhereEveryWorkerHasItsOwn) {
  Case c = MakeCase(MakeCluster({{5}}), MakeJob(8, 1, 1, 4, 1));
  c.cluster.hosts[1].free_gpus = 0;
  EXPECT_EQ(FilledHosts(c), (std::vector<int>{0, 2, 3, 4}));
}

TEST(HostFillTest, TheTightestHostThatTakesAUnitComesFirst) {
  // Pairs of workers of two GPUs.
  Case c = MakeCase(MakeCluster({{3}}), MakeJob(4, 1, 1, 2, 1, 2));
  c.cluster.hosts[1].free_gpus = 4;
  c.cluster.hosts[2].free_gpus = 2;  // too tight for a pair
  EXPECT_EQ(FilledHosts(c), (std::vector<int>{1, 1, 0, 0}));
}

TEST(HostFillTest, DegradedHostsComeAfterHealthyOnesOfTheSameRoom) {
  Case c = MakeCase(MakeCluster({{3}}), MakeJob(8, 1, 1, 2, 1));
  c.cluster.hosts[0].degraded = true;
  EXPECT_EQ(FilledHosts(c), (std::vector<int>{1, 2}));
}

TEST(HostFillTest, OfDegradedHostsThoseWithMorePortsComeFirst) {
  Case c = MakeCase(MakeCluster({{4}}), MakeJob(8, 1, 1, 3, 1));
  c.cluster.hosts[0].degraded = 4;
  c.cluster.hosts[1].degraded = 1;
  c.cluster.hosts[2].degraded = 2;
  EXPECT_EQ(FilledHosts(c), (std::vector<int>{1, 2, 3}));
}

TEST(HostFillTest, AUnitWiderThanEveryHostIsPartedBetweenItsHostSets) {
  // One unit of four workers of four GPUs, two to a host.
  Case c = MakeCase(MakeCluster({{2}}), MakeJob(16, 1, 1, 1, 1, 4));
  EXPECT_EQ(FilledHosts(c), (std::vector<int>{0, 0, 1, 1}));
  // A set that must share a host has none that is wide enough.
  c.job.placement.tensor = {TopologyLevel::kHost, Enforcement::kRequired};
  EXPECT_TRUE(FilledHosts(c).empty());
}

// Host sets of workers of several classes, and the hosts of one segment.
struct ClassCase {
  Cluster cluster;
  GangModel model;
  Capacity capacity;
  std::vector<std::vector<int>> host_sets;  // workers

  ClassCase(const std::vector<std::int32_t>& capacities, std::vector<std::uint32_t> classes_of_host,
            std::vector<std::vector<int>> sets, std::vector<std::uint8_t> class_of_worker)
      : cluster(MakeCluster({{static_cast<int>(capacities.size())}})), host_sets(std::move(sets)) {
    model.workers = static_cast<int>(class_of_worker.size());
    model.host_sets.of.resize(class_of_worker.size());
    for (std::size_t set = 0; set < host_sets.size(); ++set) {
      model.host_sets.size.push_back(static_cast<int>(host_sets[set].size()));
      for (const int worker : host_sets[set]) model.host_sets.of[worker] = static_cast<int>(set);
    }
    capacity.of_host = capacities;
    capacity.of_segment = {0};
    for (const std::int32_t workers : capacities) capacity.of_segment[0] += workers;
    capacity.classes.class_of_worker = std::move(class_of_worker);
    capacity.classes.of_host = std::move(classes_of_host);
  }

  std::vector<HostId> Fill() const {
    return FillHosts(cluster, capacity, model,
                     std::vector<int>(static_cast<std::size_t>(model.workers), 0));
  }

  // Whether the set may use the host beside what the host holds.
  bool Takes(const std::vector<int>& set, std::size_t host, int held) const {
    if (held + static_cast<int>(set.size()) > capacity.of_host[host]) return false;
    return std::all_of(set.begin(), set.end(), [&](int worker) {
      return (capacity.classes.of_host[host] >> capacity.classes.class_of_worker[worker] & 1U) != 0;
    });
  }

  // By trying everything.
  bool HasRoom() const {
    std::vector<int> held(capacity.of_host.size(), 0);
    const std::function<bool(std::size_t)> place = [&](std::size_t set) {
      if (set == host_sets.size()) return true;
      for (std::size_t host = 0; host < held.size(); ++host) {
        if (!Takes(host_sets[set], host, held[host])) continue;
        held[host] += static_cast<int>(host_sets[set].size());
        const bool rest = place(set + 1);
        held[host] -= static_cast<int>(host_sets[set].size());
        if (rest) return true;
      }
      return false;
    };
    return place(0);
  }

  bool Holds(const std::vector<HostId>& hosts) const {
    if (hosts.size() != static_cast<std::size_t>(model.workers)) return false;
    std::vector<int> held(capacity.of_host.size(), 0);
    for (const std::vector<int>& set : host_sets) {
      const HostId host = hosts[static_cast<std::size_t>(set[0])];
      if (!host.valid() || !Takes(set, host.index(), held[host.index()])) return false;
      for (const int worker : set) {
        if (hosts[static_cast<std::size_t>(worker)] != host) return false;
      }
      held[host.index()] += static_cast<int>(set.size());
    }
    return true;
  }
};

// Sets of `size` workers, or of 1 to 3 where it is 0.
ClassCase RandomClassCase(Random& random, int size) {
  const auto below = [&](int n) {
    return static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
  };
  const int classes = 2 + below(3);
  std::vector<std::vector<int>> sets(static_cast<std::size_t>(2 + below(6)));
  std::vector<std::uint8_t> class_of_worker;
  for (std::vector<int>& set : sets) {
    set.resize(static_cast<std::size_t>(size > 0 ? size : 1 + below(3)));
    const bool mixed = below(4) == 0;
    for (int& worker : set) {
      const bool same = !mixed && &worker != &set.front();
      worker = static_cast<int>(class_of_worker.size());
      class_of_worker.push_back(same ? class_of_worker.back()
                                     : static_cast<std::uint8_t>(below(classes)));
    }
  }
  std::vector<std::int32_t> capacities(static_cast<std::size_t>(1 + below(5)));
  std::vector<std::uint32_t> classes_of_host;
  for (std::int32_t& workers : capacities) {
    workers = (size > 0 ? size : 1) * below(5);
    classes_of_host.push_back(static_cast<std::uint32_t>(1 + below((1 << classes) - 1)));
  }
  return {capacities, std::move(classes_of_host), std::move(sets), std::move(class_of_worker)};
}

// The worker that may use both hosts comes first and makes way; it may not come back.
TEST(HostFillTest, ASmallHostSetLeavesTheOnlyHostThatALargerOneMayUse) {
  const ClassCase c({2, 2}, {0b11, 0b01}, {{0}, {1, 2}}, {0, 1, 1});
  EXPECT_EQ(c.Fill(), (std::vector<HostId>{HostId(1), HostId(0), HostId(0)}));
}

TEST(HostFillTest, HostSetsOfOneSizeAndSeveralClassesFindHostsWheneverThereAreSome) {
  Random random(3);
  int filled = 0, empty = 0;
  for (int round = 0; round < Rounds(4000); ++round) {
    SCOPED_TRACE(round);
    const ClassCase c = RandomClassCase(random, 1 + round % 3);
    const std::vector<HostId> hosts = c.Fill();
    ASSERT_EQ(!hosts.empty(), c.HasRoom());
    ASSERT_TRUE(hosts.empty() || c.Holds(hosts));
    ++(hosts.empty() ? empty : filled);
  }
  EXPECT_GT(filled, MoreThan(500));
  EXPECT_GT(empty, MoreThan(500));
}

TEST(HostFillTest, HostSetsOfUnequalSizesAndSeveralClassesGetHostsThatTakeThem) {
  Random random(4);
  int filled = 0, missed = 0;
  for (int round = 0; round < Rounds(4000); ++round) {
    SCOPED_TRACE(round);
    const ClassCase c = RandomClassCase(random, 0);
    const std::vector<HostId> hosts = c.Fill();
    if (hosts.empty()) {
      missed += c.HasRoom() ? 1 : 0;
      continue;
    }
    ++filled;
    ASSERT_TRUE(c.Holds(hosts));
  }
  EXPECT_GT(filled, MoreThan(500));
  EXPECT_LE(missed, filled / 50);
}

}  // namespace
}  // namespace yardmaster::placement
