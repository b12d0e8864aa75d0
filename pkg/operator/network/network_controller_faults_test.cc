// What the controller makes of lost links, wrong wiring and predictions, profiles and starving
// jobs.
#include <cmath>
#include <map>
#include <set>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/profile_report.h"
#include "pkg/operator/testing/network_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

TEST_F(NetworkControllerTest, ALostUplinkMovesItsFlowsAtOnceAndTheyReturnWhenItIsTrusted) {
  for (const char* gang : {"a", "b"}) AddGang(gang, 0, 1);
  AddGang("c", 2, 3);
  RunUntilStable();
  const auto before = AllPorts();
  const std::string uplink = FirstUplink("a");
  const std::uint16_t alternate = PathsOf("a-0").rails[0].peers[0].alternate_ports[0];
  Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, DownLinks({uplink}));
  const RoundReport lost = Round();
  EXPECT_EQ(lost.cables_down, 1);
  EXPECT_EQ(PathsOf("a-0").rails[0].peers[0].source_ports[0], alternate);
  EXPECT_EQ(ConditionOf("LinksUp").status, api::ConditionStatus::kFalse);
  EXPECT_NE(ConditionOf("LinksUp").message.find(uplink), std::string::npos);
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_EQ(notices_[0].reason, "LinksDown");
  // No pod in the other segments is written to, then or later.
  for (const std::string& pod : WrittenPods()) EXPECT_NE(pod[0], 'c');
  ASSERT_TRUE(lost.again_ms.has_value());
  clock_.Advance(*lost.again_ms);
  Round();  // switches have noticed: the group has shrunk
  for (const std::string& pod : WrittenPods()) EXPECT_NE(pod[0], 'c');
  RunUntilStable();
  Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, nullptr);
  const RoundReport held = Round();
  EXPECT_EQ(held.cables_held, 1);
  EXPECT_EQ(ConditionOf("LinksUp").reason, "HeldBack");
  EXPECT_NE(PathsOf("a-0").rails[0].peers[0].source_ports, std::vector<std::uint16_t>{});
  ASSERT_TRUE(held.again_ms.has_value());
  clock_.Advance(*held.again_ms);
  Round();
  RunUntilStable();
  for (const auto& [flow, ports] : AllPorts()) EXPECT_EQ(ports, before.at(flow)) << flow;
}

TEST_F(NetworkControllerTest, AFlappingUplinkIsHeldBackLongerEveryTime) {
  AddGang("a", 0, 1);
  RunUntilStable();
  const std::string uplink = FirstUplink("a");
  std::int64_t last_hold = 0;
  for (int i = 0; i < 3; ++i) {
    Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, DownLinks({uplink}));
    Round();
    clock_.Advance(5'000);
    Round();
    Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, nullptr);
    const RoundReport held = Round();
    EXPECT_GT(held.again_ms.value_or(0), last_hold);
    last_hold = held.again_ms.value_or(0);
    clock_.Advance(1'000);
  }
}

TEST_F(NetworkControllerTest, ADownSwitchTakesAllItsCablesAndUnknownNamesAreTold) {
  AddGang("a", 0, 1);
  RunUntilStable();
  const auto cable = fabric::Network::cable_of(LinksOfFirst("a").at(1));
  const auto port = network_->switch_port_of(cable);
  const std::string agg = network_->name(network_->upper(port.id, port.up_port));
  Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation,
           json{{"version", 1}, {"switches", {agg, "no-such-switch"}}}.dump());
  const RoundReport report = Round();
  EXPECT_GT(report.cables_down, 4);
  EXPECT_EQ(ConditionOf("LinksUp").reason, "ReportUnusable");
  EXPECT_NE(ConditionOf("LinksUp").message.find("no-such-switch"), std::string::npos);
  for (const fabric::LinkId link : LinksOfFirst("a")) {
    EXPECT_NE(network_->far_end(link), network_->upper(port.id, port.up_port));
  }
  for (const char* garbage : {"{", "[]", R"({"version":1,"links":"x"})", R"({"version":9})",
                              R"({"version":1,"cables":[]})"}) {
    Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, garbage);
    EXPECT_EQ(Round().problems.size(), 1u) << garbage;
    EXPECT_EQ(ConditionOf("LinksUp").reason, "ReportUnusable") << garbage;
  }
}

