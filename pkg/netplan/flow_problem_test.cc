#include "pkg/netplan/flow_problem.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::netplan {
namespace {

using ::testing::IsEmpty;

using fabric::HostId;
using fabric::LinkId;
using fabric::Network;
using fabric::NicPort;

constexpr int kAllUplinks = 128;

// Jobs of one worker a host on a fabric, in rings on every rail.
class FlowProblemTest : public ::testing::Test {
 protected:
  explicit FlowProblemTest(const fabric::FabricSpec& spec = fabric::SmallHpn(1, 2, 4))
      : snapshot_(plan::MakeSnapshot(spec)),
        unusable_(static_cast<std::size_t>(network().num_cables()), 0) {}

  const Network& network() const { return *snapshot_.network; }
  // A ring over these hosts, in this order.
  void AddRing(FlowProblem& flows, const std::vector<int>& hosts) {
    plan::AddJob(snapshot_, StrCat("job", snapshot_.jobs.size()), static_cast<int>(hosts.size()));
    std::vector<HostId> of_rank;
    for (const int host : hosts) of_rank.emplace_back(host);
    flows.AddJob(plan::LastJob(snapshot_), snapshot_.jobs.back().job, of_rank);
  }
  void SetDown(const NicPort& port) { unusable_[network().host_cable(port).index()] = 1; }
  // The links of a candidate, from NIC to NIC.
  std::vector<LinkId> LinksOf(const FlowSource& flow, int candidate) const {
    std::vector<LinkId> links = flow.route(candidate);
    links.insert(links.begin(), Network::up(network().host_cable(flow.from)));
    links.push_back(Network::down(network().host_cable(flow.to)));
    return links;
  }

  plan::Snapshot snapshot_;
  std::vector<std::uint8_t> unusable_;
};

TEST_F(FlowProblemTest, EveryCandidateIsAPathOfTheFabricFromNicToNic) {
  FlowProblem flows(network(), unusable_, kAllUplinks);
  AddRing(flows, {0, 1, 5});
  ASSERT_EQ(flows.jobs()[0].flows.size(), 3u * 8 * 2) << "hosts, rails, ports";
  const crux::Problem& problem = flows.problem();
  ASSERT_TRUE(crux::Validate(problem).ok());
  for (std::size_t f = 0; f < problem.jobs[0].flows.size(); ++f) {
    const FlowSource& source = flows.jobs()[0].flows[f];
    const crux::PathList& paths = problem.jobs[0].flows[f].paths;
    ASSERT_EQ(paths.size(), source.candidates);
    EXPECT_EQ(source.candidates, network().tor(source.from) == network().tor(source.to) ? 1 : 4);
    for (int p = 0; p < paths.size(); ++p) {
      const std::vector<LinkId> links = LinksOf(source, p);
      ASSERT_EQ(paths[p].size(), links.size());
      for (std::size_t i = 0; i < links.size(); ++i) {
        const crux::Link& link = problem.links[static_cast<std::size_t>(paths[p][i])];
        EXPECT_EQ(link.id, StrCat(links[i].value));
        EXPECT_EQ(link.gbps, network().gbps(links[i]));
      }
    }
  }
}

TEST_F(FlowProblemTest, ThePortsThatHaveAWayShareTheBytesOfAConnection) {
  SetDown({HostId(1), 3, 0});
  FlowProblem flows(network(), unusable_, kAllUplinks);
  AddRing(flows, {0, 1, 5});
  const JobFlows& job = flows.jobs()[0];
  std::map<int, double> sent;
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    const FlowSource& source = job.flows[f];
    const bool touched =
        source.from.rail == 3 && (source.from.host == HostId(1) || source.to.host == HostId(1));
    const double all = job.connections[static_cast<std::size_t>(source.connection)].bytes;
    const double bytes = flows.problem().jobs[0].flows[f].bytes;
    EXPECT_DOUBLE_EQ(bytes, touched ? all : all / 2);
    if (touched) {
      EXPECT_EQ(source.from.port, 1);
    }
    sent[source.connection] += bytes;
  }
  ASSERT_EQ(sent.size(), job.connections.size());
  for (const auto& [connection, bytes] : sent) {
    EXPECT_DOUBLE_EQ(bytes, job.connections[static_cast<std::size_t>(connection)].bytes);
  }
}

