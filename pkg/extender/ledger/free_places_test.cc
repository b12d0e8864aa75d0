#include "pkg/extender/ledger/free_places.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::extender {
namespace {

using workload::TopologyLevel;

// Two fabric pods of two segments of two domains of four hosts.
placement::Cluster MakeCluster(bool with_domains) {
  std::vector<fabric::HostPlace> hosts;
  for (int i = 0; i < 32; ++i) {
    hosts.push_back({StrCat("n", 10 + i), StrCat("p", i / 16), StrCat("s", i / 8 % 2), {}});
    if (with_domains) hosts.back().domain = StrCat("d", i / 4 % 2);
  }
  placement::Cluster cluster;
  cluster.places = std::make_shared<const fabric::Places>(fabric::Places::Build(hosts).value());
  cluster.hosts.resize(32);
  return cluster;
}

TEST(FreePlacesTest, PlacesAndSlotsCountBySizesThatFitOnFreeOrdinaryHosts) {
  placement::Cluster cluster = MakeCluster(true);
  cluster.hosts[0].free_gpus = 7;
  cluster.hosts[4].backup = true;
  cluster.hosts[8].unavailable = placement::Unavailability::kCordoned;
  const std::vector<FreePlaces> places = FreePlacesOf(cluster);
  ASSERT_EQ(places.size(), 3U);
  // Domains have 3, 3 without the backup host, 3, and five times 4 hosts.
  EXPECT_EQ(places[0], (FreePlaces{TopologyLevel::kDomain, {8, 8, 5}, {29, 13, 5}, 6}));
  EXPECT_EQ(places[1], (FreePlaces{TopologyLevel::kSegment, {4, 4, 4, 2}, {29, 14, 6, 2}, 2}));
  EXPECT_EQ(places[2],
            (FreePlaces{TopologyLevel::kFabricPod, {2, 2, 2, 2, 1}, {29, 14, 7, 3, 1}, 1}));
}

TEST(FreePlacesTest, WithoutDomainsThereIsNoSuchLevel) {
  const std::vector<FreePlaces> places = FreePlacesOf(MakeCluster(false));
  ASSERT_EQ(places.size(), 2U);
  EXPECT_EQ(places[0].level, TopologyLevel::kSegment);
}

}  // namespace
}  // namespace yardmaster::extender