TEST_F(NetworkControllerTest, ALostNicPortTakesItsPlaneFromItsFlowsAndOnlyThosePodsAreWritten) {
  for (const char* gang : {"a", "b"}) AddGang(gang, 0, 1);
  RunUntilStable();
  const json pod = client_.Find(kube::Pods(), "team", "a-1").value();
  Annotate(kube::Nodes(), "", pod["spec"]["nodeName"], api::kDownPortsAnnotation, "r3p1");
  Round();
  // The pod itself, the one that sends to it, and the one that answers it.
  EXPECT_EQ(WrittenPods(), (std::set<std::string>{"a-0", "a-1", "a-2"}));
  for (const api::RailPaths& rail : PathsOf("a-1").rails) {
    for (const api::PeerPaths& peer : rail.peers) {
      EXPECT_FALSE(rail.rail == 3 && peer.plane == 1);
    }
  }
}

TEST_F(NetworkControllerTest, AWrongPredictionWithdrawsTheRoleUntilPacketsAgreeAgain) {
  AddGang("a", 0, 1);
  RunUntilStable();
  const auto before = AllPorts();
  const api::PeerPaths peer = PathsOf("a-0").rails[0].peers[0];
  const json pod = client_.Find(kube::Pods(), "team", "a-0").value();
  const fabric::LinkPath links = LinksOfFirst("a");
  const auto observed = [&](fabric::LinkId uplink) {
    json paths = json::array();
    paths.push_back(
        {{"from", StrCat(pod["spec"]["nodeName"].get<std::string>(), "/0/", peer.plane)},
         {"to", StrCat(peer.host, "/0/", peer.plane)},
         {"sourcePort", peer.source_ports[0]},
         {"links", {network_->name(uplink)}}});
    return json{{"paths", paths}}.dump();
  };
  const auto port = network_->switch_port_of(fabric::Network::cable_of(links[1]));
  const fabric::LinkId wrong = fabric::Network::up(
      network_->up_cable(port.id, (port.up_port + 1) % network_->num_up_ports(port.id)));
  const std::string node = pod["spec"]["nodeName"];
  Annotate(kube::Fabrics(), "", "f", api::kObservedPathsAnnotation, observed(wrong));
  notices_.clear();
  Round();
  EXPECT_EQ(ConditionOf("PathsTrusted").status, api::ConditionStatus::kFalse);
  EXPECT_EQ(ConditionOf("PathsTrusted").reason, "PredictionsDiffer");
  EXPECT_EQ(ConditionOf("PathsTrusted").message.find("tor: "), 0u);
  EXPECT_EQ(ConditionOf("PathsPlanned").reason, "NotPredictable");
  EXPECT_TRUE(PathsOf("a-0").rails.empty());
  ASSERT_FALSE(notices_.empty());
  EXPECT_TRUE(notices_[0].warning);
  RunUntilStable();
  Annotate(kube::Fabrics(), "", "f", api::kObservedPathsAnnotation, observed(links[1]));
  notices_.clear();
  Round();
  EXPECT_NE(ConditionOf("PathsTrusted").status, api::ConditionStatus::kFalse);
  ASSERT_FALSE(notices_.empty());
  EXPECT_FALSE(notices_[0].warning);
  RunUntilStable();
  EXPECT_EQ(AllPorts(), before);
  Annotate(kube::Nodes(), "", node, api::kObservedPathsAnnotation, R"({"paths":[{"from":3}]})");
  const RoundReport garbage = Round();
  ASSERT_EQ(garbage.problems.size(), 1u);
  EXPECT_EQ(garbage.problems[0].find(StrCat("Node ", node)), 0u) << garbage.problems[0];
}