// Whatever is reported, every connection that has a way has one; and it has a port that loses
// packets only where all of its ways have.
TEST_F(FlowProblemTest, PortsThatLosePacketsAreUsedOnlyWhereNoOtherHasAWay) {
  Random random(7);
  int avoided = 0, kept = 0;
  for (int round = 0; round < 200; ++round) {
    std::fill(unusable_.begin(), unusable_.end(), 0);
    std::set<fabric::CableId> lossy;
    for (int host = 0; host < 8; ++host) {
      for (int port = 0; port < 2; ++port) {
        const fabric::CableId cable = network().host_cable({HostId(host), 3, port});
        const std::uint64_t state = random.Below(6);
        if (state == 0) unusable_[cable.index()] = 1;
        if (state <= 2) lossy.insert(cable);
      }
    }
    FlowProblem plain(network(), unusable_, kAllUplinks);
    AddRing(plain, {0, 1, 5});
    FlowProblem flows(network(), unusable_, kAllUplinks, {}, {lossy.begin(), lossy.end()});
    AddRing(flows, {0, 1, 5});
    const auto loses = [&](const FlowSource& flow) {
      return lossy.count(network().host_cable(flow.from)) != 0 ||
             lossy.count(network().host_cable(flow.to)) != 0;
    };
    std::map<int, std::vector<FlowKey>> all, clean, used;
    for (const FlowSource& flow : plain.jobs()[0].flows) {
      all[flow.connection].push_back(flow.key());
      if (!loses(flow)) clean[flow.connection].push_back(flow.key());
    }
    for (const FlowSource& flow : flows.jobs()[0].flows) {
      used[flow.connection].push_back(flow.key());
    }
    for (const auto& [connection, keys] : all) {
      const bool has_clean = !clean[connection].empty();
      EXPECT_EQ(used[connection], has_clean ? clean[connection] : keys);
      avoided += has_clean && clean[connection] != keys ? 1 : 0;
      kept += has_clean ? 0 : 1;
    }
  }
  EXPECT_GT(avoided, 50);
  EXPECT_GT(kept, 50);
}

TEST_F(FlowProblemTest, TheFlowsOfARailAndPortAreOneRing) {
  FlowProblem flows(network(), unusable_, kAllUplinks);
  AddRing(flows, {0, 4, 5});
  std::map<std::int32_t, std::set<std::pair<int, int>>> ports_of_ring;
  const JobFlows& job = flows.jobs()[0];
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    const NicPort& from = job.flows[f].from;
    ports_of_ring[flows.problem().jobs[0].flows[f].ring].insert({from.rail, from.port});
  }
  EXPECT_EQ(ports_of_ring.size(), 8u * 2);
  for (const auto& [ring, ports] : ports_of_ring) EXPECT_EQ(ports.size(), 1u);
}

TEST_F(FlowProblemTest, ACandidateIsFoundByItsLinksHoweverManyAreLeftOut) {
  for (const int max_candidates : {1, 2, 3, 4, kAllUplinks}) {
    FlowProblem flows(network(), unusable_, max_candidates);
    AddRing(flows, {0, 1, 5});
    for (const FlowSource& source : flows.jobs()[0].flows) {
      EXPECT_LE(source.candidates, max_candidates);
      std::set<std::size_t> taken;
      for (int i = 0; i < source.candidates; ++i) {
        EXPECT_TRUE(taken.insert(source.route_index(i)).second) << "a candidate twice";
        EXPECT_EQ(source.CandidateOf(LinksOf(source, i)), i);
      }
      for (std::size_t r = 0; r < source.routes->size(); ++r) {
        if (taken.count(r) != 0) continue;
        std::vector<LinkId> links = (*source.routes)[r];
        links.insert(links.begin(), Network::up(network().host_cable(source.from)));
        EXPECT_EQ(source.CandidateOf(links), -1) << "left out";
      }
    }
  }
}

TEST_F(FlowProblemTest, LinksThatAreNoPathOfTheFlowAreNoCandidate) {
  FlowProblem flows(network(), unusable_, kAllUplinks);
  AddRing(flows, {0, 1, 5});
  for (const FlowSource& source : flows.jobs()[0].flows) {
    const LinkId up = Network::up(network().host_cable(source.from));
    const LinkId down = Network::down(network().host_cable(source.to));
    EXPECT_EQ(source.CandidateOf({}), -1);
    EXPECT_EQ(source.CandidateOf(std::vector<LinkId>{up}), -1);
    const bool near = network().tor(source.from) == network().tor(source.to);
    EXPECT_EQ(source.CandidateOf(std::vector<LinkId>{up, down}), near ? 0 : -1);
    const fabric::SwitchId other = network().tor({HostId(7), 7, 0});
    const LinkId elsewhere = Network::up(network().up_cable(other, 0));
    if (network().tor(source.from) == other) continue;
    EXPECT_EQ(source.CandidateOf(std::vector<LinkId>{up, elsewhere, down}), -1);
  }
}

TEST_F(FlowProblemTest, HostsBeginWithDifferentUplinks) {
  FlowProblem flows(network(), unusable_, kAllUplinks);
  AddRing(flows, {0, 4, 1, 5, 2, 6});
  std::set<LinkId> first;
  for (const FlowSource& source : flows.jobs()[0].flows) {
    if (source.from.rail == 0 && source.from.port == 0 && source.from.host.value < 4) {
      first.insert(source.route(0).front());
    }
  }
  EXPECT_EQ(first.size(), 3u);
}

