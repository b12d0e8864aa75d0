#include "pkg/operator/network/socket_ports.h"

#include <set>

#include "gmock/gmock.h"

#include "pkg/operator/testing/network_fixture.h"
#include "pkg/repac/path.h"

namespace yardmaster::op {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(SocketPortsTextTest, PortsAreReadAndWhatIsNoneIsRefused) {
  EXPECT_THAT(*api::DecodeSocketPorts("29500"), ElementsAre(29500));
  EXPECT_THAT(*api::DecodeSocketPorts("29501,29500,29501"), ElementsAre(29500, 29501));
  for (const char* text : {"", ",", "0", "65536", "-1", "29500, 29501", "a", "1,2,3,4,5,6,7,8,9"}) {
    const auto ports = api::DecodeSocketPorts(text);
    EXPECT_EQ(ports.status().code(), absl::StatusCode::kInvalidArgument) << text;
    EXPECT_THAT(std::string(ports.status().message()), HasSubstr("yardmaster.dev/socket-ports"));
  }
}

class SocketPortsTest : public NetworkControllerTest {
 protected:
  void AskForPorts(const std::string& gang, const char* ports) {
    for (int rank = 0; rank < 4; ++rank) {
      Annotate(kube::Pods(), "team", StrCat(gang, "-", rank), api::kSocketPortsAnnotation, ports);
    }
  }
  std::string HostOfPod(const std::string& pod) const {
    return client_.Find(kube::Pods(), "team", pod).value()["spec"]["nodeName"].get<std::string>();
  }
  // Where the kernel's packets go, by the rule that predicts paths of any packet.
  fabric::LinkPath LinksOf(const repac::ForwardingModel& forwarding, const fabric::NicPort& from,
                           const fabric::NicPort& to, bool tcp, std::uint16_t sport,
                           std::uint16_t dport) const {
    repac::Packet packet = forwarding.PacketOf(from, to, sport);
    if (tcp) packet.protocol = repac::kProtocolTcp;
    if (tcp) packet.dport = dport;
    const auto path = repac::PredictPacket(forwarding, from, to, packet);
    EXPECT_TRUE(path.ok() && path->predictable);
    return path.ok() ? path->links : fabric::LinkPath();
  }
  // Whether a TCP connection from `port` takes the planned path of every NIC port that has one; how
  // many have.
  int CheckAllNicPorts(const repac::ForwardingModel& forwarding, const std::string& pod,
                       const api::RailPaths& rail, const api::PeerPaths& of, std::uint16_t port) {
    int planned = 0;
    for (const api::PeerPaths& peer : rail.peers) {
      if (peer.rank != of.rank || peer.address != of.address) continue;
      ++planned;
      const fabric::NicPort from{places_.FindHost(HostOfPod(pod)), rail.rail, peer.plane};
      const fabric::NicPort to{places_.FindHost(peer.host), rail.rail, peer.plane};
      EXPECT_EQ(LinksOf(forwarding, from, to, true, port, 29500),
                LinksOf(forwarding, from, to, false, peer.source_ports.at(0), 0));
    }
    return planned;
  }
};

// The same fabric with one port a NIC.
class OneNicPortTest : public SocketPortsTest {
 protected:
  OneNicPortTest() {
    api::Fabric fabric;
    fabric.metadata.name = "f";
    fabric.metadata.uid = "fabric-uid";
    fabric.metadata.generation = 2;
    fabric.spec = OnePort();
    EXPECT_TRUE(client_.Delete({kube::Fabrics(), "", "f", ""}, {}).ok());
    client_.Seed(kube::Fabrics(), api::EncodeFabric(fabric));
    network_ = std::make_unique<fabric::Network>(
        fabric::Network::Build(OnePort(), std::make_shared<const fabric::Places>(places_)).value());
  }
  static fabric::FabricSpec OnePort() {
    fabric::FabricSpec spec = Spec();
    spec.planes = spec.nic_ports = 1;
    return spec;
  }
  // A port whose connections from a-0 to its first peer take other links than those from `port`.
  std::uint16_t PortThatLeadsElsewhere(std::uint16_t port) {
    const auto hashes = repac::SwitchHashes::Compile(*network_).value();
    const repac::ForwardingModel forwarding(*network_, hashes, {});
    const api::PeerPaths peer = PathsOf("a-0").rails[0].peers[0];
    const fabric::NicPort from{places_.FindHost(HostOfPod("a-0")), 0, 0};
    const fabric::NicPort to{places_.FindHost(peer.host), 0, 0};
    const fabric::LinkPath links = LinksOf(forwarding, from, to, true, port, 29500);
    while (LinksOf(forwarding, from, to, true, port, 29500) == links) ++port;
    return port;
  }
};

TEST_F(OneNicPortTest, TcpConnectionsTakeTheWayOfTheRoceConnectionsAndBack) {
  AddGang("a", 0, 1);
  AddGang("b", 0, 1);
  AskForPorts("a", "29500,29501");
  EXPECT_THAT(RunUntilStable().problems, IsEmpty());
  const auto hashes = repac::SwitchHashes::Compile(*network_).value();
  const repac::ForwardingModel forwarding(*network_, hashes, {});
  int entries = 0, connections = 0, both_ways = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string pod = StrCat("a-", rank);
    for (const api::RailPaths& rail : PathsOf(pod).rails) {
      const fabric::NicPort from{places_.FindHost(HostOfPod(pod)), rail.rail, 0};
      for (const api::PeerPaths& peer : rail.peers) {
        const fabric::NicPort to{places_.FindHost(peer.host), rail.rail, 0};
        const auto planned = LinksOf(forwarding, from, to, false, peer.source_ports.at(0), 0);
        ASSERT_EQ(peer.tcp.size(), 2u);
        for (const api::TcpPaths& tcp : peer.tcp) {
          ++entries;
          const std::set<std::uint16_t> different(tcp.source_ports.begin(), tcp.source_ports.end());
          EXPECT_EQ(different.size(), static_cast<std::size_t>(kSocketPortsPerPath));
          for (std::uint16_t port : tcp.source_ports) {
            const auto listening = static_cast<std::uint16_t>(tcp.listen_port);
            EXPECT_EQ(LinksOf(forwarding, from, to, true, port, listening), planned);
            const auto back = LinksOf(forwarding, to, from, true, listening, port);
            for (const api::RailPaths& other : PathsOf(StrCat("a-", peer.rank)).rails) {
              for (const api::PeerPaths& here : other.peers) {
                if (other.rail != rail.rail || here.rank != rank) continue;
                ++connections;
                both_ways +=
                    back == LinksOf(forwarding, to, from, false, here.source_ports.at(0), 0) ? 1
                                                                                             : 0;
              }
            }
          }
        }
      }
    }
  }
  EXPECT_GT(entries, 0);
  // Of the way back there is a choice of 256 ports; most find it.
  EXPECT_GT(both_ways, connections * 9 / 10) << both_ways << " of " << connections;
  EXPECT_THAT(Annotation("a-0", api::kPathPlanAnnotation), HasSubstr("\"listenPort\":29500"));
  // The gang that asks for nothing gets nothing.
  EXPECT_THAT(Annotation("b-0", api::kPathPlanAnnotation), Not(HasSubstr("tcp")));
  // What stands is left alone.
  EXPECT_EQ(Round().pods, 0);
  AskForPorts("a", "29500");
  EXPECT_EQ(Round().pods, 4);
}