TEST_F(NetworkControllerTest, OneNodeWithdrawsNoRoleAndSpeaksOfNoPathButItsOwn) {
  AddGang("a", 0, 1);
  AddGang("b", 0, 1);
  RunUntilStable();
  const auto host_of = [&](const std::string& pod) {
    return client_.Find(kube::Pods(), "team", pod).value()["spec"]["nodeName"].get<std::string>();
  };
  // One path over two uplinks: at least one of them is not the predicted one.
  const auto contradiction = [&](const std::string& pod) {
    const api::PeerPaths peer = PathsOf(pod).rails[0].peers[0];
    const fabric::SwitchId tor = network_->tor({places_.FindHost(host_of(pod)), 0, peer.plane});
    json paths = json::array();
    for (const int port : {0, 1}) {
      paths.push_back(
          {{"from", StrCat(host_of(pod), "/0/", peer.plane)},
           {"to", StrCat(peer.host, "/0/", peer.plane)},
           {"sourcePort", peer.source_ports[0]},
           {"links", {network_->name(fabric::Network::up(network_->up_cable(tor, port)))}}});
    }
    return json{{"paths", paths}}.dump();
  };
  const std::string one = contradiction("a-0"), other = contradiction("b-0");
  Annotate(kube::Nodes(), "", host_of("a-0"), api::kObservedPathsAnnotation, one);
  Round();
  EXPECT_NE(ConditionOf("PathsTrusted").status, api::ConditionStatus::kFalse) << "one Node alone";
  Annotate(kube::Nodes(), "", host_of("a-2"), api::kObservedPathsAnnotation, other);
  const RoundReport report = Round();
  EXPECT_NE(ConditionOf("PathsTrusted").status, api::ConditionStatus::kFalse)
      << "a path of another Node";
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("do not begin at this Node"), std::string::npos);
  Annotate(kube::Nodes(), "", host_of("b-0"), api::kObservedPathsAnnotation, other);
  Round();
  EXPECT_EQ(ConditionOf("PathsTrusted").status, api::ConditionStatus::kFalse) << "two Nodes";
}

TEST_F(NetworkControllerTest, SwitchesThatAreAbsentCarryNothingAndAreNoFault) {
  AddGang("a", 0, 1);
  RunUntilStable();
  const fabric::CableId first = network_->FindCable(FirstUplink("a"));
  const fabric::Network::SwitchPort tor = network_->switch_port_of(first);
  const std::string agg = network_->name(network_->upper(tor.id, tor.up_port));
  api::Fabric fabric = *api::DecodeFabric(client_.Find(kube::Fabrics(), "", "f").value());
  fabric.metadata.generation = 2;
  fabric.spec.absent_switches = {agg};
  fabric.spec.switch_names = {{network_->name(tor.id), "leaf-a1"}};
  client_.Seed(kube::Fabrics(), api::EncodeFabric(fabric));
  const RoundReport report = Round();
  RunUntilStable();
  EXPECT_EQ(report.cables_down, 0);
  EXPECT_EQ(ConditionOf("LinksUp").reason, "AllUp");
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_FALSE(PathsOf("a-" + std::to_string(rank)).rails.empty()) << rank;
  }
  // With the switches' groups as they are now.
  const fabric::Network now =
      *fabric::Network::Build(fabric.spec, std::make_shared<const fabric::Places>(places_));
  std::vector<std::uint8_t> marked;
  now.MarkAbsent(marked);
  std::vector<fabric::CableId> absent;
  for (std::size_t c = 0; c < marked.size(); ++c) {
    if (marked[c] != 0) absent.emplace_back(static_cast<std::int32_t>(c));
  }
  ASSERT_FALSE(absent.empty());
  for (const fabric::LinkId link : LinksOfFirst("a", absent)) {
    EXPECT_TRUE(now.exists(fabric::Network::cable_of(link))) << now.name(link);
  }
  // A link that is lost has the name of its operators.
  const std::string other = "leaf-a1:u" + std::to_string((tor.up_port + 1) % 4);
  Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, DownLinks({other}));
  EXPECT_EQ(Round().cables_down, 1);
  EXPECT_NE(ConditionOf("LinksUp").message.find(other), std::string::npos)
      << ConditionOf("LinksUp").message;
}

