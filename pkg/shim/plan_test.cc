#include "pkg/shim/plan.h"

#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace yardmaster::shim {
namespace {

std::unique_ptr<PlanFile> Read(const std::string& text) {
  auto plan = std::make_unique<PlanFile>();
  ReadPlan(text.data(), text.size(), plan.get());
  return plan;
}

Address At(const char* text) {
  Address address;
  EXPECT_TRUE(ParseAddress(text, &address)) << text;
  return address;
}

Endpoint To(const char* remote, const char* local = "10.0.0.1", const char* device = "mlx5_0") {
  return {At(local), At(remote), device, 1, false, 0};
}

// Two planes to one peer, two ports on the first and one on the second; another rail to another
// peer.
constexpr char kPlan[] = R"({"version":1,"fabricGeneration":7,"expires":"2026-01-02T03:04:05Z",
  "trafficClass":104,"ordinals":"least-used","unknown":{"x":[1,2]},"rails":[
  {"rail":0,"address":"10.0.0.1","device":"mlx5_0","peers":[
    {"rank":1,"host":"n2","address":"10.0.0.9","plane":0,"sourcePorts":[50001,50002],
     "alternatePorts":[60001,0]},
    {"rank":1,"host":"n2","address":"10.0.0.9","plane":1,"sourcePorts":[50003]}]},
  {"rail":1,"peers":[{"address":"fd00::9","sourcePorts":[50004],
     "tcp":[{"listenPort":29500,"sourcePorts":[40001]},{"sourcePorts":[40002]}]}]}]})";

TEST(PlanTest, ConnectionsToAPeerAreNumberedOverItsEntriesInTurn) {
  const auto plan = Read(kPlan);
  ASSERT_EQ(plan->state, PlanFileState::kReady);
  EXPECT_EQ(plan->traffic_class, 104);
  EXPECT_EQ(plan->expires_s, 1767323045);
  const Match match = FindPeer(*plan, To("10.0.0.9"));
  ASSERT_EQ(match.connections, 3);
  const int ports[] = {50001, 50003, 50002};
  const int planes[] = {0, 1, 0};
  const int alternates[] = {60001, 0, 0};
  for (int i = 0; i < 3; ++i) {
    const PathPorts path = PathAt(*plan, match, i);
    EXPECT_EQ(path.port, ports[i]);
    EXPECT_EQ(path.plane, planes[i]);
    EXPECT_EQ(path.alternate, alternates[i]);
  }
  EXPECT_EQ(PathAt(*plan, match, 3).port, 0);
  EXPECT_EQ(PathAt(*plan, match, -1).port, 0);
}

TEST(PlanTest, AnEntryIsTheirsWhoHaveItsAddressAndDevice) {
  const auto plan = Read(kPlan);
  EXPECT_EQ(FindPeer(*plan, To("10.0.0.8")).connections, 0);
  EXPECT_EQ(FindPeer(*plan, To("10.0.0.9", "10.0.0.2")).connections, 0) << "another own address";
  EXPECT_EQ(FindPeer(*plan, To("10.0.0.9", "10.0.0.1", "mlx5_1")).connections, 0);
  EXPECT_EQ(FindPeer(*plan, To("fd00::9", "10.0.0.77", "mlx5_7")).connections, 1)
      << "a rail that does not say which device it is";
}

TEST(PlanTest, ADeviceMayNameItsPort) {
  const auto plan = Read(R"({"version":1,"rails":[{"device":"mlx5_1/2",
      "peers":[{"address":"10.0.0.9","sourcePorts":[50001]}]}]})");
  Endpoint endpoint = To("10.0.0.9", "10.0.0.1", "mlx5_1");
  EXPECT_EQ(FindPeer(*plan, endpoint).connections, 0);
  endpoint.device_port = 2;
  EXPECT_EQ(FindPeer(*plan, endpoint).connections, 1);
  endpoint.device = "mlx5_10";
  EXPECT_EQ(FindPeer(*plan, endpoint).connections, 0);
}

TEST(PlanTest, APeerOnTwoRailsIsNobodysUnlessTheyDiffer) {
  const auto plan = Read(R"({"version":1,"rails":[
      {"rail":0,"peers":[{"address":"10.0.0.9","sourcePorts":[50001]}]},
      {"rail":1,"peers":[{"address":"10.0.0.9","sourcePorts":[50002]}]}]})");
  EXPECT_EQ(plan->peers, 2);
  EXPECT_EQ(FindPeer(*plan, To("10.0.0.9")).connections, 0);
}

TEST(PlanTest, TcpPortsAreApartFromRoces) {
  const auto plan = Read(kPlan);
  Endpoint endpoint = To("fd00::9");
  EXPECT_EQ(FindPeer(*plan, endpoint).connections, 1);
  endpoint.tcp = true;
  endpoint.listen_port = 29500;
  Match match = FindPeer(*plan, endpoint);
  ASSERT_EQ(match.connections, 2);
  EXPECT_EQ(PathAt(*plan, match, 0).port, 40001);
  endpoint.listen_port = 1;
  match = FindPeer(*plan, endpoint);
  ASSERT_EQ(match.connections, 1);
  EXPECT_EQ(PathAt(*plan, match, 0).port, 40002);
}