TEST_F(FlowProblemTest, WhereTrafficGoesOneWayEveryFlowHasAnAnswer) {
  FlowProblem flows(network(), unusable_, kAllUplinks);
  AddRing(flows, {0, 4, 5});
  const JobFlows& job = flows.jobs()[0];
  ASSERT_EQ(job.ack_paths.size(), job.flows.size());
  for (std::size_t f = 0; f < job.flows.size(); ++f) {
    EXPECT_EQ(job.ack_paths[f].from, job.flows[f].to);
    EXPECT_EQ(job.ack_paths[f].to, job.flows[f].from);
    EXPECT_EQ(job.ack_paths[f].connection, job.flows[f].connection);
  }
}

TEST_F(FlowProblemTest, WhereTrafficGoesBothWaysNothingElseAnswers) {
  FlowProblem flows(network(), unusable_, kAllUplinks);
  AddRing(flows, {0, 4});
  EXPECT_FALSE(flows.jobs()[0].flows.empty());
  EXPECT_THAT(flows.jobs()[0].ack_paths, IsEmpty());
}

TEST_F(FlowProblemTest, AJobOnOneHostHasNoFlows) {
  FlowProblem flows(network(), unusable_, kAllUplinks);
  AddRing(flows, {3});
  EXPECT_THAT(flows.jobs()[0].flows, IsEmpty());
  EXPECT_THAT(flows.problem().jobs[0].flows, IsEmpty());
  EXPECT_EQ(flows.problem().jobs[0].gpus, 8);
}

TEST_F(FlowProblemTest, LinksKeepTheirNumbersFromOneProblemToTheNext) {
  FlowProblem first(network(), unusable_, kAllUplinks);
  AddRing(first, {0, 4});
  AddRing(first, {1, 5});
  const std::vector<crux::Link> before = first.problem().links;
  FlowProblem second(network(), unusable_, kAllUplinks, first.TakeLinkNumbers());
  AddRing(second, {2, 6});
  AddRing(second, {1, 5});
  const std::vector<crux::Link>& after = second.problem().links;
  ASSERT_GT(after.size(), before.size());
  std::set<std::string> ids;
  for (std::size_t l = 0; l < after.size(); ++l) {
    if (l < before.size()) {
      EXPECT_EQ(after[l].id, before[l].id);
    }
    EXPECT_TRUE(ids.insert(after[l].id).second);
  }
}

TEST_F(FlowProblemTest, NumbersOfAnotherNetworkAreIgnored) {
  LinkNumbers other;
  other.number.assign(5, 0);
  other.links = {{"other", 1}};
  FlowProblem flows(network(), unusable_, kAllUplinks, std::move(other));
  AddRing(flows, {0, 4});
  for (const crux::Link& link : flows.problem().links) EXPECT_NE(link.id, "other");
}

// Both ports of a NIC in one plane.
class SinglePlaneFlowsTest : public FlowProblemTest {
 protected:
  SinglePlaneFlowsTest() : FlowProblemTest(fabric::SinglePlaneHpn(1, 2, 3)) {}
};

TEST_F(SinglePlaneFlowsTest, FlowsToALostPortArriveAtTheOtherAndHaveOneAcknowledgementPath) {
  SetDown({HostId(3), 3, 0});
  FlowProblem flows(network(), unusable_, kAllUplinks);
  AddRing(flows, {0, 3, 4});
  int arrive = 0;
  for (const FlowSource& flow : flows.jobs()[0].flows) {
    if (flow.to.host != HostId(3) || flow.to.rail != 3) continue;
    EXPECT_EQ(flow.to.port, 1);
    ++arrive;
  }
  EXPECT_EQ(arrive, 2);
  std::set<FlowKey> keys;
  for (const FlowSource& ack : flows.jobs()[0].ack_paths) {
    EXPECT_TRUE(keys.insert(ack.key()).second)
        << "two acknowledgement paths between the same ports";
  }
  EXPECT_EQ(keys.count({HostId(3), 3, 1, HostId(0), 3}), 1u);
}

TEST(LoneSecondsTest, IsWhatTheBusiestNicSends) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 4);  // two ports of 200 Gb/s a NIC
  EXPECT_EQ(LoneSeconds({}, spec), 0);
  const auto sends = [](int from, int rail, int to, double bytes) {
    workload::TrafficDemand demand;
    demand.from_host = HostId(from);
    demand.to_host = HostId(to);
    demand.from_rail = demand.to_rail = rail;
    demand.bytes = bytes;
    return demand;
  };
  const std::vector<workload::TrafficDemand> connections = {
      sends(0, 0, 1, 20e9), sends(0, 0, 2, 30e9), sends(0, 1, 1, 40e9), sends(3, 0, 1, 45e9)};
  EXPECT_DOUBLE_EQ(LoneSeconds(connections, spec), 1);
  spec.nic_gbps = 50;
  EXPECT_DOUBLE_EQ(LoneSeconds(connections, spec), 4);
}

}  // namespace
}  // namespace yardmaster::netplan
