#include "pkg/fabric/places.h"

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::fabric {
namespace {

TEST(PlacesTest, TheOrderOfTheInputDoesNotMatter) {
  std::vector<HostPlace> hosts = HostsOf(SmallHpn(2, 3, 5));
  const Places expected = Places::Build(hosts).value();
  Random random(3);
  for (int trial = 0; trial < 10; ++trial) {
    random.Shuffle(hosts);
    const Places places = Places::Build(hosts).value();
    for (HostId id : places.hosts()) {
      EXPECT_EQ(places.name(id), expected.name(id));
      EXPECT_EQ(places.segment_of(id), expected.segment_of(id));
    }
  }
}

TEST(PlacesTest, RangesCoverEveryHostOnce) {
  const Places places = PlacesOf(SmallHpn(3, 2, 4));
  int hosts = 0;
  for (FabricPodId pod : places.fabric_pods()) {
    for (SegmentId segment : places.segments_of(pod)) {
      EXPECT_EQ(places.fabric_pod_of(segment), pod);
      for (HostId host : places.hosts_of(segment)) {
        EXPECT_EQ(places.segment_of(host), segment);
        EXPECT_EQ(places.FindHost(places.name(host)), host);
        EXPECT_EQ(host.value, hosts++);
      }
    }
    EXPECT_EQ(places.hosts_of(pod).size(), 8);
  }
  EXPECT_EQ(hosts, places.num_hosts());
  EXPECT_FALSE(places.FindHost("nobody").valid());
}

TEST(PlacesTest, FindsEveryHostOfALargeFabricAndNoOtherName) {
  const Places places = PlacesOf(SmallHpn(4, 8, 100));
  for (HostId host : places.hosts()) {
    EXPECT_EQ(places.FindHost(places.name(host)), host);
    EXPECT_FALSE(places.FindHost(places.name(host) + "x").valid());
  }
  EXPECT_FALSE(places.FindHost("").valid());
  EXPECT_FALSE(Places::Build({}).value().FindHost("a").valid());
}

HostPlace InDomain(std::string name, std::string segment, std::string domain) {
  HostPlace host;
  host.name = std::move(name);
  host.fabric_pod = "p";
  host.segment = std::move(segment);
  host.domain = std::move(domain);
  return host;
}

TEST(PlacesTest, DomainsLieInSegmentsAndAHostWithoutOneIsADomain) {
  const std::vector<HostPlace> hosts = {InDomain("h0", "s0", "d1"), InDomain("h1", "s0", "d0"),
                                        InDomain("h2", "s0", "d1"), InDomain("h3", "s1", "d1"),
                                        InDomain("h4", "s0", ""),   InDomain("h5", "s0", "h4")};
  const Places places = Places::Build(hosts).value();
  EXPECT_TRUE(places.has_domains());
  EXPECT_EQ(places.num_domains(), 5);
  int seen = 0;
  for (SegmentId segment : places.segments()) {
    for (DomainId domain : places.domains_of(segment)) {
      EXPECT_EQ(places.segment_of(domain), segment);
      for (HostId host : places.hosts_of(domain)) {
        EXPECT_EQ(places.domain_of(host), domain);
        EXPECT_EQ(host.value, seen++);
      }
    }
  }
  EXPECT_EQ(seen, 6);
  EXPECT_EQ(places.domain_of(places.FindHost("h0")), places.domain_of(places.FindHost("h2")));
  EXPECT_NE(places.domain_of(places.FindHost("h0")), places.domain_of(places.FindHost("h3")));
  EXPECT_NE(places.domain_of(places.FindHost("h4")), places.domain_of(places.FindHost("h5")));
  EXPECT_EQ(places.name(places.domain_of(places.FindHost("h1"))), "d0");
}

TEST(PlacesTest, WithoutDomainsEveryHostIsOne) {
  const Places places = PlacesOf(SmallHpn(2, 2, 4));
  EXPECT_FALSE(places.has_domains());
  EXPECT_EQ(places.num_domains(), places.num_hosts());
  for (HostId host : places.hosts()) {
    EXPECT_EQ(places.domain_of(host).value, host.value);
    EXPECT_EQ(places.hosts_of(places.domain_of(host)).size(), 1);
  }
  EXPECT_EQ(places.domains_of(SegmentId(1)).size(), 4);
}

TEST(PlacesTest, SegmentsOfTheSameNameInTwoFabricPodsAreTwo) {
  const Places places = Places::Build({{"a", "p0", "s0", {}}, {"b", "p1", "s0", {}}}).value();
  EXPECT_EQ(places.num_segments(), 2);
}

TEST(PlacesTest, ARepeatedHostIsRefusedByName) {
  auto places = Places::Build({{"a", "p0", "s0", {}}, {"a", "p0", "s1", {}}});
  ASSERT_FALSE(places.ok());
  EXPECT_NE(places.status().message().find("host a"), absl::string_view::npos);
}

TEST(PlacesTest, ASegmentIsNamedWithItsFabricPodWhereAnotherHasItsName) {
  const Places places =
      Places::Build({{"h0", "p0", "s0", {}}, {"h1", "p0", "s1", {}}, {"h2", "p1", "s0", {}}})
          .value();
  EXPECT_EQ(DistinctName(places, places.segment_of(places.FindHost("h0"))), "p0/s0");
  EXPECT_EQ(DistinctName(places, places.segment_of(places.FindHost("h1"))), "s1");
  EXPECT_EQ(DistinctName(places, places.segment_of(places.FindHost("h2"))), "p1/s0");
}

}  // namespace
}  // namespace yardmaster::fabric
