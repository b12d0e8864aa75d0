#include "pkg/operator/network_controller.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

#include "nlohmann/json.hpp"

#include "pkg/api/connection_report.h"
#include "pkg/api/names.h"
#include "pkg/api/path_plan.h"
#include "pkg/api/profile_report.h"
#include "pkg/api/slot.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/repac/path.h"

namespace yardmaster::op {
namespace {

using kube::Verb;
using nlohmann::json;

// Four segments of eight hosts with known hashes, gangs placed on them, and a controller that sees
// what the API server has.
class NetworkControllerTest : public ::testing::Test {
 protected:
  NetworkControllerTest() : client_(clock_), places_(fabric::PlacesOf(Spec())) {
    api::Fabric fabric;
    fabric.metadata.name = "f";
    fabric.metadata.uid = "fabric-uid";
    fabric.metadata.generation = 1;
    fabric.spec = Spec();
    client_.Seed(kube::Fabrics(), api::EncodeFabric(fabric));
    for (const fabric::HostPlace& host : fabric::HostsOf(Spec())) {
      client_.Seed(
          kube::Nodes(),
          {{"apiVersion", "v1"},
           {"kind", "Node"},
           {"metadata",
            {{"name", host.name},
             {"labels",
              {{api::kFabricPodLabel, host.fabric_pod}, {api::kSegmentLabel, host.segment}}}}},
           {"status",
            {{"allocatable", {{api::kGpuResource, "8"}}},
             {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}});
    }
    network_ = std::make_unique<fabric::Network>(
        fabric::Network::Build(Spec(), std::make_shared<const fabric::Places>(places_)).value());
    Start({});
  }

  static fabric::FabricSpec Spec() {
    fabric::FabricSpec spec = fabric::SmallHpn(1, 4, 8);
    spec.name = "f";
    fabric::HashSpec hash;
    hash.kind = fabric::HashKind::kCrc;
    spec.ecmp_hash["tor"] = hash;
    hash.seed = 7;
    spec.ecmp_hash["agg"] = hash;
    return spec;
  }

  // A controller that knows nothing.
  void Start(NetworkController::Options options) {
    cache_ = std::make_unique<state::ClusterCache>();
    options.writes.threads = 1;
    controller_ = std::make_unique<NetworkController>(
        client_, *cache_, clock_, options,
        NetworkHandlers{
            .on_notice = [this](const NetworkNotice& notice) { notices_.push_back(notice); }});
  }

  std::string HostOf(int segment, int i) const {
    return places_.name(places_.hosts_of(fabric::SegmentId(segment))[i]);
  }

  // Two hosts in each of two segments; neighbours in the ring stand apart.
  void AddGang(const std::string& name, int one, int other) {
    std::vector<std::string> hosts;
    for (int i = 0; i < 2; ++i) {
      hosts.push_back(HostOf(one, next_[one]++));
      hosts.push_back(HostOf(other, next_[other]++));
    }
    json assignments = json::array();
    for (int rank = 0; rank < 4; ++rank) {
      const auto host = places_.FindHost(hosts[static_cast<std::size_t>(rank)]);
      const std::string segment = places_.name(places_.segment_of(host));
      assignments.push_back({{"rank", rank},
                             {"host", hosts[static_cast<std::size_t>(rank)]},
                             {"fabricPod", "p0"},
                             {"segment", segment},
                             {"stages", {0}}});
      AddPod(name, rank, hosts[static_cast<std::size_t>(rank)]);
    }
    client_.Seed(
        kube::Gangs(),
        {{"apiVersion", api::kGroupVersion},
         {"kind", "Gang"},
         {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", "gang-" + name}}},
         {"spec",
          {{"owner",
            {{"apiVersion", api::kGroupVersion},
             {"kind", "TrainingJob"},
             {"name", name},
             {"uid", "job-" + name}}},
           {"workers", 4},
           {"gpusPerWorker", 8},
           {"parallelism", {{"tensor", 8}, {"data", 4}}}}},
         {"status", {{"planGeneration", 1}, {"outcome", "Placed"}, {"assignments", assignments}}}});
  }

  void AddPod(const std::string& gang, int rank, const std::string& host) {
    client_.Seed(kube::Pods(),
                 {{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata",
                   {{"name", StrCat(gang, "-", rank)},
                    {"namespace", "team"},
                    {"uid", StrCat("pod-", gang, "-", rank)},
                    {"annotations",
                     {{api::kSlotAnnotation, api::EncodeSlot({gang, rank, "p0", "s", {0}})}}}}},
                  {"spec",
                   {{"nodeName", host},
                    {"containers",
                     json::array({{{"name", "c"},
                                   {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}},
                  {"status", {{"phase", "Running"}}}});
  }

  void RemoveGang(const std::string& name) {
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", name, ""}, {}).ok());
    for (int rank = 0; rank < 4; ++rank) {
      ASSERT_TRUE(client_.Delete({kube::Pods(), "team", StrCat(name, "-", rank), ""}, {}).ok());
    }
  }

  void Annotate(const kube::Resource& resource, const std::string& ns, const std::string& name,
                const char* key, const json& value) {
    const kube::Target target{resource, ns, name, ""};
    const json patch = {{"metadata", {{"annotations", {{key, value}}}}}};
    ASSERT_TRUE(client_.Patch(target, kube::MergePatch(patch), {}).ok());
  }

  // The informers catch up, and a round is made.
  RoundReport Round() {
    const auto sync = [this](state::Kind kind, const kube::Resource& resource) {
      std::set<std::string>& known = known_[kind];
      std::set<std::string> now;
      for (const json& object : client_.All(resource)) {
        cache_->Deliver(kind, object);
        now.insert(kube::KeyOf(object));
      }
      for (const std::string& key : known) {
        if (now.count(key) != 0) continue;
        const std::size_t slash = key.find('/');
        json gone = {{"metadata", {{"name", key.substr(slash == key.npos ? 0 : slash + 1)}}}};
        if (slash != key.npos) gone["metadata"]["namespace"] = key.substr(0, slash);
        cache_->Remove(kind, gone);
      }
      known = now;
    };
    sync(state::Kind::kFabric, kube::Fabrics());
    sync(state::Kind::kNode, kube::Nodes());
    sync(state::Kind::kGang, kube::Gangs());
    sync(state::Kind::kPod, kube::Pods());
    client_.ClearCalls();
    return controller_->Round();
  }
  // Rounds until nothing more is to be written.
  RoundReport Settle() {
    RoundReport report;
    for (int i = 0; i < 20; ++i) {
      report = Round();
      if (report.pods == 0 && report.statuses == 0) return report;
      clock_.Advance(1'000);
    }
    ADD_FAILURE() << "does not settle";
    return report;
  }

  int Writes() const {
    return client_.CountCalls(Verb::kPatch, "*") + client_.CountCalls(Verb::kReplace, "*");
  }
  std::set<std::string> WrittenPods() const {
    std::set<std::string> names;
    for (const kube::Call& call : client_.calls()) {
      if (call.verb == Verb::kPatch && kube::WhereOf(call.target) == "pods") {
        names.insert(call.target.name);
      }
    }
    return names;
  }
  std::string Annotation(const std::string& pod, const char* key) const {
    const auto object = client_.Find(kube::Pods(), "team", pod);
    if (!object) return "";
    return (*object)["metadata"]["annotations"].value(key, "");
  }
  api::PathPlan PathsOf(const std::string& pod) const {
    const auto plan = api::DecodePathPlan(Annotation(pod, api::kPathPlanAnnotation));
    return plan.ok() ? *plan : api::PathPlan{};
  }
  // "pod rail plane" -> source ports.
  std::map<std::string, std::vector<std::uint16_t>> AllPorts() const {
    std::map<std::string, std::vector<std::uint16_t>> ports;
    for (const json& pod : client_.All(kube::Pods())) {
      const std::string name = pod["metadata"]["name"];
      for (const api::RailPaths& rail : PathsOf(name).rails) {
        for (const api::PeerPaths& peer : rail.peers) {
          ports[StrCat(name, " ", rail.rail, " ", peer.plane)] = peer.source_ports;
        }
      }
    }
    return ports;
  }
  api::Condition ConditionOf(const char* type) const {
    const json fabric = client_.Find(kube::Fabrics(), "", "f").value();
    const auto decoded = api::DecodeFabric(fabric);
    const api::Condition* found =
        decoded.ok() ? api::FindCondition(decoded->status.conditions, type) : nullptr;
    return found == nullptr ? api::Condition{} : *found;
  }
  json NetworkOf(const std::string& gang) const {
    return client_.Find(kube::Gangs(), "team", gang).value()["status"].value("network", json());
  }
  // The links that rank 0's first connection of rail 0 takes.
  fabric::LinkPath LinksOfFirst(const std::string& gang) const {
    const api::PathPlan plan = PathsOf(gang + "-0");
    const json object = client_.Find(kube::Pods(), "team", gang + "-0").value();
    const api::PeerPaths& peer = plan.rails.at(0).peers.at(0);
    const auto hashes = repac::SwitchHashes::Compile(*network_).value();
    const repac::ForwardingModel world(*network_, hashes, {});
    const auto path = repac::PredictPath(
        world, {places_.FindHost(object["spec"]["nodeName"].get<std::string>()), 0, peer.plane},
        {places_.FindHost(peer.host), 0, peer.plane}, peer.source_ports.at(0));
    return path->links;
  }
  std::string FirstUplink(const std::string& gang) const {
    return network_->name(fabric::Network::cable_of(LinksOfFirst(gang).at(1)));
  }
  std::string DownLinks(const std::vector<std::string>& links) const {
    return json{{"version", 1}, {"links", links}}.dump();
  }

  FakeClock clock_;
  kube::FakeClient client_;
  fabric::Places places_;
  std::unique_ptr<fabric::Network> network_;
  std::unique_ptr<state::ClusterCache> cache_;
  std::unique_ptr<NetworkController> controller_;
  std::vector<NetworkNotice> notices_;
  std::map<int, int> next_;
  std::map<state::Kind, std::set<std::string>> known_;
};

TEST_F(NetworkControllerTest, PlacedGangsGetLevelsPortsAndNumbers) {
  AddGang("a", 0, 1);
  const RoundReport report = Round();
  EXPECT_TRUE(report.errors.empty()) << report.errors.front();
  EXPECT_EQ(report.gangs, 1);
  EXPECT_EQ(report.pods, 4);
  EXPECT_EQ(NetworkOf("a")["source"], "Analytic");
  for (int rank = 0; rank < 4; ++rank) {
    const api::PathPlan paths = PathsOf(StrCat("a-", rank));
    ASSERT_EQ(paths.rails.size(), 8u);
    EXPECT_EQ(paths.fabric_generation, 1);
    // The next one in the ring and the one before, whom it answers, by each plane.
    EXPECT_EQ(paths.rails[0].peers.size(), 4u);
    EXPECT_EQ(paths.rails[0].peers[0].alternate_ports.size(), 1u);
  }
  EXPECT_EQ(ConditionOf("PathsPlanned").status, api::ConditionStatus::kTrue);
  EXPECT_EQ(ConditionOf("LinksUp").reason, "AllUp");
  EXPECT_EQ(ConditionOf("PathsTrusted").status, api::ConditionStatus::kUnknown);
}

TEST_F(NetworkControllerTest, AnArrivalInOtherSegmentsAndItsDepartureWriteNothingToTheOthers) {
  for (const char* gang : {"a", "b", "c"}) AddGang(gang, 0, 1);
  Settle();
  EXPECT_EQ(Writes(), 0);
  AddGang("d", 2, 3);
  Round();
  EXPECT_EQ(WrittenPods(), (std::set<std::string>{"d-0", "d-1", "d-2", "d-3"}));
  EXPECT_EQ(client_.CountCalls(Verb::kReplace, "gangs/status"), 1);
  Settle();
  RemoveGang("d");
  Round();
  EXPECT_EQ(WrittenPods(), std::set<std::string>{});
  EXPECT_EQ(client_.CountCalls(Verb::kReplace, "gangs/status"), 0);
}

TEST_F(NetworkControllerTest, AControllerThatKnowsNothingKeepsWhatItFinds) {
  for (const char* gang : {"a", "b", "c"}) AddGang(gang, 0, 1);
  Settle();
  AddGang("d", 0, 1);
  Settle();
  const auto before = AllPorts();
  Start({});
  Round();
  EXPECT_EQ(Writes(), 0);
  controller_->Forget();
  Round();
  EXPECT_EQ(Writes(), 0);
  EXPECT_EQ(AllPorts(), before);
}

TEST_F(NetworkControllerTest, AnotherHostInTheFabricMovesNobody) {
  for (const char* gang : {"a", "b"}) AddGang(gang, 0, 1);
  // Addresses by annotation, as they must be where hosts come and go.
  int number = 0;
  for (const json& node : client_.All(kube::Nodes())) {
    std::vector<std::string> addresses;
    for (int rail = 0; rail < 8; ++rail) {
      addresses.push_back(StrCat("10.", rail, ".", number / 250, ".", number % 250));
    }
    ++number;
    Annotate(kube::Nodes(), "", node["metadata"]["name"], api::kNicAddressesAnnotation,
             Join(addresses, ","));
  }
  Settle();
  // The last host of the first segment leaves: the ids of all behind it move.
  const std::string leaves = HostOf(0, 7);
  ASSERT_TRUE(client_.Delete({kube::Nodes(), "", leaves, ""}, {}).ok());
  Round();
  EXPECT_EQ(WrittenPods(), std::set<std::string>{});
}

TEST_F(NetworkControllerTest, EveryWriteThatFailsIsMadeByALaterRound) {
  const absl::Status faults[] = {
      absl::UnavailableError("gone"), absl::DeadlineExceededError("slow"),
      absl::ResourceExhaustedError("busy"), absl::PermissionDeniedError("no")};
  AddGang("a", 0, 1);
  for (const absl::Status& fault : faults) {
    for (const kube::FaultWhen when :
         {kube::FaultWhen::kBeforeEffect, kube::FaultWhen::kAfterEffect}) {
      for (int rank = 0; rank < 4; ++rank) {
        Annotate(kube::Pods(), "team", StrCat("a-", rank), api::kPriorityAnnotation, nullptr);
      }
      client_.FailNext(Verb::kPatch, "pods", fault, 2, when);
      EXPECT_EQ(Round().errors.size(), 2u) << fault;
      Settle();
      for (int rank = 0; rank < 4; ++rank) {
        EXPECT_NE(Annotation(StrCat("a-", rank), api::kPriorityAnnotation), "");
      }
    }
  }
  AddGang("b", 2, 3);
  client_.FailNext(Verb::kReplace, "gangs/status", absl::UnavailableError("gone"), 1);
  EXPECT_EQ(Round().errors.size(), 1u);
  Settle();
  EXPECT_TRUE(NetworkOf("b").is_object());
  Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, DownLinks({FirstUplink("a")}));
  client_.FailNext(Verb::kPatch, "fabrics/status", absl::UnavailableError("gone"), 1);
  EXPECT_EQ(Round().errors.size(), 1u);
  Settle();
  EXPECT_EQ(ConditionOf("LinksUp").reason, "LinksDown");
}

TEST_F(NetworkControllerTest, AStatusThatTheExtenderChangedMeanwhileKeepsBothParts) {
  AddGang("a", 0, 1);
  bool interfered = false;
  client_.SetHook([&](const kube::Call& call) {
    if (call.verb != Verb::kReplace || interfered) return absl::OkStatus();
    interfered = true;
    json gang = client_.Find(kube::Gangs(), "team", "a").value();
    gang["status"]["planGeneration"] = 2;
    client_.Seed(kube::Gangs(), gang);
    return absl::OkStatus();
  });
  EXPECT_TRUE(Round().errors.empty());
  EXPECT_TRUE(interfered);
  const json gang = client_.Find(kube::Gangs(), "team", "a").value();
  EXPECT_EQ(gang["status"]["planGeneration"], 2);
  EXPECT_TRUE(gang["status"].contains("network"));
}

TEST_F(NetworkControllerTest, AGangOrPodThatGoesWhileItIsWrittenIsNoError) {
  AddGang("a", 0, 1);
  client_.FailNext(Verb::kReplace, "gangs/status", absl::NotFoundError("gone"), 1);
  client_.FailNext(Verb::kPatch, "pods", absl::NotFoundError("gone"), 1);
  client_.FailNext(Verb::kPatch, "pods", absl::AbortedError("another uid"), 1);
  EXPECT_TRUE(Round().errors.empty());
}

TEST_F(NetworkControllerTest, ConnectionsWithoutTheirPortBecomeAConditionOfTheGang) {
  AddGang("a", 0, 1);
  Settle();
  const auto steered = [this] {
    const auto gang = api::DecodeGang(client_.Find(kube::Gangs(), "team", "a").value()).value();
    const api::Condition* found =
        api::FindCondition(gang.status.conditions, api::kConnectionsSteeredCondition);
    return found == nullptr ? std::string() : found->reason;
  };
  EXPECT_EQ(steered(), "");
  Annotate(kube::Pods(), "team", "a-0", api::kConnectionsAnnotation,
           api::EncodeConnectionReport({16, 2, 0, "refused by the device"}));
  EXPECT_EQ(Round().statuses, 1);
  EXPECT_EQ(steered(), "Unsteered");
  EXPECT_EQ(Round().statuses, 0);
  Annotate(kube::Pods(), "team", "a-0", api::kConnectionsAnnotation,
           api::EncodeConnectionReport({18, 0, 0, ""}));
  EXPECT_EQ(Round().statuses, 1);
  EXPECT_EQ(steered(), "Steered");
}

TEST_F(NetworkControllerTest, AnEditedAnnotationIsCorrected) {
  AddGang("a", 0, 1);
  Settle();
  const auto before = AllPorts();
  Annotate(kube::Pods(), "team", "a-1", api::kPathPlanAnnotation, "not JSON");
  Annotate(kube::Pods(), "team", "a-2", api::kPriorityAnnotation, "99");
  Round();
  EXPECT_EQ(WrittenPods(), (std::set<std::string>{"a-1", "a-2"}));
  EXPECT_EQ(AllPorts(), before);
}

TEST_F(NetworkControllerTest, AnEditThatChangesNoPathMakesNoPlanStale) {
  AddGang("a", 0, 1);
  Settle();
  const api::PathPlan before = PathsOf("a-0");
  const json patch = {
      {"spec", {{"host", {{"nvlinkGbps", 7200}}}, {"backup", {{"hostsPerSegment", 1}}}}}};
  ASSERT_TRUE(client_.Patch({kube::Fabrics(), "", "f", ""}, kube::MergePatch(patch), {}).ok());
  EXPECT_EQ(Round().pods, 0);
  const json fabric = *client_.Find(kube::Fabrics(), "", "f");
  EXPECT_EQ(PathsOf("a-0").fabric_generation, before.fabric_generation);
  EXPECT_EQ(fabric["status"]["networkGeneration"], before.fabric_generation);
  EXPECT_EQ(fabric["status"]["observedGeneration"], fabric["metadata"]["generation"]);
}

TEST_F(NetworkControllerTest, ANewLeaderKeepsTheGenerationThatPathsWerePlannedFor) {
  AddGang("a", 0, 1);
  Settle();
  const json patch = {{"spec", {{"host", {{"nvlinkGbps", 7200}}}}}};
  ASSERT_TRUE(client_.Patch({kube::Fabrics(), "", "f", ""}, kube::MergePatch(patch), {}).ok());
  Settle();
  const std::int64_t planned_for = PathsOf("a-0").fabric_generation;
  Start({});
  EXPECT_EQ(Round().pods, 0);
  EXPECT_EQ(PathsOf("a-0").fabric_generation, planned_for);
}

TEST_F(NetworkControllerTest, PlansAreRenewedAtHalfTheirLifeAndWhenPathsAreOthers) {
  AddGang("a", 0, 1);
  Settle();
  clock_.Advance(11LL * 3600 * 1000);
  EXPECT_EQ(Round().pods, 0);
  clock_.Advance(2LL * 3600 * 1000);
  const RoundReport renewed = Round();
  EXPECT_EQ(renewed.pods, 4);
  EXPECT_NEAR(renewed.oldest_plan_seconds, 13 * 3600, 60);
  const json patch = {{"spec", {{"ecmpHash", {{"agg", {{"seed", 9}}}}}}}};
  ASSERT_TRUE(client_.Patch({kube::Fabrics(), "", "f", ""}, kube::MergePatch(patch), {}).ok());
  const std::int64_t generation =
      client_.Find(kube::Fabrics(), "", "f").value()["metadata"]["generation"];
  const api::PathPlan before = PathsOf("a-0");
  Settle();
  EXPECT_NE(before.fabric_generation, generation);
  EXPECT_EQ(PathsOf("a-0").fabric_generation, generation);
}

TEST_F(NetworkControllerTest, ALostUplinkMovesItsFlowsAtOnceAndTheyReturnWhenItIsTrusted) {
  for (const char* gang : {"a", "b"}) AddGang(gang, 0, 1);
  AddGang("c", 2, 3);
  Settle();
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
  ASSERT_GT(lost.again_in_ms, 0);
  clock_.Advance(lost.again_in_ms);
  Round();  // switches have noticed: the group has shrunk
  for (const std::string& pod : WrittenPods()) EXPECT_NE(pod[0], 'c');
  Settle();
  Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, nullptr);
  const RoundReport held = Round();
  EXPECT_EQ(held.cables_held, 1);
  EXPECT_EQ(ConditionOf("LinksUp").reason, "HeldBack");
  EXPECT_NE(PathsOf("a-0").rails[0].peers[0].source_ports, std::vector<std::uint16_t>{});
  ASSERT_GT(held.again_in_ms, 0);
  clock_.Advance(held.again_in_ms);
  Round();
  Settle();
  for (const auto& [flow, ports] : AllPorts()) EXPECT_EQ(ports, before.at(flow)) << flow;
}

TEST_F(NetworkControllerTest, AFlappingUplinkIsHeldBackLongerEveryTime) {
  AddGang("a", 0, 1);
  Settle();
  const std::string uplink = FirstUplink("a");
  std::int64_t last_hold = 0;
  for (int i = 0; i < 3; ++i) {
    Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, DownLinks({uplink}));
    Round();
    clock_.Advance(5'000);
    Round();
    Annotate(kube::Fabrics(), "", "f", api::kDownLinksAnnotation, nullptr);
    const RoundReport held = Round();
    EXPECT_GT(held.again_in_ms, last_hold);
    last_hold = held.again_in_ms;
    clock_.Advance(1'000);
  }
}

TEST_F(NetworkControllerTest, ADownSwitchTakesAllItsCablesAndUnknownNamesAreTold) {
  AddGang("a", 0, 1);
  Settle();
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
  Settle();
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
  Settle();
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
  Settle();
  Annotate(kube::Fabrics(), "", "f", api::kObservedPathsAnnotation, observed(links[1]));
  notices_.clear();
  Round();
  EXPECT_NE(ConditionOf("PathsTrusted").status, api::ConditionStatus::kFalse);
  ASSERT_FALSE(notices_.empty());
  EXPECT_FALSE(notices_[0].warning);
  Settle();
  EXPECT_EQ(AllPorts(), before);
  Annotate(kube::Nodes(), "", node, api::kObservedPathsAnnotation, R"({"paths":[{"from":3}]})");
  const RoundReport garbage = Round();
  ASSERT_EQ(garbage.problems.size(), 1u);
  EXPECT_EQ(garbage.problems[0].find(StrCat("Node ", node)), 0u) << garbage.problems[0];
}

TEST_F(NetworkControllerTest, OneNodeWithdrawsNoRoleAndSpeaksOfNoPathButItsOwn) {
  AddGang("a", 0, 1);
  AddGang("b", 0, 1);
  Settle();
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

TEST_F(NetworkControllerTest, MiswiredHostsAreKeptOutAndThePortsAreNamed) {
  AddGang("a", 0, 1);
  AddGang("b", 2, 3);
  Settle();
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
  Settle();
  EXPECT_EQ(PathsOf("a-0").rails.size(), 8u);
}

TEST_F(NetworkControllerTest, HostsWhoseNicsBalanceByThemselvesGetNoPorts) {
  AddGang("a", 0, 1);
  Settle();
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
  Settle();
  EXPECT_FALSE(PathsOf("a-0").rails.empty());
}

TEST_F(NetworkControllerTest, MeasuredProfilesAreBlendedAndGarbageCountsAsNotMeasured) {
  AddGang("a", 0, 1);
  Settle();
  const double analytic = NetworkOf("a")["flopPerIteration"];
  const double by_bytes = NetworkOf("a")["communicationSeconds"];
  api::ProfileReport measured;
  measured.samples = 10;
  measured.flop = analytic;  // of one worker, so four times as much in all
  measured.communication_seconds = 1;
  Annotate(kube::Pods(), "team", "a-2", api::kProfileAnnotation,
           api::EncodeProfileReport(measured));
  Settle();
  EXPECT_EQ(NetworkOf("a")["source"], "Blended");
  const double blended = NetworkOf("a")["flopPerIteration"];
  EXPECT_NEAR(blended, 2 * analytic, 1e-6 * analytic);  // half of the way, logarithmically
  const auto seconds = [&] { return NetworkOf("a")["communicationSeconds"].get<double>(); };
  EXPECT_NEAR(seconds(), std::sqrt(by_bytes * 1), 1e-6);
  measured.samples = 1000;
  Annotate(kube::Pods(), "team", "a-2", api::kProfileAnnotation,
           api::EncodeProfileReport(measured));
  Settle();
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
  Settle();
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

TEST_F(NetworkControllerTest, TheRateOfWritesIsBoundedAndTheRestFollows) {
  NetworkController::Options options;
  options.writes.writes_per_second = 2;
  options.writes.burst = 3;
  Start(options);
  for (const char* gang : {"a", "b"}) AddGang(gang, 0, 1);
  RoundReport report = Round();
  EXPECT_EQ(report.pods, 3);
  EXPECT_EQ(report.deferred, 5);
  int rounds = 0;
  for (int written = report.pods; written < 8 && rounds < 20; ++rounds) {
    ASSERT_GT(report.again_in_ms, 0);
    clock_.Advance(report.again_in_ms);
    report = Round();
    EXPECT_LE(report.pods, 3);
    written += report.pods;
  }
  EXPECT_LE(rounds, 5);
  EXPECT_EQ(Round().pods, 0);
}

TEST_F(NetworkControllerTest, WithoutAFabricNothingIsPlanned) {
  ASSERT_TRUE(client_.Delete({kube::Fabrics(), "", "f", ""}, {}).ok());
  AddGang("a", 0, 1);
  const RoundReport report = Round();
  EXPECT_EQ(report.gangs, 0);
  EXPECT_EQ(Writes(), 0);
}

}  // namespace
}  // namespace yardmaster::op