TEST(PlanTest, APlanThatCannotBeUsedHasNoPeers) {
  for (const char* text :
       {"{", "[]", "1", R"({"rails":[]})", R"({"version":2,"rails":[]})",
        R"({"version":1,"ordinals":"other","rails":[]})", R"({"version":1,"trafficClass":256})",
        R"({"version":1,"expires":"tomorrow"})",
        R"({"version":1,"expires":"2026-13-02T03:04:05Z"})",
        R"({"version":1,"rails":[{"peers":[{"sourcePorts":[1]}]}]})",
        R"({"version":1,"rails":[{"peers":[{"address":"10.0.0.9","sourcePorts":[0]}]}]})",
        R"({"version":1,"rails":[{"peers":[{"address":"10.0.0.9","sourcePorts":[65536]}]}]})",
        R"({"version":1,"rails":[{"peers":[{"address":"10.0.0","sourcePorts":[1]}]}]})",
        R"({"version":1,"rails":[{"peers":[{"address":"10.0.0.9","sourcePorts":[1],
            "alternatePorts":[1,2]}]}]})",
        R"({"version":1,"rails":[]} x)"}) {
    const auto plan = Read(text);
    EXPECT_EQ(plan->state, PlanFileState::kUnreadable) << text;
    EXPECT_EQ(plan->peers, 0) << text;
  }
  EXPECT_EQ(Read("")->state, PlanFileState::kAbsent);
  EXPECT_EQ(Read(" \n")->state, PlanFileState::kAbsent);
}

TEST(PlanTest, AnyBytesEndInAPlanWhoseConnectionsLieInIt) {
  std::mt19937 random(1);
  const std::string whole = kPlan;
  const auto plan = std::make_unique<PlanFile>();
  for (int i = 0; i < 30'000; ++i) {
    std::string text = whole;
    for (unsigned k = random() % 4; k < 4; ++k) {
      const std::size_t at = random() % text.size();
      if (random() % 3 == 0) {
        text.erase(at, 1 + random() % 6);
      } else if (random() % 2 == 0) {
        text.insert(at, whole.substr(random() % whole.size(), random() % 12));
      } else {
        text[at] = static_cast<char>(random());
      }
      if (text.empty()) text = " ";
    }
    // On the heap in its exact size, so that a sanitizer sees what lies beyond.
    const std::vector<char> exact(text.begin(), text.end());
    ReadPlan(exact.data(), exact.size(), plan.get());
    for (int p = 0; p < plan->peers; ++p) {
      Endpoint endpoint;
      endpoint.local = plan->rail[plan->peer[p].rail].address;
      endpoint.remote = plan->peer[p].address;
      const Match match = FindPeer(*plan, endpoint);
      for (int c = 0; c < match.connections; ++c) ASSERT_NE(PathAt(*plan, match, c).port, 0);
    }
  }
}

TEST(PlanTest, MorePeersOrPortsThanFitMakeItUnusable) {
  std::string peers, ports = "1";
  for (int i = 0; i <= kMaxPeers; ++i) {
    peers += (i == 0 ? "" : ",") + std::string(R"({"address":"10.0.0.9","sourcePorts":[1]})");
  }
  for (int i = 0; i < kMaxPorts; ++i) ports += ",1";
  const auto wrapped = [](const std::string& inside) {
    return R"({"version":1,"rails":[{"peers":[)" + inside + "]}]}";
  };
  EXPECT_EQ(Read(wrapped(peers))->state, PlanFileState::kUnreadable);
  EXPECT_EQ(Read(wrapped(R"({"address":"10.0.0.9","sourcePorts":[)" + ports + "]}"))->state,
            PlanFileState::kUnreadable);
  std::string padded = kPlan;
  padded.resize(kMaxPlanBytes + 1, ' ');
  EXPECT_EQ(Read(padded)->state, PlanFileState::kUnreadable);
}

TEST(PlanTest, TheFlowLabelMakesThePort) {
  std::set<std::uint32_t> labels;
  for (int port = 0xC001; port <= 0xFFFF; ++port) {
    const std::uint32_t label = FlowLabelOf(static_cast<std::uint16_t>(port));
    ASSERT_NE(label, 0U);
    ASSERT_LT(label, 1U << 20);
    // As the kernel's mlx5 driver and rdma-core compute it.
    ASSERT_EQ(0xC000 | ((label & 0x3FFF) ^ (label >> 14)), static_cast<unsigned>(port));
    labels.insert(label);
  }
  EXPECT_EQ(labels.size(), 0x3FFFU);
  EXPECT_EQ(FlowLabelOf(0xC000), 0U);
  EXPECT_EQ(FlowLabelOf(40000), 0U);
}

TEST(PlanTest, TimesAreSecondsSince1970) {
  const struct {
    const char* text;
    std::int64_t seconds;
  } cases[] = {{"1970-01-01T00:00:01Z", 1},          {"2000-02-29T12:00:00Z", 951825600},
               {"2000-03-01T00:00:00Z", 951868800},  {"2024-12-31T23:59:59Z", 1735689599},
               {"2100-03-01T00:00:00Z", 4107542400}, {"2028-01-01T00:00:00Z", 1830297600}};
  for (const auto& c : cases) {
    const std::string text = std::string(R"({"version":1,"expires":")") + c.text + "\"}";
    EXPECT_EQ(Read(text)->expires_s, c.seconds) << c.text;
  }
}

}  // namespace
}  // namespace yardmaster::shim
