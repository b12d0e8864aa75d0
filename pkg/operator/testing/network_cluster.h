// A fabric with placed gangs, as objects of an API server, and what is written on them. TESTONLY.
//
// Four segments of eight hosts with known hashes. Thread safety: one thread.
#pragma once

#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/pod_path_plan.h"
#include "pkg/api/slot.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/repac/path.h"

namespace yardmaster::op {

class NetworkCluster : public ::testing::Test {
 protected:
  NetworkCluster() : client_(clock_), places_(fabric::PlacesOf(Spec())) {
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
             {"conditions", nlohmann::json::array({{{"type", "Ready"}, {"status", "True"}}})}}}});
    }
    network_ = std::make_unique<fabric::Network>(
        fabric::Network::Build(Spec(), std::make_shared<const fabric::Places>(places_)).value());
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
    nlohmann::json assignments = nlohmann::json::array();
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
    client_.Seed(
        kube::Pods(),
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
            nlohmann::json::array(
                {{{"name", "c"}, {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}},
         {"status", {{"phase", "Running"}}}});
  }

  // The pod as it was before it was bound.
  void Unbind(const std::string& name, bool gated) {
    nlohmann::json pod = client_.Find(kube::Pods(), "team", name).value();
    pod["spec"].erase("nodeName");
    pod["spec"].erase("schedulingGates");
    if (gated) {
      pod["spec"]["schedulingGates"] = nlohmann::json::array({{{"name", api::kPlacementGate}}});
    }
    pod["status"]["phase"] = "Pending";
    client_.Seed(kube::Pods(), pod);
  }

  // On every Node, as they must be where hosts come and go.
  void AnnotateAddresses() {
    int number = 0;
    for (const nlohmann::json& node : client_.All(kube::Nodes())) {
      std::vector<std::string> addresses;
      for (int rail = 0; rail < 8; ++rail) {
        addresses.push_back(StrCat("10.", rail, ".", number / 250, ".", number % 250));
      }
      ++number;
      Annotate(kube::Nodes(), "", node["metadata"]["name"], api::kNicAddressesAnnotation,
               Join(addresses, ","));
    }
  }

  void RemoveGang(const std::string& name) {
    ASSERT_TRUE(client_.Delete({kube::Gangs(), "team", name, ""}, {}).ok());
    for (int rank = 0; rank < 4; ++rank) {
      ASSERT_TRUE(client_.Delete({kube::Pods(), "team", StrCat(name, "-", rank), ""}, {}).ok());
    }
  }

  void Annotate(const kube::Resource& resource, const std::string& ns, const std::string& name,
                const char* key, const nlohmann::json& value) {
    const kube::Target target{resource, ns, name, ""};
    const nlohmann::json patch = {{"metadata", {{"annotations", {{key, value}}}}}};
    ASSERT_TRUE(client_.Patch(target, kube::MergePatch(patch), {}).ok());
  }

  int Writes() const {
    return client_.CountCalls(kube::Verb::kPatch, "*") +
           client_.CountCalls(kube::Verb::kReplace, "*");
  }
  std::set<std::string> WrittenPods() const {
    std::set<std::string> names;
    for (const kube::Call& call : client_.calls()) {
      if (call.verb == kube::Verb::kPatch && kube::WhereOf(call.target) == "pods") {
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
  api::PodPathPlan PathsOf(const std::string& pod) const {
    const auto plan = api::DecodePathPlan(Annotation(pod, api::kPathPlanAnnotation));
    return plan.ok() ? *plan : api::PodPathPlan{};
  }
  // "pod rail plane" -> source ports.
  std::map<std::string, std::vector<std::uint16_t>> AllPorts() const {
    std::map<std::string, std::vector<std::uint16_t>> ports;
    for (const nlohmann::json& pod : client_.All(kube::Pods())) {
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
    const nlohmann::json fabric = client_.Find(kube::Fabrics(), "", "f").value();
    const auto decoded = api::DecodeFabric(fabric);
    const api::Condition* found =
        decoded.ok() ? api::FindCondition(decoded->status.conditions, type) : nullptr;
    return found == nullptr ? api::Condition{} : *found;
  }
  nlohmann::json NetworkOf(const std::string& gang) const {
    return client_.Find(kube::Gangs(), "team", gang)
        .value()["status"]
        .value("network", nlohmann::json());
  }
  // The links that rank 0's first connection of rail 0 takes while `down` are down.
  fabric::LinkPath LinksOfFirst(const std::string& gang,
                                const std::vector<fabric::CableId>& down = {}) const {
    const api::PodPathPlan plan = PathsOf(gang + "-0");
    const nlohmann::json object = client_.Find(kube::Pods(), "team", gang + "-0").value();
    const api::PeerPaths& peer = plan.rails.at(0).peers.at(0);
    const auto hashes = repac::SwitchHashes::Compile(*network_).value();
    const repac::ForwardingModel forwarding(*network_, hashes, down);
    const auto path = repac::PredictPath(
        forwarding,
        {places_.FindHost(object["spec"]["nodeName"].get<std::string>()), 0, peer.plane},
        {places_.FindHost(peer.host), 0, peer.plane}, peer.source_ports.at(0));
    return path->links;
  }
  std::string FirstUplink(const std::string& gang) const {
    return network_->name(fabric::Network::cable_of(LinksOfFirst(gang).at(1)));
  }
  std::string DownLinks(const std::vector<std::string>& links) const {
    return nlohmann::json{{"version", 1}, {"links", links}}.dump();
  }

  FakeClock clock_;
  kube::FakeClient client_;
  fabric::Places places_;
  std::unique_ptr<fabric::Network> network_;
  std::map<int, int> next_;  // unused host of a segment
};

}  // namespace yardmaster::op