TEST_F(OneNicPortTest, ALostUplinkMovesTheTcpPortsAlong) {
  AddGang("a", 0, 1);
  AskForPorts("a", "29500");
  RunUntilStable();
  const fabric::CableId lost = fabric::Network::cable_of(LinksOfFirst("a").at(1));
  Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, DownLinks({network_->name(lost)}));
  Round();
  clock_.Advance(10'000);
  RunUntilStable();
  const auto hashes = repac::SwitchHashes::Compile(*network_).value();
  const repac::ForwardingModel forwarding(*network_, hashes, {lost});
  const api::PeerPaths peer = PathsOf("a-0").rails[0].peers[0];
  const fabric::NicPort from{places_.FindHost(HostOfPod("a-0")), 0, 0};
  const fabric::NicPort to{places_.FindHost(peer.host), 0, 0};
  ASSERT_EQ(peer.tcp.size(), 1u);
  for (std::uint16_t port : peer.tcp[0].source_ports) {
    EXPECT_EQ(LinksOf(forwarding, from, to, true, port, 29500),
              LinksOf(forwarding, from, to, false, peer.source_ports.at(0), 0));
  }
}

TEST_F(OneNicPortTest, APortThatCannotBeReadIsNamedAndThePlanIsMadeWithoutIt) {
  AddGang("a", 0, 1);
  AskForPorts("a", "ssh");
  const RoundReport report = Round();
  ASSERT_EQ(report.problems.size(), 4u);
  EXPECT_THAT(report.problems[0], HasSubstr("Pod team/a-0: yardmaster.dev/socket-ports"));
  EXPECT_FALSE(PathsOf("a-0").rails.empty());
  EXPECT_TRUE(PathsOf("a-0").rails[0].peers[0].tcp.empty());
}