TEST_F(NetworkControllerTest, AnOverrideForASwitchThatDoesNotExistIsReported) {
  AddGang("a", 0, 1);
  RunUntilStable();
  EXPECT_FALSE(PathsOf("a-0").rails.empty());
  api::Fabric fabric = *api::DecodeFabric(client_.Find(kube::Fabrics(), "", "f").value());
  fabric.metadata.generation = 2;
  fabric.spec.ecmp_hash_overrides["nowhere"] = fabric.spec.ecmp_hash["tor"];
  client_.Seed(kube::Fabrics(), api::EncodeFabric(fabric));
  const RoundReport report = Round();
  EXPECT_TRUE(PathsOf("a-0").rails.empty());
  EXPECT_EQ(ConditionOf("PathsPlanned").status, api::ConditionStatus::kFalse);
  EXPECT_EQ(ConditionOf("PathsPlanned").reason, "HashesInvalid");
  EXPECT_NE(ConditionOf("PathsPlanned").message.find("nowhere"), std::string::npos);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_EQ(report.problems[0].find("Fabric f: spec.ecmpHashOverrides"), 0u) << report.problems[0];
}

TEST_F(NetworkControllerTest, MiswiredHostsAreKeptOutAndThePortsAreNamed) {
  AddGang("a", 0, 1);
  AddGang("b", 2, 3);
  RunUntilStable();
  const std::string one = HostOf(0, 0);
  const std::string other = HostOf(0, 1);
  const std::vector<std::string> ends = repac::UpperEnds(*network_);
  const auto end_of = [&](const std::string& host) {
    return ends[network_->host_cable({places_.FindHost(host), 2, 1}).index()];
  };
  const auto seen = [&](const std::string& host, const std::string& remote) {
    const json ports = json::array({{{"local", host + ":r2p1"}, {"remote", remote}}});
    return json{{"neighbours", ports}}.dump();
  };
  // A Node may speak of its own ports only.
  Annotate(kube::Nodes(), "", one, api::kNeighboursAnnotation, seen(other, end_of(one)));
  RoundReport report = Round();
  EXPECT_EQ(report.miswired_ports, 0);
  ASSERT_EQ(report.problems.size(), 1u);
  EXPECT_NE(report.problems[0].find("its own ports only"), std::string::npos);
  Annotate(kube::Nodes(), "", one, api::kNeighboursAnnotation, seen(one, end_of(other)));
  Annotate(kube::Nodes(), "", other, api::kNeighboursAnnotation, seen(other, end_of(one)));
  report = Round();
  EXPECT_EQ(report.miswired_ports, 2);
  const api::Condition wiring = ConditionOf("WiringVerified");
  EXPECT_EQ(wiring.reason, "Miswired");
  EXPECT_NE(wiring.message.find(one + ":r2p1"), std::string::npos) << wiring.message;
  EXPECT_NE(wiring.message.find("exchange the plugs"), std::string::npos) << wiring.message;
  for (const api::RailPaths& rail : PathsOf("a-0").rails) EXPECT_NE(rail.rail, 2);
  for (const std::string& pod : WrittenPods()) EXPECT_EQ(pod[0], 'a');
  for (const std::string& host : {one, other}) {
    Annotate(kube::Nodes(), "", host, api::kNeighboursAnnotation, nullptr);
  }
  RunUntilStable();
  EXPECT_EQ(PathsOf("a-0").rails.size(), 8u);
}

TEST_F(NetworkControllerTest, HostsWhoseNicsBalanceByThemselvesGetNoPorts) {
  AddGang("a", 0, 1);
  RunUntilStable();
  const json pod = client_.Find(kube::Pods(), "team", "a-0").value();
  Annotate(kube::Nodes(), "", pod["spec"]["nodeName"], api::kNicLoadBalancingAnnotation,
           "spectrum-x");
  const RoundReport report = Round();
  EXPECT_EQ(report.balancing_hosts, 1);
  EXPECT_EQ(ConditionOf("PathsPlanned").reason, "NicLoadBalancing");
  EXPECT_NE(ConditionOf("PathsPlanned").message.find("spectrum-x"), std::string::npos);
  EXPECT_TRUE(PathsOf("a-0").rails.empty());
  EXPECT_FALSE(PathsOf("a-1").rails.empty());
  EXPECT_NE(Annotation("a-0", api::kPriorityAnnotation), "");
  Annotate(kube::Nodes(), "", pod["spec"]["nodeName"], api::kNicLoadBalancingAnnotation, "none");
  RunUntilStable();
  EXPECT_FALSE(PathsOf("a-0").rails.empty());
}

