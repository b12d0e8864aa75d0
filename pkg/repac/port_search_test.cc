#include "pkg/repac/port_search.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>

#include "pkg/base/random.h"
#include "pkg/base/testing/ipv4.h"

namespace yardmaster::repac {
namespace {

using fabric::HashKind;
using fabric::HashSpec;
using fabric::Rtag7Function;

PortFunction RandomLinear(Random& random) {
  PortFunction function;
  function.base = random.Below(65536);
  for (std::uint32_t& column : function.columns)
    column = static_cast<std::uint32_t>(random.Below(65536));
  return function;
}

PortFunction Rtag7(Rtag7Function which, std::uint32_t seed, std::uint32_t sip, int rotate = 0) {
  HashSpec spec;
  spec.kind = HashKind::kRtag7;
  spec.rtag7.function = which;
  spec.seed = seed;
  spec.rotate_right = rotate;
  Packet packet;
  packet.sip = Ipv4(sip);
  packet.dip = Ipv4(0x0A00FFFF);
  return HashModel::Compile(spec)->OverPorts(packet);
}

// All suitable ports by asking every one.
std::vector<std::uint16_t> BruteForce(const std::vector<HopTarget>& hops) {
  std::vector<std::uint16_t> ports;
  for (unsigned p = kFirstSourcePort; p <= 0xFFFF; ++p) {
    const auto port = static_cast<std::uint16_t>(p);
    const bool good = std::all_of(hops.begin(), hops.end(), [port](const HopTarget& hop) {
      const int member = static_cast<int>(hop.function(port) % static_cast<unsigned>(hop.members));
      return hop.wanted.empty() ||
             std::find(hop.wanted.begin(), hop.wanted.end(), member) != hop.wanted.end();
    });
    if (good) ports.push_back(port);
  }
  return ports;
}

TEST(WalkPortsTest, VisitsEveryUsablePortOnceWithItsValues) {
  Random random(1);
  const std::vector<PortFunction> hops = {RandomLinear(random), RandomLinear(random)};
  for (std::uint16_t start : {0xC000, 0xC001, 0xFFFF, 0xD123}) {
    std::map<std::uint16_t, int> seen;
    const auto end = WalkPorts(hops, start, [&](std::uint16_t port, const auto& values) {
      ++seen[port];
      EXPECT_EQ(values[0], hops[0](port));
      EXPECT_EQ(values[1], hops[1](port));
      return false;
    });
    EXPECT_FALSE(end.has_value());
    EXPECT_EQ(seen.size(), 16383u);
    EXPECT_EQ(seen.begin()->first, kFirstSourcePort);
  }
}

TEST(MemberChoiceTest, IsMemberOfForAnyGroupAndValue) {
  Random random(5);
  for (int round = 0; round < 2000; ++round) {
    const std::size_t members = round < 130 ? 1 + static_cast<std::size_t>(round)
                                            : 1 + random.Below(round % 2 == 0 ? 100 : 0xFFFFFFFF);
    const Thresholds by_threshold = members < 200 ? EqualThresholds(members) : Thresholds();
    const Thresholds modulo;
    const MemberChoice choice(members, modulo);
    const MemberChoice choice_by_threshold(members, by_threshold);
    for (std::uint64_t value :
         {std::uint64_t{0}, members - 1, std::uint64_t{members}, std::uint64_t{0xFFFFFFFF},
          std::uint64_t{1} << 32, ~std::uint64_t{0}, random.Below(1u << 16),
          random.Below(std::uint64_t{1} << 32)}) {
      EXPECT_EQ(choice(value), MemberOf(value, members, modulo)) << value << " " << members;
      const std::uint64_t short_value = value & 0x7FFFFFFF;
      EXPECT_EQ(choice_by_threshold(short_value), MemberOf(short_value, members, by_threshold));
    }
  }
}

TEST(FindPortTest, AgreesWithBruteForceOnPowersOfTwo) {
  Random random(2);
  int unsolvable = 0;
  for (int round = 0; round < 200; ++round) {
    std::vector<HopTarget> hops(1 + random.Below(3));
    for (HopTarget& hop : hops) {
      hop.function = RandomLinear(random);
      // Few distinct columns make dependent rows, hence systems without a solution.
      for (std::uint32_t& column : hop.function.columns) {
        column &= round % 2 == 0 ? 0xFFFFu : 0x0011u * static_cast<std::uint32_t>(random.Below(16));
      }
      hop.members = 1 << random.Below(6);
      hop.wanted = {static_cast<int>(random.Below(static_cast<std::uint64_t>(hop.members)))};
    }
    const std::vector<std::uint16_t> all = BruteForce(hops);
    const auto port = FindPort(hops, {}, static_cast<std::uint16_t>(random.Below(65536)));
    ASSERT_EQ(port.ok(), !all.empty()) << port.status();
    if (port.ok()) {
      EXPECT_TRUE(std::binary_search(all.begin(), all.end(), *port));
    }
    unsolvable += all.empty() ? 1 : 0;
  }
  EXPECT_GT(unsolvable, 5);
}

TEST(FindPortTest, AgreesWithBruteForceOnAnyGroupSize) {
  Random random(3);
  for (int round = 0; round < 60; ++round) {
    std::vector<HopTarget> hops(1 + random.Below(2));
    for (HopTarget& hop : hops) {
      hop.function = RandomLinear(random);
      hop.members = 1 + static_cast<int>(random.Below(64));
      for (std::uint64_t i = random.Below(4); i > 0; --i) {
        hop.wanted.push_back(
            static_cast<int>(random.Below(static_cast<std::uint64_t>(hop.members))));
      }
    }
    const std::vector<std::uint16_t> all = BruteForce(hops);
    const auto port = FindPort(hops, {}, static_cast<std::uint16_t>(random.Below(65536)));
    ASSERT_EQ(port.ok(), !all.empty()) << port.status();
    if (port.ok()) {
      EXPECT_TRUE(std::binary_search(all.begin(), all.end(), *port));
    }
  }
}

TEST(FindPortTest, GivesEverySolutionBeforeItGivesUp) {
  Random random(4);
  for (int members : {64, 60}) {
    HopTarget hop;
    hop.function = Rtag7(Rtag7Function::kCrc32cLo, 1, 0x0A000001);
    hop.members = members;
    hop.wanted = {7};
    const std::vector<std::uint16_t> all = BruteForce({hop});
    UsedPorts used;
    for (std::size_t i = 0; i < all.size(); ++i) {
      const auto port = FindPort({hop}, used, 0xC055);
      ASSERT_TRUE(port.ok()) << port.status();
      used.insert(std::lower_bound(used.begin(), used.end(), *port), *port);
    }
    EXPECT_TRUE(std::equal(used.begin(), used.end(), all.begin(), all.end()));
    EXPECT_EQ(FindPort({hop}, used, 0xC055).status().code(), absl::StatusCode::kNotFound);
  }
}

TEST(FindPortTest, SolvesThreeHopsOfAFatTreeAtOnce) {
  Random random(5);
  for (int round = 0; round < 50; ++round) {
    std::vector<HopTarget> hops(3);
    const Rtag7Function functions[] = {Rtag7Function::kCrc32cLo, Rtag7Function::kCrc32Hi,
                                       Rtag7Function::kCrc16Ccitt};
    for (std::size_t j = 0; j < 3; ++j) {
      hops[j].function = Rtag7(functions[j], static_cast<std::uint32_t>(random.Next()),
                               static_cast<std::uint32_t>(random.Next()));
      hops[j].members = 16;
      hops[j].wanted = {static_cast<int>(random.Below(16))};
    }
    const auto port = FindPort(hops, {}, 0xC001);
    ASSERT_TRUE(port.ok()) << port.status();
    for (const HopTarget& hop : hops) {
      EXPECT_EQ(static_cast<int>(hop.function(*port) % 16), hop.wanted[0]);
    }
  }
}

TEST(FindPortTest, NamesPolarisationWhenSeedsAloneDiffer) {
  for (int members : {16, 60}) {
    std::vector<HopTarget> hops(2);
    hops[0].function = Rtag7(Rtag7Function::kCrc32cLo, 1, 0x0A000001);
    hops[1].function = Rtag7(Rtag7Function::kCrc32cLo, 2, 0x0A000001);
    int refused = 0;
    for (int wanted = 0; wanted < members; ++wanted) {
      hops[0].members = hops[1].members = members;
      hops[0].wanted = {0};
      hops[1].wanted = {wanted};
      const auto port = FindPort(hops, {}, 0xC001);
      if (port.ok()) continue;
      ++refused;
      EXPECT_NE(port.status().message().find("polarisation: hops 0 and 1"), absl::string_view::npos)
          << port.status();
    }
    EXPECT_GT(refused, members / 2);
  }
}

// The functions that the presets give to ToR, Agg and core.
TEST(FindPolarisationTest, DifferentFunctionsAreNotAccused) {
  std::vector<HopTarget> hops(3);
  hops[0].function = Rtag7(Rtag7Function::kCrc32cLo, 1, 0x0A000001);
  hops[1].function = Rtag7(Rtag7Function::kCrc32Hi, 1, 0x0A000001);
  hops[2].function = Rtag7(Rtag7Function::kCrc16Ccitt, 1, 0x0A000001);
  for (int members : {4, 8, 16, 24, 32, 48, 59, 60, 64}) {
    for (HopTarget& hop : hops) hop.members = members;
    for (const Polarisation& p : FindPolarisation(hops)) {
      ADD_FAILURE() << members << " members: " << ToString(p);
    }
  }
}

// Rotating 16 bits multiplies by a power of two modulo 65535, of which 15 is a divisor: the
// remainder modulo 15 of one switch fixes that of the other. Groups of 60 keep only their two
// lowest bits apart.
TEST(FindPolarisationTest, RotationDoesNotPartGroupsOfSixty) {
  std::vector<HopTarget> hops(2);
  hops[0].function = Rtag7(Rtag7Function::kCrc32cLo, 1, 0x0A000001);
  hops[1].function = Rtag7(Rtag7Function::kCrc32cLo, 1, 0x0A000001, 7);
  hops[0].members = hops[1].members = 8;
  EXPECT_TRUE(FindPolarisation(hops).empty());
  hops[0].members = hops[1].members = 60;
  const std::vector<Polarisation> found = FindPolarisation(hops);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].reachable, 15 * 4 * 4);
}

