#include "pkg/repac/path_trust.h"

#include <gtest/gtest.h>
#include <memory>

#include "pkg/base/random.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/repac/path.h"
#include "pkg/repac/testing/networks.h"

namespace yardmaster::repac {
namespace {

using fabric::HostId;

// What packets do in `truth`, as agents would report it.
std::vector<ObservedPath> Observe(const ForwardingModel& truth, int count) {
  Random random(1);
  const int hosts = truth.network().places().num_hosts();
  std::vector<ObservedPath> out;
  for (int i = 0; i < count; ++i) {
    ObservedPath path;
    path.src = {HostId(i % (hosts / 2)), 0, 0};
    path.dst = {HostId(hosts - 1 - i % (hosts / 2)), 0, 0};
    path.source_port = static_cast<std::uint16_t>(kFirstSourcePort + random.Below(16383));
    const auto real = PredictPath(truth, path.src, path.dst, path.source_port);
    path.links.assign(real->links.begin() + 1, real->links.end());
    out.push_back(std::move(path));
  }
  return out;
}

fabric::FabricSpec Spec() {
  fabric::FabricSpec spec = fabric::FatTree(8);
  SetHashes(spec);
  return spec;
}

TEST(CheckPredictionsTest, TruePredictionsAreTrustedOnceEnoughWasSeen) {
  const HashedNetwork net(Spec());
  const ForwardingModel forwarding = net.Forwarding();
  const auto few = CheckPredictions(forwarding, Observe(forwarding, 3));
  EXPECT_EQ(few[0].verdict, TrustVerdict::kUnknown);
  const auto many = CheckPredictions(forwarding, Observe(forwarding, 50));
  EXPECT_EQ(many[0].verdict, TrustVerdict::kTrusted);
  EXPECT_EQ(many[1].verdict, TrustVerdict::kTrusted);
  EXPECT_EQ(many[0].checked, 50);
  // A core has one way down to each fabric pod: nothing is hashed there.
  EXPECT_EQ(many[2].verdict, TrustVerdict::kUnknown);
  EXPECT_TRUE(Mistrusted(many).empty());
}

TEST(CheckPredictionsTest, OnlyTheRoleThatLiesIsMistrusted) {
  const HashedNetwork net(Spec());
  const ForwardingModel forwarding = net.Forwarding();
  for (const char* role : {"edge", "agg"}) {
    fabric::FabricSpec other = Spec();
    other.ecmp_hash[role] = Rtag7(fabric::Rtag7Function::kCrc32KoopmanHi, 99);
    const HashedNetwork truth(other);
    const auto verdicts = CheckPredictions(forwarding, Observe(truth.Forwarding(), 50));
    const auto mistrusted = Mistrusted(verdicts);
    ASSERT_EQ(mistrusted.size(), 1u) << role;
    EXPECT_EQ(mistrusted.begin()->first, role);
    for (const RoleTrust& trust : verdicts) {
      EXPECT_EQ(trust.foreign, 0);
      if (trust.role == role) {
        EXPECT_GT(trust.wrong, 20);
        EXPECT_NE(trust.example.find(role), std::string::npos);
      }
    }
    // Plans made after that leave the role alone.
    const auto hashes = SwitchHashes::Compile(*net.network, mistrusted);
    ASSERT_TRUE(hashes.ok());
    const ForwardingModel careful(*net.network, *hashes, {});
    const auto path = PredictPath(careful, {HostId(0), 0, 0}, {HostId(127), 0, 0}, 0xC001);
    ASSERT_TRUE(path.ok());
    EXPECT_FALSE(path->predictable);
  }
}

TEST(CheckPredictionsTest, ALinkThatIsNoMemberPointsAtRouting) {
  const HashedNetwork net(Spec());
  const ForwardingModel forwarding = net.Forwarding();
  std::vector<ObservedPath> observed = Observe(forwarding, 1);
  const SwitchId elsewhere = net.network->tor({HostId(20), 0, 0});
  observed[0].links[0] = fabric::Network::up(net.network->up_cable(elsewhere, 0));
  observed[0].links.resize(1);
  const auto verdicts = CheckPredictions(forwarding, observed);
  EXPECT_EQ(verdicts[0].foreign, 1);
  EXPECT_EQ(verdicts[0].verdict, TrustVerdict::kMistrusted);
}

// An address that is not known would be predicted with another one, and the role mistrusted for it.
TEST(CheckPredictionsTest, PathsOfHostsWithUnknownAddressesAreNotAssessed) {
  const HashedNetwork net(Spec());
  const std::vector<ObservedPath> observed = Observe(net.Forwarding(), 50);
  std::vector<fabric::HostPlace> hosts = fabric::HostsOf(Spec());
  hosts[0].nic_addresses = {*IpAddress::Parse("10.99.0.1")};
  hosts[0].address_problem = "its addresses are those of another host";
  const auto network = fabric::Network::Build(
      Spec(), std::make_shared<const fabric::Places>(*fabric::Places::Build(std::move(hosts))));
  ASSERT_TRUE(network.ok());
  const ForwardingModel forwarding(*network, *SwitchHashes::Compile(*network), {});
  const auto verdicts = CheckPredictions(forwarding, observed);
  EXPECT_EQ(verdicts[0].checked, 49);
  EXPECT_TRUE(Mistrusted(verdicts).empty());
}

TEST(CheckPredictionsTest, HopsThatDidNotAnswerAreNotAssessed) {
  const HashedNetwork net(Spec());
  const ForwardingModel forwarding = net.Forwarding();
  std::vector<ObservedPath> observed = Observe(forwarding, 30);
  for (ObservedPath& path : observed) path.links[1] = LinkId();
  const auto verdicts = CheckPredictions(forwarding, observed);
  EXPECT_EQ(verdicts[0].checked, 30);
  EXPECT_EQ(verdicts[1].checked, 0);
}

}  // namespace
}  // namespace yardmaster::repac