TEST_F(NetworkControllerTest, MeasuredProfilesAreBlendedAndGarbageCountsAsNotMeasured) {
  AddGang("a", 0, 1);
  RunUntilStable();
  const double analytic = NetworkOf("a")["flopPerIteration"];
  const double by_bytes = NetworkOf("a")["communicationSeconds"];
  api::ProfileReport measured;
  measured.samples = 10;
  measured.flop = analytic;  // of one worker, so four times as much in all
  measured.communication_seconds = 1;
  Annotate(kube::Pods(), "team", "a-2", api::kProfileAnnotation,
           api::EncodeProfileReport(measured));
  RunUntilStable();
  EXPECT_EQ(NetworkOf("a")["source"], "Blended");
  const double blended = NetworkOf("a")["flopPerIteration"];
  EXPECT_NEAR(blended, 2 * analytic, 1e-6 * analytic);  // half of the way, logarithmically
  const auto seconds = [&] { return NetworkOf("a")["communicationSeconds"].get<double>(); };
  EXPECT_NEAR(seconds(), std::sqrt(by_bytes * 1), 1e-6);
  measured.samples = 1000;
  Annotate(kube::Pods(), "team", "a-2", api::kProfileAnnotation,
           api::EncodeProfileReport(measured));
  RunUntilStable();
  EXPECT_EQ(NetworkOf("a")["source"], "Measured");
  EXPECT_NEAR(NetworkOf("a")["flopPerIteration"].get<double>(), 4 * analytic, 1e-6 * analytic);
  EXPECT_NEAR(seconds(), 1, 1e-6);
  EXPECT_NEAR(NetworkOf("a")["intensity"].get<double>(), 4 * analytic, 1e-6 * analytic);
  for (const char* garbage :
       {"", "{}", "nonsense", R"({"version":1,"samples":5,"flop":-1})",
        R"({"version":1,"samples":5,"flop":1e300})", R"({"version":2,"samples":5})"}) {
    Annotate(kube::Pods(), "team", "a-2", api::kProfileAnnotation, garbage);
    EXPECT_EQ(Round().problems.size(), 1u) << garbage;
    EXPECT_EQ(NetworkOf("a")["source"], "Analytic") << garbage;
  }
}

