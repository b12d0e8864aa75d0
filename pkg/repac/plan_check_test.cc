// Plans against a checker that shares nothing with the planner but the network: it routes by its
// own reading of the wiring and hashes by the reference definition.
#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/repac/path_planner.h"
#include "pkg/repac/reference_hash.h"
#include "pkg/repac/testing/networks.h"

namespace yardmaster::repac {
namespace {

using fabric::HostId;
using fabric::Network;

using Down = std::set<CableId>;

// Whether a packet for dst that goes over `link` can still arrive, never going up after down.
bool Arrives(const Network& network, LinkId link, const NicPort& dst, const Down& down) {
  if (down.count(Network::cable_of(link)) != 0) return false;
  const SwitchId at = network.far_end(link);
  if (!at.valid()) {
    const NicPort end = network.nic_port_of(Network::cable_of(link));
    return end.host == dst.host && end.rail == dst.rail;
  }
  if (Network::is_down(link) && !network.reaches_down(at, dst)) return false;
  for (LinkId next : network.next_hops(at, dst)) {
    if (Arrives(network, next, dst, down)) return true;
  }
  return false;
}

// The links of a packet, by the definition of the hash. Empty: it gets lost.
LinkPath Route(const Network& network, const NicPort& src, const NicPort& dst, std::uint16_t port,
               const Down& down) {
  LinkPath links = {Network::up(network.host_cable(src))};
  Packet packet;
  packet.sip = network.nic_address(src.host, src.rail);
  packet.dip = network.nic_address(dst.host, dst.rail);
  packet.sport = port;
  const NicPort twin{dst.host, dst.rail, network.plane_of(src)};
  while (network.far_end(links.back()).valid()) {
    if (links.size() > 12 || down.count(Network::cable_of(links.back())) != 0) return {};
    const SwitchId at = network.far_end(links.back());
    std::vector<LinkId> group;
    for (LinkId next : network.next_hops(at, twin)) {
      if (Arrives(network, next, twin, down)) group.push_back(next);
    }
    if (group.empty()) return {};
    const fabric::Tier& tier = network.spec().tiers[static_cast<std::size_t>(network.tier_of(at))];
    const fabric::HashSpec& spec = network.spec().ecmp_hash.at(tier.role);
    const std::uint64_t hash = group.size() == 1 ? 0 : ReferenceHash(SpecFor(spec, packet), packet);
    links.push_back(group[hash % group.size()]);
  }
  return links;
}

// Ports legal and never twice between two addresses, paths as the checker routes them, paths of a
// connection disjoint, alternates clear of the main path, loads and bounds as counted here.
void Check(const Network& network, const std::vector<Connection>& connections, const PathPlan& plan,
           const Down& down) {
  std::map<std::pair<Nic, Nic>, std::set<std::uint16_t>> ports;
  std::map<std::tuple<int, bool>, std::set<LinkId>> taken;
  std::map<LinkId, std::pair<int, double>> loads;
  std::set<std::tuple<int, bool, int>> flows;
  for (const Flow& flow : plan.flows) {
    EXPECT_TRUE(flows.insert({flow.connection, flow.back, flow.path}).second);
    const Connection& c = connections[static_cast<std::size_t>(flow.connection)];
    EXPECT_EQ((Nic{flow.src.host, flow.src.rail}), flow.back ? c.to : c.from);
    EXPECT_EQ((Nic{flow.dst.host, flow.dst.rail}), flow.back ? c.from : c.to);
    if (!flow.planned()) {
      EXPECT_FALSE(flow.reason.empty());
      continue;
    }
    std::pair<Nic, Nic> pair = {{flow.src.host, flow.src.rail}, {flow.dst.host, flow.dst.rail}};
    if (pair.second < pair.first) std::swap(pair.first, pair.second);
    for (std::uint16_t port : {flow.source_port, flow.alternate_port}) {
      if (port == 0) continue;
      EXPECT_GE(port, 0xC001);
      EXPECT_TRUE((ports[pair].insert(port).second)) << "twice: " << port;
    }
    EXPECT_EQ(Route(network, flow.src, flow.dst, flow.source_port, down), flow.links);
    for (LinkId link : flow.links) {
      EXPECT_EQ(down.count(Network::cable_of(link)), 0u);
      if (network.is_host_cable(Network::cable_of(link))) continue;
      EXPECT_TRUE((taken[{flow.connection, flow.back}].insert(link).second)) << "shared link";
      ++loads[link].first;
      loads[link].second += flow.bytes;
    }
    if (flow.alternate_port == 0) continue;
    for (LinkId link : Route(network, flow.src, flow.dst, flow.alternate_port, down)) {
      if (network.is_host_cable(Network::cable_of(link))) continue;
      EXPECT_EQ(std::count(flow.links.begin(), flow.links.end(), link), 0);
    }
  }
  ASSERT_EQ(plan.loads.size(), loads.size());
  for (const LinkLoad& load : plan.loads) {
    EXPECT_EQ(load.flows, loads.at(load.link).first);
    EXPECT_NEAR(load.bytes, loads.at(load.link).second, 1e-6);
  }
  for (const Balance& balance : plan.balances) {
    int count = 0;
    int fullest = 0;
    double bytes = 0;
    for (const auto& [link, load] : loads) {
      if (network.switch_port_of(Network::cable_of(link)).id != balance.tor ||
          Network::is_down(link) != balance.inbound) {
        continue;
      }
      count += load.first;
      fullest = std::max(fullest, load.first);
      bytes += load.second;
    }
    EXPECT_EQ(balance.flows, count);
    EXPECT_EQ(balance.max_flows, fullest);
    EXPECT_GE(balance.max_flows, balance.bound_flows);
    EXPECT_GE(balance.bound_bytes, bytes / balance.links - 1e-6);
  }
}

std::vector<fabric::FabricSpec> Fabrics() {
  std::vector<fabric::FabricSpec> out = {HpnPod(3, 5),
                                         fabric::SmallHpn(1, 3, 6),
                                         fabric::SmallHpn(2, 2, 3),
                                         fabric::SinglePlaneHpn(1, 3, 3),
                                         fabric::StripedCore(2, 2, 2),
                                         fabric::FatTree(4),
                                         fabric::FatTree(8)};
  for (std::size_t i = 1; i < out.size(); ++i) SetHashes(out[i]);
  // Other families of hashes, too, and an IPv6 underlay.
  out.push_back(out[1]);
  out.back().name = "other-hashes";
  fabric::HashSpec toeplitz;
  toeplitz.kind = fabric::HashKind::kToeplitz;
  out.back().ecmp_hash["tor"] = toeplitz;
  out.push_back(out[5]);
  out.back().name = "ipv6";
  out.back().addressing.base = "fd00:1::ffff:fff0";
  return out;
}

std::vector<Connection> RandomConnections(const Network& network, int count, Random& random) {
  std::vector<Connection> out;
  const auto below = [&random](int n) {
    return static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
  };
  while (static_cast<int>(out.size()) < count) {
    Connection c;
    c.from = {HostId(below(network.places().num_hosts())), below(network.spec().rails)};
    c.to = {HostId(below(network.places().num_hosts())), c.from.rail};
    if (c.from == c.to) continue;
    c.paths = 1 + below(2);
    c.both_directions = below(3) != 0;
    c.bytes = 1 + below(5);
    out.push_back(c);
  }
  return out;
}

TEST(PlanCheckTest, PlansAreWhatTheReferenceSays) {
  Random random(1);
  for (const fabric::FabricSpec& spec : Fabrics()) {
    SCOPED_TRACE(spec.name);
    const HashedNetwork net(spec);
    const ForwardingModel world = net.ClusterState();
    for (int round = 0; round < 3; ++round) {
      const auto connections = RandomConnections(*net.network, 40, random);
      const PathPlan plan = PlanPaths(connections, world, {});
      Check(*net.network, connections, plan, {});
    }
  }
}

TEST(PlanCheckTest, BothDirectionsAndBothPlanesOfARingCarryTheSame) {
  const HashedNetwork net(HpnPod(2, 6));
  const auto connections = Rings(*net.network, 6, 2);
  const PathPlan plan = PlanPaths(connections, net.ClusterState(), {});
  Check(*net.network, connections, plan, {});
  std::map<std::tuple<HostId, int, int>, int> sent;
  std::map<std::tuple<HostId, int, int>, int> received;
  for (const Flow& flow : plan.flows) {
    ++sent[{flow.src.host, flow.src.rail, flow.src.port}];
    ++received[{flow.dst.host, flow.dst.rail, flow.dst.port}];
  }
  EXPECT_EQ(sent.size(), 12u * 8 * 2);
  for (const auto& [port, flows] : sent) EXPECT_EQ(flows, 2);
  for (const auto& [port, flows] : received) EXPECT_EQ(flows, 2);
}

TEST(PlanCheckTest, AnAddressPairRunsOutOfDisjointPathsBeforeItRepeatsAPort) {
  const HashedNetwork net(HpnPod(2, 2));
  Connection connection;
  connection.from = {HostId(0), 0};
  connection.to = {HostId(2), 0};
  connection.paths = 121;  // 60 uplinks in each of two planes
  PathOptions options;
  options.alternates = false;
  const PathPlan plan = PlanPaths({connection}, net.ClusterState(), options);
  Check(*net.network, {connection}, plan, {});
  EXPECT_EQ(plan.unplanned, 2);
}

TEST(PlanCheckTest, AGivenPathIsTakenExactlyOrReportedWithThePolarisation) {
  fabric::FabricSpec spec = fabric::FatTree(8);
  SetHashes(spec);
  for (bool polarised : {false, true}) {
    if (polarised) spec.ecmp_hash["agg"] = Rtag7(fabric::Rtag7Function::kCrc32cLo, 99);
    const HashedNetwork net(spec);
    const ForwardingModel world = net.ClusterState();
    Connection connection;
    connection.from = {HostId(0), 0};
    connection.to = {HostId(net.network->places().num_hosts() - 1), 0};
    connection.both_directions = false;
    const SwitchId edge = net.network->tor({HostId(0), 0, 0});
    int reached = 0;
    for (int u = 0; u < 4; ++u) {
      for (int v = 0; v < 4; ++v) {
        const LinkId first = Network::up(net.network->up_cable(edge, u));
        const LinkId second = Network::up(net.network->up_cable(net.network->upper(edge, u), v));
        connection.via = {first, second};
        const PathPlan plan = PlanPaths({connection}, world, {});
        Check(*net.network, {connection}, plan, {});
        const Flow& flow = plan.flows[0];
        if (flow.planned()) {
          ++reached;
          EXPECT_EQ(flow.links[1], first);
          EXPECT_EQ(flow.links[2], second);
        } else {
          EXPECT_NE(flow.reason.find("polarisation"), std::string::npos) << flow.reason;
        }
      }
    }
    EXPECT_EQ(reached, polarised ? 4 : 16);
  }
}

TEST(PlanCheckTest, GroupsThatAreNoPowerOfTwoReachEveryMember) {
  for (int uplinks : {60, 59, 48, 7}) {
    fabric::FabricSpec spec = HpnPod(2, 2);
    spec.tiers[0].up_ports = spec.tiers[1].switches = uplinks;
    const HashedNetwork net(spec);
    const ForwardingModel world = net.ClusterState();
    Connection connection;
    connection.from = {HostId(1), 3};
    connection.to = {HostId(2), 3};
    const SwitchId tor = net.network->tor({HostId(1), 3, 1});
    for (int u = 0; u < uplinks; ++u) {
      connection.via = {Network::up(net.network->up_cable(tor, u))};
      const PathPlan plan = PlanPaths({connection}, world, {});
      ASSERT_TRUE(plan.flows[0].planned()) << plan.flows[0].reason;
      EXPECT_EQ(plan.flows[0].links[1], connection.via[0]);
      Check(*net.network, {connection}, plan, {});
    }
  }
}

// Cables whose loss is the loss of a switch.
std::vector<CableId> CablesOf(const Network& network, SwitchId id) {
  std::vector<CableId> cables;
  for (int c = 0; c < network.num_cables(); ++c) {
    const CableId cable(c);
    if (network.far_end(Network::up(cable)) == id ||
        (!network.is_host_cable(cable) && network.switch_port_of(cable).id == id)) {
      cables.push_back(cable);
    }
  }
  return cables;
}

// Replans for `lost`, first before routing knows and then after, and checks that no flow moves that
// need not.
void Lose(const HashedNetwork& net, const std::vector<Connection>& connections,
          const PathPlan& plan, const std::vector<CableId>& lost) {
  const Network& network = *net.network;
  const Down down(lost.begin(), lost.end());
  const auto hit = [&down](const Flow& flow) {
    return std::any_of(flow.links.begin(), flow.links.end(),
                       [&down](LinkId link) { return down.count(Network::cable_of(link)) != 0; });
  };
  const ForwardingModel before = net.ClusterState();
  PathOptions avoid;
  avoid.avoid = lost;
  const PathPlan moved = Replan(plan, connections, before, avoid);
  Check(network, connections, moved, {});
  EXPECT_EQ(moved.unplanned, 0);
  for (std::size_t i = 0; i < plan.flows.size(); ++i) {
    EXPECT_FALSE(hit(moved.flows[i]));
    if (hit(plan.flows[i])) continue;
    EXPECT_EQ(plan.flows[i].source_port, moved.flows[i].source_port);
    EXPECT_EQ(plan.flows[i].src, moved.flows[i].src);
  }
  const ForwardingModel after = net.ClusterState(lost);
  const PathPlan settled = Replan(moved, connections, after, {});
  Check(network, connections, settled, down);
  EXPECT_EQ(settled.unplanned, 0);
  for (std::size_t i = 0; i < plan.flows.size(); ++i) {
    const Flow& was = plan.flows[i];
    if (hit(was)) continue;
    EXPECT_EQ(was.links, settled.flows[i].links);
    // The port is the same where it still leads there.
    if (Route(network, was.src, was.dst, was.source_port, down) == was.links) {
      EXPECT_EQ(was.source_port, settled.flows[i].source_port);
    }
  }
  const PathPlan home = Replan(settled, connections, before, {});
  EXPECT_TRUE(ChangedFlows(plan, home).empty());
}

TEST(PlanCheckTest, LossesMoveWhoTheyHitAndNobodyElse) {
  Random random(5);
  for (const fabric::FabricSpec& spec : {HpnPod(3, 4), Fabrics()[3], Fabrics()[6]}) {
    SCOPED_TRACE(spec.name);
    const HashedNetwork net(spec);
    const Network& network = *net.network;
    const auto connections = Rings(network, spec.hosts_per_segment, 1);
    const PathPlan plan = PlanPaths(connections, net.ClusterState(), {});
    const SwitchId tor = network.tor({HostId(1), 0, 0});
    {
      SCOPED_TRACE("uplink");
      Lose(net, connections, plan, {Network::cable_of(plan.flows[0].links[1])});
    }
    {
      SCOPED_TRACE("Agg");
      Lose(net, connections, plan, CablesOf(network, network.upper(tor, 0)));
    }
    if (spec.nic_ports < 2) continue;
    {
      SCOPED_TRACE("ToR");
      Lose(net, connections, plan, CablesOf(network, tor));
    }
    {
      SCOPED_TRACE("NIC port");
      Lose(net, connections, plan, {network.host_cable({HostId(2), spec.rails - 1, 1})});
    }
  }
}

TEST(PlanCheckTest, APlaneIsLostInBothDirectionsForANicThatLostItsPort) {
  const HashedNetwork net(HpnPod(2, 4));
  const auto connections = Rings(*net.network, 4, 2);
  const CableId lost = net.network->host_cable({HostId(0), 0, 0});
  const PathPlan plan = PlanPaths(connections, net.ClusterState({lost}), {});
  EXPECT_EQ(plan.unplanned, 0);
  for (const Flow& flow : plan.flows) {
    const bool out = flow.src.host == HostId(0) && flow.src.rail == 0;
    const bool in = flow.dst.host == HostId(0) && flow.dst.rail == 0;
    if (!out && !in) continue;
    EXPECT_EQ(net.network->plane_of(flow.src), 1);
    EXPECT_EQ(net.network->plane_of(flow.dst), 1);
  }
}

TEST(PlanCheckTest, AResilientGroupKeepsPortsOnceItsTableIsKnown) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 3);
  SetHashes(spec);
  fabric::GroupRule& rule = spec.ecmp_hash["tor"].group;
  rule.resilient_buckets = 16;
  const HashedNetwork whole(spec);
  auto connections = Rings(*whole.network, 3, 1);
  for (Connection& connection : connections) connection.plane = 0;
  const PathPlan plan = PlanPaths(connections, whole.ClusterState(), {});
  EXPECT_EQ(plan.unplanned, 0);
  const SwitchId tor = whole.network->tor({HostId(0), 0, 0});
  const CableId lost = whole.network->up_cable(tor, 1);
  // Without a table it is unknown how the switch refilled which buckets.
  const PathPlan blind = Replan(plan, connections, whole.ClusterState({lost}), {});
  int lost_sight = 0;
  for (const Flow& flow : blind.flows) {
    lost_sight += !flow.planned() && whole.network->tor(flow.src) == tor ? 1 : 0;
    if (!flow.planned()) {
      EXPECT_NE(flow.reason.find("resilient"), std::string::npos) << flow.reason;
    }
  }
  EXPECT_GT(lost_sight, 0);
  // With the table the switch reports, only the flows in refilled buckets move.
  for (int b = 0; b < 16; ++b)
    rule.resilient_table.push_back(b % 4 == 1 ? (b / 4) % 3 * 2 % 4 : b % 4);
  for (int& member : rule.resilient_table) member = member == 1 ? 3 : member;
  const HashedNetwork reported(spec);
  const PathPlan after = Replan(plan, connections, reported.ClusterState({lost}), {});
  EXPECT_EQ(after.unplanned, 0);
  for (std::size_t i = 0; i < plan.flows.size(); ++i) {
    const Flow& was = plan.flows[i];
    const bool hit = std::any_of(was.links.begin(), was.links.end(),
                                 [lost](LinkId link) { return Network::cable_of(link) == lost; });
    if (!hit && reported.network->tor(was.src) == tor) {
      EXPECT_EQ(was.source_port, after.flows[i].source_port);
    }
  }
}

