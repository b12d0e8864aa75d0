#include "pkg/repac/wiring.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "pkg/base/random.h"
#include "pkg/repac/testing/networks.h"

namespace yardmaster::repac {
namespace {

using fabric::CableId;
using fabric::Network;

class WiringTest : public testing::Test {
 protected:
  WiringTest() : net_(HpnPod(2, 2)), upper_(UpperEnds(*net_.network)), plugged_(upper_) {}

  std::string Lower(int cable) const { return net_.network->name(CableId(cable)); }
  // Reports from the lower side, and from the upper side for every third cable as well.
  std::vector<Neighbour> Reports() const {
    std::vector<Neighbour> out;
    for (int c = 0; c < net_.network->num_cables(); ++c) {
      const auto at = static_cast<std::size_t>(c);
      out.push_back({Lower(c), plugged_[at]});
      if (c % 3 == 0) out.push_back({plugged_[at], Lower(c)});
    }
    return out;
  }
  // Exchanges plugs as a person would.
  void Exchange(const std::string& a, const std::string& b) {
    int first = -1;
    int second = -1;
    for (int c = 0; c < net_.network->num_cables(); ++c) {
      if (Lower(c) == a) first = c;
      if (Lower(c) == b) second = c;
    }
    std::swap(plugged_[static_cast<std::size_t>(first)],
              plugged_[static_cast<std::size_t>(second)]);
  }

  HashedNetwork net_;
  std::vector<std::string> upper_;
  std::vector<std::string> plugged_;
};

TEST_F(WiringTest, ACorrectFabricHasNoFaults) {
  const WiringReport report = CheckWiring(*net_.network, Reports());
  EXPECT_EQ(report.checked, net_.network->num_cables());
  EXPECT_TRUE(report.faults.empty());
  EXPECT_TRUE(report.swaps.empty());
  EXPECT_TRUE(report.unknown_ports.empty());
  EXPECT_TRUE(report.contradictions.empty());
}

TEST_F(WiringTest, ReportsMayHaveTheNamesOfOperators) {
  fabric::FabricSpec spec = net_.network->spec();
  std::vector<Neighbour> reports = Reports();
  for (int s = 0; s < net_.network->num_switches(); s += 3) {
    spec.switch_names[net_.network->name(fabric::SwitchId(s))] = "sw" + std::to_string(s);
  }
  for (Neighbour& report : reports) {
    report.local = fabric::ShownName(spec, report.local);
    report.remote = fabric::ShownName(spec, report.remote);
  }
  reports.push_back({Lower(0), "", "leaf"});  // says nothing of the cable
  const auto places = std::make_shared<const fabric::Places>(net_.network->places());
  const WiringReport report = CheckWiring(*Network::Build(spec, places), reports);
  EXPECT_EQ(report.checked, net_.network->num_cables());
  EXPECT_TRUE(report.faults.empty());
  EXPECT_TRUE(report.unknown_ports.empty());
  EXPECT_TRUE(report.contradictions.empty());
}

TEST_F(WiringTest, PortsOfAHostAreItsOwnWhereASwitchHasItsName) {
  fabric::FabricSpec spec = net_.network->spec();
  const std::string host = net_.network->places().name(fabric::HostId(0));
  spec.switch_names[net_.network->name(fabric::SwitchId(5))] = host;
  const auto places = std::make_shared<const fabric::Places>(net_.network->places());
  const WiringReport report = CheckWiring(*Network::Build(spec, places), Reports());
  EXPECT_EQ(report.checked, net_.network->num_cables());
  EXPECT_TRUE(report.faults.empty());
  EXPECT_TRUE(report.unknown_ports.empty());
}

TEST_F(WiringTest, EveryEndHasItsOwnName) {
  std::vector<std::string> names = upper_;
  for (int c = 0; c < net_.network->num_cables(); ++c) names.push_back(Lower(c));
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end());
}

TEST_F(WiringTest, TwoExchangedPlugsAreNamedWithTheSwapThatMendsThem) {
  std::swap(plugged_[3], plugged_[4]);
  const WiringReport report = CheckWiring(*net_.network, Reports());
  ASSERT_EQ(report.faults.size(), 2u);
  EXPECT_EQ(report.faults[0].port, Lower(3));
  EXPECT_EQ(report.faults[0].expected, upper_[3]);
  EXPECT_EQ(report.faults[0].found, upper_[4]);
  ASSERT_EQ(report.swaps.size(), 1u);
  EXPECT_EQ(report.swaps[0].first, Lower(3));
  EXPECT_EQ(report.swaps[0].second, Lower(4));
  EXPECT_EQ(report.nic_ports.size(), 2u);
  EXPECT_TRUE(report.unexplained.empty());
}

TEST_F(WiringTest, DoingTheSwapsMendsAnyPermutation) {
  Random random(1);
  for (int round = 0; round < 30; ++round) {
    plugged_ = upper_;
    std::vector<std::size_t> chosen;
    for (std::uint64_t i = 0; i < 2 + random.Below(8); ++i) {
      chosen.push_back(random.Below(plugged_.size()));
    }
    for (std::size_t i = 1; i < chosen.size(); ++i) {
      std::swap(plugged_[chosen[i - 1]], plugged_[chosen[i]]);
    }
    const WiringReport report = CheckWiring(*net_.network, Reports());
    EXPECT_TRUE(report.unexplained.empty());
    EXPECT_LT(report.swaps.size(), std::max<std::size_t>(report.faults.size(), 1));
    for (const PlugSwap& swap : report.swaps) Exchange(swap.first, swap.second);
    EXPECT_EQ(plugged_, upper_);
  }
}

TEST_F(WiringTest, AFaultOfAToRNamesItsCableForPlans) {
  const CableId first = net_.network->up_cable(net_.network->tor({fabric::HostId(0), 0, 0}), 5);
  const CableId second = net_.network->up_cable(net_.network->tor({fabric::HostId(0), 0, 0}), 9);
  std::swap(plugged_[first.index()], plugged_[second.index()]);
  const WiringReport report = CheckWiring(*net_.network, Reports());
  EXPECT_EQ(report.cables, (std::vector<CableId>{first, second}));
  EXPECT_TRUE(report.nic_ports.empty());
}

TEST_F(WiringTest, ChainsThatDoNotCloseAreFaultsWithoutASwap) {
  std::vector<Neighbour> reports = {{Lower(0), upper_[1]}};  // no report says where cable 1 is
  const WiringReport report = CheckWiring(*net_.network, reports);
  EXPECT_EQ(report.faults.size(), 1u);
  EXPECT_TRUE(report.swaps.empty());
  EXPECT_EQ(report.unexplained, std::vector<std::string>{Lower(0)});
}

TEST_F(WiringTest, NamesThatDoNotExistAndSidesThatDisagreeAreReported) {
  const WiringReport report = CheckWiring(
      *net_.network, {{"nobody:r0p0", upper_[0]}, {Lower(2), upper_[2]}, {upper_[5], Lower(2)}});
  EXPECT_EQ(report.unknown_ports, std::vector<std::string>{"nobody:r0p0"});
  EXPECT_EQ(report.contradictions, std::vector<std::string>{Lower(2)});
}

}  // namespace
}  // namespace yardmaster::repac