TEST_F(NetworkControllerTest, AJobThatStarvesIsLiftedAndTold) {
  NetworkController::Options options;
  options.starvation.patience_seconds = 60;
  options.starvation.lift_seconds = 300;
  Start(options);
  std::string low = "a";
  for (const char* gang : {"a", "b", "c"}) AddGang(gang, 0, 1);
  RunUntilStable();
  // The one on the lowest level measures iterations of far more than their ideal length.
  for (const char* gang : {"b", "c"}) {
    if (NetworkOf(gang)["level"] < NetworkOf(low)["level"]) low = gang;
  }
  const int level = NetworkOf(low)["level"];
  ASSERT_LT(level, 7);
  api::ProfileReport measured;
  measured.samples = 1;
  measured.iteration_seconds = 1e4;
  for (int rank = 0; rank < 4; ++rank) {
    Annotate(kube::Pods(), "team", StrCat(low, "-", rank), api::kProfileAnnotation,
             api::EncodeProfileReport(measured));
  }
  EXPECT_EQ(Round().starving, 1);
  EXPECT_EQ(NetworkOf(low)["level"], level);
  notices_.clear();
  RoundReport lifted;
  for (int i = 0; i < 8 && lifted.lifted == 0; ++i) {
    clock_.Advance(10'000);
    lifted = Round();
  }
  EXPECT_EQ(lifted.lifted, 1);
  EXPECT_EQ(NetworkOf(low)["level"], level + 1);
  EXPECT_EQ(Annotation(low + "-0", api::kPriorityAnnotation), StrCat(level + 1));
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_EQ(notices_[0].reason, "NetworkStarved");
  EXPECT_EQ(notices_[0].name, low);
}

TEST_F(NetworkControllerTest, AnOldReportDoesNotKeepAGangStraggling) {
  AddGang("a", 0, 1);
  const auto report = [&](int rank, double compute_seconds) {
    api::ProfileReport profile;
    profile.samples = 40;
    profile.compute_seconds = compute_seconds;
    profile.time_ms = clock_.WallMs();
    Annotate(kube::Pods(), "team", StrCat("a-", rank), api::kProfileAnnotation,
             api::EncodeProfileReport(profile));
  };
  const auto straggling = [&] {
    const auto gang = client_.Find(kube::Gangs(), "team", "a").value();
    for (const nlohmann::json& condition : gang["status"]["conditions"]) {
      if (condition["type"] == api::kStragglingCondition) return condition.value("status", "");
    }
    return std::string("none");
  };
  for (int rank = 0; rank < 4; ++rank) report(rank, rank == 2 ? 2 : 1);
  RunUntilStable();
  EXPECT_EQ(straggling(), "True");
  clock_.Advance(kReportLifeMs + 1);
  for (const int rank : {0, 1, 3}) report(rank, 1);
  RunUntilStable();
  EXPECT_EQ(straggling(), "False") << "the agent of its host has said nothing since";
  report(2, 2);
  RunUntilStable();
  EXPECT_EQ(straggling(), "True");
  for (int rank = 0; rank < 4; ++rank) {
    Annotate(kube::Pods(), "team", StrCat("a-", rank), api::kProfileAnnotation, nullptr);
  }
  RunUntilStable();
  EXPECT_EQ(straggling(), "Unknown");
}

TEST_F(NetworkControllerTest, AHostWithoutAPlaneHoldsItsJobBackWhileThatLasts) {
  nlohmann::json fabric = client_.Find(kube::Fabrics(), "", "f").value();
  fabric["spec"]["host"]["nicSpraying"] = true;
  client_.Seed(kube::Fabrics(), fabric);
  HostHealth hosts;
  for (const nlohmann::json& node : client_.All(kube::Nodes())) {
    hosts.Observe(node["metadata"]["name"], "s", HostHealth::Report::kReady, clock_.SteadyMs());
  }
  NetworkController::Options options;
  options.hosts = &hosts;
  Start(options);
  AddGang("a", 0, 1);
  const std::string host = HostOf(0, 0);
  const auto verdict = [&] {
    return hosts.AssessHeldBack(
        "team/a", host, [](const HeldBack&) { return ""; }, clock_.SteadyMs());
  };
  RunUntilStable();
  EXPECT_FALSE(verdict().holds_back);
  const std::int64_t grace_ms = hosts.bandwidth_limits().grace_ms;
  for (int i = 0; i < 5; ++i) {  // it flaps
    Annotate(kube::Nodes(), "", host, api::kDownPortsAnnotation, "r3p1");
    RunUntilStable();
    clock_.Advance(grace_ms / 2);
    Round();
    EXPECT_TRUE(verdict().holds_back);
    EXPECT_EQ(verdict().state, HostHealthState::kHealthy);
    Annotate(kube::Nodes(), "", host, api::kDownPortsAnnotation, nullptr);
    RunUntilStable();
    EXPECT_FALSE(verdict().holds_back);
  }
  Annotate(kube::Nodes(), "", host, api::kDownPortsAnnotation, "r3p1");
  RunUntilStable();
  clock_.Advance(10'000);  // switches have noticed
  Round();
  clock_.Advance(grace_ms);
  Round();
  EXPECT_EQ(verdict().state, HostHealthState::kLost);
  EXPECT_NE(verdict().fault_name.find("50 % of its bandwidth"), std::string::npos);
}

}  // namespace
}  // namespace yardmaster::op