TEST(FindPortTest, RefusesMembersThatDoNotExist) {
  HopTarget hop;
  hop.members = 4;
  hop.wanted = {4};
  EXPECT_EQ(FindPort({hop}, {}, 0).status().code(), absl::StatusCode::kInvalidArgument);
  hop.members = 0;
  EXPECT_EQ(FindPort({hop}, {}, 0).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FindPortTest, IsTheSameForTheSameQuestion) {
  HopTarget hop;
  hop.function = Rtag7(Rtag7Function::kCrc16Bisync, 3, 0x0A000009);
  hop.members = 60;
  hop.wanted = {1, 2, 3};
  EXPECT_EQ(*FindPort({hop}, {}, 0xE000), *FindPort({hop}, {}, 0xE000));
}

// Eight flows from one ToR with sixty uplinks: asked for eight different uplinks, they never meet;
// left to chance they do in 38.6 % of cases.
TEST(FindPortTest, EightFlowsOnSixtyUplinksNeverCollide) {
  Random random(6);
  HashSpec spec;
  spec.kind = HashKind::kRtag7;
  spec.rtag7.function = Rtag7Function::kCrc32cHi;
  const HashModel model = *HashModel::Compile(spec);
  int collisions = 0;
  int by_chance = 0;
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<int> planned;
    std::vector<int> drawn;
    for (int flow = 0; flow < 8; ++flow) {
      HopTarget hop;
      Packet packet;
      packet.sip = Ipv4(0x0A000000 + static_cast<std::uint32_t>(random.Below(1 << 16)));
      packet.dip = Ipv4(0x0A010000 + static_cast<std::uint32_t>(random.Below(1 << 16)));
      hop.function = model.OverPorts(packet);
      hop.members = 60;
      for (int u = 0; u < 60; ++u) {
        if (std::find(planned.begin(), planned.end(), u) == planned.end()) hop.wanted.push_back(u);
      }
      const auto port = FindPort({hop}, {}, static_cast<std::uint16_t>(random.Below(65536)));
      ASSERT_TRUE(port.ok());
      planned.push_back(static_cast<int>(hop.function(*port) % 60));
      drawn.push_back(static_cast<int>(
          hop.function(static_cast<std::uint16_t>(kFirstSourcePort + random.Below(16383))) % 60));
    }
    for (auto* uplinks : {&planned, &drawn}) {
      std::sort(uplinks->begin(), uplinks->end());
      const bool met = std::adjacent_find(uplinks->begin(), uplinks->end()) != uplinks->end();
      if (met) ++(uplinks == &planned ? collisions : by_chance);
    }
  }
  EXPECT_EQ(collisions, 0);
  EXPECT_NEAR(by_chance / double{kRounds}, 0.386, 0.04);
}

}  // namespace
}  // namespace yardmaster::repac