TEST_F(OneNicPortTest, PortsThatStandAndHoldAreKept) {
  AddGang("a", 0, 1);
  AskForPorts("a", "29500");
  RunUntilStable();
  api::PodPathPlan plan = PathsOf("a-0");
  std::vector<std::uint16_t>& ports = plan.rails[0].peers[0].tcp.at(0).source_ports;
  const std::vector<std::uint16_t> searched = ports;
  // As good as those that a search finds, and others.
  std::swap(ports.at(0), ports.at(1));
  const std::vector<std::uint16_t> standing = ports;
  Annotate(kube::Pods(), "team", "a-0", api::kPathPlanAnnotation, *api::EncodePathPlan(plan));
  EXPECT_EQ(Round().pods, 0);
  EXPECT_EQ(PathsOf("a-0").rails[0].peers[0].tcp.at(0).source_ports, standing);

  // One that leads elsewhere.
  ports.at(0) = PortThatLeadsElsewhere(ports.at(0));
  Annotate(kube::Pods(), "team", "a-0", api::kPathPlanAnnotation, *api::EncodePathPlan(plan));
  EXPECT_EQ(Round().pods, 1);
  EXPECT_EQ(PathsOf("a-0").rails[0].peers[0].tcp.at(0).source_ports, searched);
}

TEST_F(SocketPortsTest, WithSeveralNicPortsATcpPortSuitsWhicheverTheBondChooses) {
  ASSERT_GT(network_->spec().nic_ports, 1);
  AddGang("a", 0, 1);
  AskForPorts("a", "29500");
  EXPECT_THAT(RunUntilStable().problems, IsEmpty());
  const auto hashes = repac::SwitchHashes::Compile(*network_).value();
  const repac::ForwardingModel forwarding(*network_, hashes, {});
  int connections = 0, nic_ports = 0;
  for (int rank = 0; rank < 4; ++rank) {
    const std::string pod = StrCat("a-", rank);
    for (const api::RailPaths& rail : PathsOf(pod).rails) {
      for (const api::PeerPaths& peer : rail.peers) {
        for (const api::TcpPaths& tcp : peer.tcp) {
          for (std::uint16_t port : tcp.source_ports) {
            ++connections;
            nic_ports += CheckAllNicPorts(forwarding, pod, rail, peer, port);
          }
        }
      }
    }
  }
  EXPECT_GT(connections, 0);
  EXPECT_EQ(nic_ports, connections * network_->spec().nic_ports);
}

TEST(SocketPortsTextTest, AreLeftOutWhereThePlanWouldBeTooLong) {
  GangNetwork network;
  network.paths_of_rank.resize(1);
  api::RailPaths rail;
  for (int i = 0; i < 400; ++i) {
    api::PeerPaths peer{i, "a-host-with-a-name", "10.0.0.1", 0, {50000}, {}, {}};
    for (int port = 0; port < api::kMaxSocketPorts; ++port) {
      peer.tcp.push_back({29500 + port, {50001, 50002, 50003, 50004}});
    }
    rail.peers.push_back(peer);
  }
  network.paths_of_rank[0].rails.push_back(rail);
  const auto change = AnnotationsToWrite(network, 0, {}, {});
  ASSERT_TRUE(change.ok()) << change.status();
  const auto written = api::DecodePathPlan(change->annotations.at(api::kPathPlanAnnotation));
  EXPECT_EQ(written->rails[0].peers.size(), 400u);
  EXPECT_TRUE(written->rails[0].peers[0].tcp.empty());
}

}  // namespace
}  // namespace yardmaster::op
