#include "pkg/placement/objective.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"

namespace yardmaster::placement {
namespace {

using fabric::HostId;

std::vector<HostId> RandomHosts(Random& random, const Case& c) {
  std::vector<HostId> hosts;
  for (int rank = 0; rank < c.job.workers; ++rank) {
    hosts.push_back(HostId(
        static_cast<int>(random.Below(static_cast<std::uint64_t>(c.cluster.places->num_hosts())))));
  }
  return hosts;
}

// Places that workers lie in, found with sets.
template <typename PlaceOf>
std::int64_t Spread(const std::vector<int>& workers, PlaceOf place_of) {
  std::set<int> seen;
  for (int worker : workers) seen.insert(place_of(worker));
  return static_cast<std::int64_t>(seen.size());
}

Objective Counted(const Case& c, const std::vector<HostId>& hosts) {
  const fabric::Places& places = *c.cluster.places;
  const auto segment = [&](int w) { return places.segment_of(hosts[w]).value; };
  const auto pod = [&](int w) { return places.fabric_pod_of(hosts[w]).value; };
  Objective o;
  auto add = [&](const auto& family, std::int64_t& in_segments, std::int64_t& in_pods) {
    for (const workload::WorkerGroup& group : family) {
      in_segments += (Spread(group.workers, segment) - 1) * group.count;
      in_pods += (Spread(group.workers, pod) - 1) * group.count;
    }
  };
  add(c.groups.tensor, o.tensor_split_segments, o.tensor_split_fabric_pods);
  add(c.groups.context, o.tensor_split_segments, o.tensor_split_fabric_pods);
  add(c.groups.expert, o.tensor_split_segments, o.tensor_split_fabric_pods);
  add(c.groups.data, o.data_split_segments, o.data_split_fabric_pods);
  std::vector<int> all;
  for (int w = 0; w < c.job.workers; ++w) all.push_back(w);
  o.segments = Spread(all, segment);
  o.fabric_pods = Spread(all, pod);
  return o;
}

TEST(ObjectiveTest, EveryGroupCostsThePlacesThatItLiesInBeyondTheFirst) {
  Random random(1);
  int tensor = 0, data = 0;
  for (int round = 0; round < Rounds(500); ++round) {
    const Case c = round % 5 == 0 ? IrregularCase(random) : RandomCase(random, {12, 6});
    const std::vector<HostId> hosts = RandomHosts(random, c);
    const Objective got = Evaluate(*c.cluster.places, c.groups, hosts);
    ASSERT_EQ(got, Counted(c, hosts)) << Describe(c);
    tensor += got.tensor_split_segments > 0;
    data += got.data_split_fabric_pods > 0;
  }
  EXPECT_GT(tensor, MoreThan(50));
  EXPECT_GT(data, MoreThan(50));
}

TEST(ObjectiveTest, HostsOfASegmentAreAlike) {
  Random random(2);
  for (int round = 0; round < Rounds(200); ++round) {
    const Case c = RandomCase(random, {12, 6});
    const std::vector<HostId> hosts = RandomHosts(random, c);
    std::vector<int> segments;
    std::vector<HostId> first_hosts;
    for (HostId host : hosts) {
      segments.push_back(c.cluster.places->segment_of(host).value);
      first_hosts.push_back(c.cluster.places->hosts_of(fabric::SegmentId(segments.back()))[0]);
    }
    const Objective want = Evaluate(*c.cluster.places, c.groups, hosts);
    EXPECT_EQ(EvaluateSegments(*c.cluster.places, c.groups, segments), want);
    EXPECT_EQ(Evaluate(*c.cluster.places, c.groups, first_hosts), want);
  }
}

TEST(ObjectiveTest, TheOrderOfTheGroupsDoesNotMatter) {
  Random random(3);
  for (int round = 0; round < Rounds(200); ++round) {
    Case c = RandomCase(random, {12, 6});
    const std::vector<HostId> hosts = RandomHosts(random, c);
    const Objective want = Evaluate(*c.cluster.places, c.groups, hosts);
    for (auto* family : {&c.groups.tensor, &c.groups.context, &c.groups.expert, &c.groups.data}) {
      random.Shuffle(*family);
    }
    EXPECT_EQ(Evaluate(*c.cluster.places, c.groups, hosts), want);
  }
}

TEST(ObjectiveTest, AGangInOneSegmentSplitsNothing) {
  const Case c = MakeCase(MakeCluster({{2, 2}, {2}}), MakeJob(16, 1, 2, 2, 2));
  const std::vector<HostId> hosts(static_cast<std::size_t>(c.job.workers), HostId(3));
  EXPECT_EQ(Evaluate(*c.cluster.places, c.groups, hosts), (Objective{0, 0, 0, 0, 1, 1}));
}

TEST(ObjectiveTest, AnEarlierPartOutweighsAllLaterOnes) {
  const std::vector<Objective> ascending = {
      {0, 0, 0, 0, 1, 1}, {0, 0, 0, 0, 1, 9}, {0, 0, 0, 0, 2, 1}, {0, 0, 0, 1, 1, 1},
      {0, 0, 1, 0, 1, 1}, {0, 1, 0, 0, 1, 1}, {0, 1, 9, 9, 9, 9}, {1, 0, 0, 0, 1, 1}};
  EXPECT_TRUE(std::is_sorted(ascending.begin(), ascending.end()));
}

}  // namespace
}  // namespace yardmaster::placement
