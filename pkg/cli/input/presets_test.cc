#include "pkg/cli/input/presets.h"

#include <fstream>
#include <map>
#include <set>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/training_job.h"
#include "pkg/cli/input/render_fabric.h"
#include "pkg/config/yaml.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/repac/path.h"

namespace yardmaster::cli {
namespace {

fabric::FabricSpec SpecOf(const std::string& name) {
  auto fabric = LoadPreset(name);
  EXPECT_TRUE(fabric.ok()) << fabric.status();
  return fabric.ok() ? fabric->spec : fabric::FabricSpec{};
}

TEST(PresetsTest, AllThatShipAreThereAndValid) {
  EXPECT_EQ(Presets().size(), 15u);
  for (const Preset& preset : Presets()) {
    SCOPED_TRACE(std::string(preset.name));
    const fabric::FabricSpec spec = SpecOf(std::string(preset.name));
    EXPECT_EQ(spec.name, preset.name);
    EXPECT_EQ(fabric::Problems(spec), std::vector<std::string>());
    if (spec.nic_spraying) {
      EXPECT_TRUE(spec.ecmp_hash.empty());
      continue;
    }
    for (const fabric::Tier& tier : spec.tiers) EXPECT_EQ(spec.ecmp_hash.count(tier.role), 1u);
  }
}

TEST(PresetsTest, WhatIsEncodedReadsBackTheSame) {
  for (const Preset& preset : Presets()) {
    auto fabric = LoadPreset(std::string(preset.name));
    ASSERT_TRUE(fabric.ok());
    const nlohmann::json written = api::EncodeFabric(*fabric);
    auto again = api::DecodeFabric(written);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(api::EncodeFabric(*again), written);
  }
}

// By domain, of a Fabric's objects: its hosts, and those of them that are backup hosts.
std::pair<std::map<std::string, int>, std::map<std::string, int>> HostsByDomain(
    const std::vector<nlohmann::json>& objects) {
  std::map<std::string, int> hosts, backup;
  for (std::size_t i = 1; i < objects.size(); ++i) {
    const nlohmann::json& labels = objects[i]["metadata"]["labels"];
    const auto domain = labels["yardmaster.dev/domain"].get<std::string>();
    ++hosts[domain];
    backup[domain] += labels.contains("yardmaster.dev/backup") ? 1 : 0;
  }
  return {hosts, backup};
}

TEST(PresetsTest, DomainsOfASegmentAreRenderedWithTheirBackupHosts) {
  RenderSize size;
  size.segments = 2;
  size.domains = 4;
  const auto fabric = Resize(LoadPreset("nvl72").value(), size);
  ASSERT_TRUE(fabric.ok()) << fabric.status();
  EXPECT_EQ(fabric->spec.hosts_per_segment, 72);
  const auto objects = RenderFabric(*fabric).value();
  ASSERT_EQ(objects.size(), 1u + 144);
  auto [hosts, backup] = HostsByDomain(objects);
  EXPECT_EQ(hosts.size(), 8u);
  EXPECT_EQ(hosts["p00s01d03"], 18);
  EXPECT_EQ(backup["p00s01d03"], 2);
  EXPECT_FALSE(Resize(LoadPreset("hpn-small").value(), size).ok());
}

TEST(PresetsTest, HostsThatContradictTheDomainsAreRefused) {
  RenderSize size;
  size.domains = 3;
  size.hosts = 54;
  EXPECT_TRUE(Resize(LoadPreset("nvl72").value(), size).ok());
  size.hosts = 20;
  const auto fabric = Resize(LoadPreset("nvl72").value(), size);
  EXPECT_NE(MessageOf(fabric.status()).find("--hosts: is 20, and 3 domains have 54"),
            std::string::npos)
      << fabric.status();
}

TEST(PresetsTest, HpnNextWithDomainsKeepsABackupHostOfEach) {
  RenderSize size;
  size.segments = 1;
  const auto fabric = Resize(LoadPreset("hpn-next-domains").value(), size);
  ASSERT_TRUE(fabric.ok()) << fabric.status();
  const auto objects = RenderFabric(*fabric).value();
  ASSERT_EQ(objects.size(), 1u + 135);
  auto [hosts, backup] = HostsByDomain(objects);
  EXPECT_EQ(hosts.size(), 15u);
  for (const auto& [domain, count] : hosts) {
    EXPECT_EQ(count, 9) << domain;
    EXPECT_EQ(backup[domain], 1) << domain;
  }
}

TEST(PresetsTest, NamesAreMatchedLeniently) {
  for (const char* name : {"hpn-7.0", "HPN-7.0", "hpn7.0", "HPN70", "hpn_7_0"}) {
    EXPECT_EQ(SpecOf(name).name, "hpn-7.0");
  }
}

TEST(PresetsTest, AnUnknownNameListsWhatThereIs) {
  auto fabric = LoadPreset("hpn-8");
  ASSERT_FALSE(fabric.ok());
  EXPECT_NE(MessageOf(fabric.status()).find("hpn-7.0"), std::string::npos);
}

TEST(PresetsTest, AFileIsAPresetToo) {
  EXPECT_EQ(SpecOf(YARDMASTER_SOURCE_DIR "/crds/presets/dcn-plus.yaml").name, "dcn-plus");
}

// Choices that a switch's hash makes for one connection, multiplied: uplinks on the way up,
// parallel links on the way down (the paper's Table 1, which counts so).
long SearchSpace(const fabric::FabricSpec& spec, fabric::Scope up_to) {
  long paths = 1;
  for (std::size_t t = 1; t < spec.tiers.size() && spec.tiers[t].scope <= up_to; ++t) {
    paths *= spec.tiers[t - 1].up_ports;
    paths *= fabric::LinksPerPair(spec, static_cast<int>(t));
  }
  return paths;
}

TEST(PresetsTest, PathSearchSpacesAreThoseOfThePaper) {
  using fabric::Scope;
  EXPECT_EQ(SearchSpace(SpecOf("hpn-7.0"), Scope::kFabricPod), 60);
  EXPECT_EQ(SearchSpace(SpecOf("hpn-small"), Scope::kFabricPod), 60);
  EXPECT_EQ(SearchSpace(SpecOf("superpod"), Scope::kFabric), 32 * 32 * 4);
  EXPECT_EQ(SearchSpace(SpecOf("jupiter-like"), Scope::kFabric), 8 * 256);
  for (const char* name : {"hpn-7.0-pod", "hpn-next", "hpn-single-plane", "rail-only"}) {
    EXPECT_EQ(SearchSpace(SpecOf(name), Scope::kFabricPod), 60) << name;
  }
  // A switch of a k-ary fat tree has k/2 uplinks, so there are (k/2)^2 paths between two fabric
  // pods; the paper's O(48 * 48) is the order, a constant of 4 above it.
  EXPECT_EQ(SearchSpace(SpecOf("fat-tree"), Scope::kFabric), (48 / 2) * (48 / 2));
}

// The paths between the two first hosts of different places, by trying source ports.
std::size_t PathsFound(const char* preset, RenderSize size) {
  auto fabric = Resize(LoadPreset(preset).value(), size);
  EXPECT_TRUE(fabric.ok()) << fabric.status();
  fabric->spec.addressing.base = "10.0.0.0";  // its hosts name no addresses
  auto places = std::make_shared<const fabric::Places>(fabric::PlacesOf(fabric->spec));
  const auto network = fabric::Network::Build(fabric->spec, places).value();
  const repac::ForwardingModel model(network, repac::SwitchHashes::Compile(network).value(), {});
  const fabric::HostId last(places->num_hosts() - 1);
  std::set<fabric::LinkPath> paths;
  for (int port = 0xC001; port <= 0xFFFF; ++port) {
    const auto path = repac::PredictPath(model, {fabric::HostId(0), 0, 0}, {last, 0, 0},
                                         static_cast<std::uint16_t>(port));
    EXPECT_TRUE(path.ok() && path->predictable);
    if (path.ok()) paths.insert(path->links);
  }
  return paths.size();
}

TEST(PresetsTest, SourcePortsReachThatManyPaths) {
  EXPECT_EQ(PathsFound("hpn-7.0-pod", {1, 2, 2, 0}), 60u);
  EXPECT_EQ(PathsFound("hpn-next", {1, 2, 2, 0}), 60u);
  // Between fabric pods the Agg chooses among 8, and the core does not choose.
  EXPECT_EQ(PathsFound("hpn-7.0", {2, 2, 2, 0}), 60u * 8);
  EXPECT_EQ(PathsFound("fat-tree", {2, 1, 1, 0}), 24u * 24);
  EXPECT_EQ(PathsFound("superpod", {2, 1, 1, 0}), 32u * 32 * 4);
}

TEST(PresetsTest, AFabricOfSprayingNicsHasThePublishedSize) {
  const fabric::FabricSpec spec = SpecOf("mrc-like");
  EXPECT_TRUE(spec.nic_spraying);
  EXPECT_EQ(spec.planes * spec.nic_gbps, 800);
  EXPECT_EQ(spec.segments_per_fabric_pod * spec.hosts_per_segment * spec.gpus_per_host, 131'072);
  // Switches of 512 ports, as many up as down, and none left over.
  EXPECT_EQ(spec.tiers[0].down_ports + spec.tiers[0].up_ports, 512);
  EXPECT_EQ(spec.tiers[1].down_ports, spec.segments_per_fabric_pod * spec.rails);
  EXPECT_EQ(SearchSpace(spec, fabric::Scope::kFabricPod), 256);
}

TEST(PresetsTest, HpnsCoreForwardsByIngressPort) {
  for (const char* name : {"hpn-7.0", "hpn-next", "hpn-single-plane-core"}) {
    const fabric::FabricSpec spec = SpecOf(name);
    EXPECT_TRUE(spec.ecmp_hash.at("core").group.preset_by_ingress_port) << name;
    // What decides where the preset link is down.
    EXPECT_EQ(spec.ecmp_hash.at("core").fields.size(), 5u) << name;
    EXPECT_FALSE(spec.ecmp_hash.at("agg").group.preset_by_ingress_port) << name;
  }
}

TEST(PresetsTest, HpnHasThePublishedNumbers) {
  const fabric::FabricSpec spec = SpecOf("hpn-7.0");
  EXPECT_EQ(spec.segments_per_fabric_pod, 15);
  EXPECT_EQ(spec.hosts_per_segment - spec.backup.hosts_per_segment, 128);
  EXPECT_EQ(spec.backup.hosts_per_segment, 8);
  EXPECT_EQ(15 * 128 * spec.gpus_per_host, 15360);
  EXPECT_EQ(spec.tiers[1].switches * spec.planes, 120);
}

TEST(SamplesTest, TrainingJobsAreReadAndContradictNothing) {
  for (const char* file : {"trainingjob.yaml", "trainingjob-full.yaml", "trainingjob-model.yaml"}) {
    const std::string path = std::string(YARDMASTER_SOURCE_DIR "/crds/samples/") + file;
    std::ifstream in(path);
    auto object = config::ParseYaml(std::string(std::istreambuf_iterator<char>(in), {}), file);
    ASSERT_TRUE(object.ok()) << object.status();
    auto job = api::DecodeTrainingJob(*object);
    ASSERT_TRUE(job.ok()) << job.status();
    EXPECT_EQ(workload::Problems(api::ToJob(job->job, {}, "", 0, 8), 8),
              std::vector<std::string>());
  }
}

}  // namespace
}  // namespace yardmaster::cli