TEST(PlanCheckTest, SprayingNicsAndUnknownAddressesGetNoPorts) {
  fabric::FabricSpec spec = HpnPod(2, 2);
  spec.nic_spraying = true;
  const HashedNetwork spraying(spec);
  for (const Flow& flow :
       PlanPaths(Rings(*spraying.network, 2, 1), spraying.ClusterState(), {}).flows) {
    EXPECT_FALSE(flow.planned());
    EXPECT_NE(flow.reason.find("spec.host.nicSpraying"), std::string::npos) << flow.reason;
  }
  spec.nic_spraying = false;
  std::vector<fabric::HostPlace> hosts = fabric::HostsOf(spec);
  hosts[1].address_problem = "its annotation is wrong";
  hosts[3].nic_addresses.assign(8, *IpAddress::Parse("fd00::1"));
  const auto network = Network::Build(
      spec, std::make_shared<const fabric::Places>(*fabric::Places::Build(std::move(hosts))));
  ASSERT_TRUE(network.ok());
  const ForwardingModel world(*network, *SwitchHashes::Compile(*network), {});
  const auto connections = Rings(*network, 1, 1);
  for (const Flow& flow : PlanPaths(connections, world, {}).flows) {
    const bool unknown = flow.src.host == HostId(1) || flow.dst.host == HostId(1);
    const bool mixed = (flow.src.host == HostId(3)) != (flow.dst.host == HostId(3));
    EXPECT_EQ(flow.planned(), !unknown && !mixed);
    if (unknown) {
      EXPECT_EQ(flow.reason, "its annotation is wrong");
    } else if (mixed) {
      EXPECT_NE(flow.reason.find("of another kind"), std::string::npos) << flow.reason;
    }
  }
}

}  // namespace
}  // namespace yardmaster::repac
