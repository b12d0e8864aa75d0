#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/input/fabric_import_topograph.h"
#include "pkg/cli/input/manifests.h"
#include "pkg/cli/input/nic_devices.h"
#include "pkg/cli/input/presets.h"
#include "pkg/cli/input/render_fabric.h"
#include "pkg/fabric/network.h"
#include "pkg/fabric/testing/fabrics.h"
#include "simulation/formats/simai_fabric.h"

namespace yardmaster::cli {
namespace {

using fabric::Network;
using testing::HasSubstr;

constexpr char kSample[] = YARDMASTER_SOURCE_DIR "/test/data/topologies/dual-plane-32g.simai";

// A Fabric as the simulator would be told of it.
std::string ToSimAi(const fabric::FabricSpec& spec) {
  auto places = std::make_shared<const fabric::Places>(fabric::PlacesOf(spec));
  const Network network = Network::Build(spec, places).value();
  const int gpus = places->num_hosts() * spec.gpus_per_host;
  const int first = gpus + places->num_hosts();
  std::string links;
  int count = 0;
  const auto add = [&](int a, int b, double gbps) {
    links += StrCat(a, " ", b, " ", static_cast<int>(gbps), "Gbps 0.0005ms 0\n");
    ++count;
  };
  for (int h = 0; h < places->num_hosts(); ++h) {
    for (int rail = 0; rail < spec.rails; ++rail) {
      const int gpu = h * spec.gpus_per_host + rail;
      add(gpu, gpus + h, 2880);
      for (int p = 0; p < spec.nic_ports; ++p) {
        add(gpu, first + network.tor({fabric::HostId(h), rail, p}).value, spec.nic_gbps);
      }
    }
  }
  for (int s = 0; s < network.num_switches(); ++s) {
    const fabric::SwitchId id(s);
    for (int u = 0; u < network.num_up_ports(id); ++u) {
      add(first + s, first + network.upper(id, u).value,
          network.gbps(Network::up(network.up_cable(id, u))));
    }
  }
  std::string ids;
  for (int id = gpus; id < first + network.num_switches(); ++id) ids += StrCat(id, " ");
  return StrCat(first + network.num_switches(), " ", spec.gpus_per_host, " ", places->num_hosts(),
                " ", network.num_switches(), " ", count, " H100\n", ids, "\n", links);
}

absl::StatusOr<sim::SimAiFabric> Import(const std::string& text) {
  auto topology = sim::ReadSimAiTopology(text, "t.simai");
  if (!topology.ok()) return topology.status();
  return sim::ImportSimAi(*topology, "t.simai");
}

void ExpectAlike(const fabric::FabricSpec& want, const fabric::FabricSpec& got) {
  EXPECT_EQ(want.rails, got.rails);
  EXPECT_EQ(want.planes, got.planes);
  EXPECT_EQ(want.nic_ports, got.nic_ports);
  EXPECT_EQ(want.nic_gbps, got.nic_gbps);
  EXPECT_EQ(want.fabric_pods, got.fabric_pods);
  EXPECT_EQ(want.segments_per_fabric_pod, got.segments_per_fabric_pod);
  EXPECT_EQ(want.hosts_per_segment, got.hosts_per_segment);
  ASSERT_EQ(want.tiers.size(), got.tiers.size());
  for (std::size_t t = 0; t < want.tiers.size(); ++t) {
    SCOPED_TRACE(StrCat("tier ", t));
    const fabric::Tier& a = want.tiers[t];
    const fabric::Tier& b = got.tiers[t];
    EXPECT_EQ(a.switches, b.switches);
    EXPECT_EQ(a.stripes, b.stripes);
    EXPECT_EQ(a.per_rail && want.rails > 1, b.per_rail);
    EXPECT_EQ(a.rails_per_switch, b.rails_per_switch);
    EXPECT_EQ(a.per_plane || want.planes == 1, b.per_plane);
    EXPECT_EQ(a.up_ports, b.up_ports);
    EXPECT_EQ(a.up_gbps, b.up_gbps);
    EXPECT_EQ(a.down_gbps, b.down_gbps);
    EXPECT_LE(b.down_ports, a.down_ports);
  }
}

// Rails 0 to 3 of a host end at one leaf of a pair, 4 to 7 at the other; the spine mixes them.
fabric::FabricSpec FourRailsALeaf() {
  fabric::FabricSpec spec = fabric::SinglePlaneHpn(1, 2, 3);
  spec.tiers[0].rails_per_switch = 4;
  spec.tiers[0].down_ports *= 4;
  return spec;
}

fabric::FabricSpec Small(const std::string& preset, int pods, int segments, int hosts) {
  RenderSize size;
  size.fabric_pods = pods;
  size.segments = segments;
  size.hosts = hosts;
  auto fabric = Resize(LoadPreset(preset).value(), size);
  EXPECT_TRUE(fabric.ok()) << fabric.status();
  // The file has GPUs with one NIC each.
  fabric->spec.gpus_per_host = fabric->spec.rails;
  return fabric->spec;
}

TEST(ImportSimAiTest, FabricsComeBackAsTheyWere) {
  const fabric::FabricSpec specs[] = {fabric::SmallHpn(1, 3, 3),
                                      fabric::SmallHpn(3, 2, 2),
                                      fabric::SinglePlaneHpn(1, 3, 3),
                                      fabric::StripedCore(3, 2, 2),
                                      fabric::SmallHpn(1, 1, 4),
                                      fabric::RailGroups(2, 2, 3),
                                      FourRailsALeaf(),
                                      Small("hpn-7.0", 2, 2, 2),
                                      Small("hpn-single-plane", 1, 2, 3),
                                      Small("dcn-plus", 2, 2, 2),
                                      Small("rail-only", 1, 3, 3),
                                      Small("two-layer-clos", 1, 3, 2)};
  for (fabric::FabricSpec spec : specs) {
    SCOPED_TRACE(spec.name);
    const auto imported = Import(ToSimAi(spec));
    ASSERT_TRUE(imported.ok()) << imported.status();
    ExpectAlike(spec, imported->fabric.spec);
    EXPECT_TRUE(fabric::Problems(imported->fabric.spec).empty());
  }
  fabric::FabricSpec tree = fabric::FatTree(4);
  tree.gpus_per_host = 1;
  const auto imported = Import(ToSimAi(tree));
  ASSERT_TRUE(imported.ok()) << imported.status();
  ExpectAlike(tree, imported->fabric.spec);
}

TEST(ImportSimAiTest, ImportedFabricsAreRenderedAndReadAgain) {
  const auto imported = Import(ToSimAi(fabric::SmallHpn(2, 2, 3)));
  ASSERT_TRUE(imported.ok());
  const auto objects = RenderFabric(imported->fabric);
  ASSERT_TRUE(objects.ok()) << objects.status();
  EXPECT_EQ(objects->size(), 1u + 2 * 2 * 3);
  const auto again = api::DecodeFabric(objects->front());
  ASSERT_TRUE(again.ok()) << again.status();
  ExpectAlike(imported->fabric.spec, again->spec);
}

TEST(ImportSimAiTest, APartlyFilledSegmentIsSaid) {
  std::string text = ToSimAi(fabric::SmallHpn(1, 2, 3));
  // Without the last server: its GPUs keep their numbers' place only if they are the last ones, so
  // build the same fabric with one server less in the second segment by hand.
  const auto whole = sim::ReadSimAiTopology(text, "t");
  ASSERT_TRUE(whole.ok());
  sim::SimAiTopology partly = *whole;
  const int gone = 8;
  const int first_gone = partly.gpus - gone;
  std::vector<sim::SimAiLink> links;
  for (sim::SimAiLink link : partly.links) {
    if (link.source >= first_gone && link.source < partly.gpus) continue;
    for (int* end : {&link.source, &link.target}) {
      if (*end >= partly.gpus) *end -= gone;
    }
    links.push_back(link);
  }
  partly.links = links;
  partly.gpus = first_gone;
  const auto imported = sim::ImportSimAi(partly, "t");
  ASSERT_TRUE(imported.ok()) << imported.status();
  EXPECT_EQ(imported->fabric.spec.hosts_per_segment, 3);
  EXPECT_THAT(Join(imported->notes, "\n"), HasSubstr("5 servers"));
}

TEST(ImportSimAiTest, WhatIsWrongIsNamedWithItsLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "t.simai:1: 0 words"},
      {"5 2 1 1\n", "4 words"},
      {"5 2 1 x 3 H100\n", "\"x\" is not a count"},
      {"5 2 4 1 3 H100\n", "leave no server"},
      {"5 2 1 1 3 H100\n3 4\n", "not a whole number of servers"},
      {"4 2 1 1 3 H100\n2 4\n", "t.simai:2: \"4\" is not the next switch"},
      {"4 2 1 1 3 H100\n2\n", "ends after 1 of 2"},
      {"4 2 1 1 1 H100\n2 3\n0 9 200Gbps 1ms 0\n", "t.simai:3: there is no node 9"},
      {"4 2 1 1 1 H100\n2 3\n0 0 200Gbps 1ms 0\n", "linked to itself"},
      {"4 2 1 1 1 H100\n2 3\n0 3 fast 1ms 0\n", "\"fast\" is not a bandwidth"},
      {"4 2 1 1 1 H100\n2 3\n0 3 -1Gbps 1ms 0\n", "is not a bandwidth"},
      {"4 2 1 1 1 H100\n2 3\n0 3 200Gbps\n", "3 words where 5"},
      {"4 2 1 1 2 H100\n2 3\n0 3 200Gbps 1ms 0\n", "1 links, and the first line says 2"},
      {"4 2 1 1 0 H100\n2 3\n0 3 200Gbps 1ms 0\n", "more than the 0 links"},
      {"4 2 1 1 1 H100\n2 3\n0 1 200Gbps 1ms 0\n", "links two GPUs"},
      {"4 2 1 1 1 H100\n2 3\n0 3 200Gbps 1ms 0\n", "GPU 1 has 0 NIC ports"},
      {"4 2 1 1 2 H100\n2 3\n0 3 200Gbps 1ms 0\n1 3 400Gbps 1ms 0\n", "ports of one speed"},
      {"4 2 1 1 2 H100\n2 3\n0 3 0.5Gbps 1ms 0\n1 3 0.5Gbps 1ms 0\n", "not a whole number"},
      {"3 2 1 0 0 H100\n2\n", "no switches but NVSwitches"},
      // Two ToRs, the second with a GPU of each server's own: irregular.
      {"8 2 2 2 5 H100\n4 5 6 7\n0 6 200Gbps 1ms 0\n1 7 200Gbps 1ms 0\n2 6 200Gbps 1ms 0\n"
       "3 6 200Gbps 1ms 0\n6 7 400Gbps 1ms 0\n",
       "shares ToR 6"},
      // Two segments that nothing joins.
      {"8 2 2 2 4 H100\n4 5 6 7\n0 6 200Gbps 1ms 0\n1 6 200Gbps 1ms 0\n2 7 200Gbps 1ms 0\n"
       "3 7 200Gbps 1ms 0\n",
       "no switch joins"},
      {"8 2 2 2 5 H100\n4 5 6 7\n0 6 200Gbps 1ms 0\n1 6 200Gbps 1ms 0\n2 7 200Gbps 1ms 0\n"
       "3 7 200Gbps 1ms 0\n6 7 400Gbps 1ms 0\n",
       "of one tier are linked"}};
  for (const auto& [text, message] : cases) {
    const auto imported = Import(text);
    ASSERT_FALSE(imported.ok()) << text;
    EXPECT_THAT(MessageOf(imported.status()), HasSubstr(message));
  }
}

TEST(ImportSimAiTest, UnevenCablingIsRefused) {
  const auto whole = sim::ReadSimAiTopology(ToSimAi(fabric::SmallHpn(1, 2, 2)), "t");
  ASSERT_TRUE(whole.ok());
  Random random(1);
  int refused = 0;
  for (int i = 0; i < 40; ++i) {
    sim::SimAiTopology broken = *whole;
    broken.links.erase(broken.links.begin() +
                       static_cast<std::ptrdiff_t>(random.Below(broken.links.size())));
    const auto imported = sim::ImportSimAi(broken, "t");
    if (!imported.ok()) ++refused;
    if (imported.ok()) {
      EXPECT_TRUE(fabric::Problems(imported->fabric.spec).empty());
    }
  }
  EXPECT_GT(refused, 20);  // a missing NVLink does not matter
}

TEST(ImportSimAiTest, TheSampleIsADualPlaneFabric) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunFabricImportCommand({"--from", "simai", kSample, "--name", "mine", "-o", "json"}, in,
                                   out, err),
            0)
      << err.str();
  const auto written = nlohmann::json::parse(out.str());
  const auto fabric = api::DecodeFabric(written.at("items").at(0));
  ASSERT_TRUE(fabric.ok()) << fabric.status();
  EXPECT_EQ(fabric->spec.name, "mine");
  EXPECT_EQ(fabric->spec.planes, 2);
  EXPECT_EQ(fabric->spec.segments_per_fabric_pod, 2);
  EXPECT_EQ(fabric->spec.tiers[0].up_ports, 4);
  EXPECT_THAT(err.str(), HasSubstr("ecmpHash"));
}

api::Node LabelledNode(const std::string& name, const std::string& leaf_key,
                       const std::string& leaf, const std::string& spine_key,
                       const std::string& spine) {
  api::Node node;
  node.metadata.name = name;
  workload::SetAmount(node.allocatable, api::kGpuResource, 8);
  if (!leaf.empty()) node.metadata.labels[leaf_key] = leaf;
  if (!spine.empty()) node.metadata.labels[spine_key] = spine;
  return node;
}

constexpr char kLeaf[] = "network.topology.nvidia.com/leaf";
constexpr char kSpine[] = "network.topology.nvidia.com/spine";

std::vector<api::Node> TwoSpines(const char* leaf_key = kLeaf, const char* spine_key = kSpine) {
  std::vector<api::Node> nodes;
  for (int i = 0; i < 12; ++i) {
    nodes.push_back(LabelledNode(StrCat("n", 10 + i), leaf_key, StrCat("leaf", i / 3), spine_key,
                                 StrCat("spine", i / 9)));
  }
  return nodes;
}

TEST(ImportTopographTest, SizesFollowFromLabelsAndTheFabricNamesTheLabels) {
  const api::Fabric base = LoadPreset("hpn-7.0").value();
  const auto imported = ImportTopograph(TwoSpines(), base, {});
  ASSERT_TRUE(imported.ok()) << imported.status();
  const fabric::FabricSpec& spec = imported->fabric.spec;
  EXPECT_EQ(spec.segment_label, kLeaf);
  EXPECT_EQ(spec.fabric_pod_label, kSpine);
  EXPECT_EQ(spec.fabric_pods, 2);
  EXPECT_EQ(spec.segments_per_fabric_pod, 3);
  EXPECT_EQ(spec.hosts_per_segment, 3);
  EXPECT_EQ(spec.tiers.size(), base.spec.tiers.size());
  EXPECT_FALSE(base.spec.ecmp_hash.empty());
  EXPECT_TRUE(spec.ecmp_hash.empty()) << "the hashes of a preset are examples";
}

TEST(ImportTopographTest, TierLabelsAndOwnKeysAreReadToo) {
  const api::Fabric base = LoadPreset("hpn-7.0").value();
  const auto newer = ImportTopograph(
      TwoSpines("fabric.topograph.run/tier-0", "fabric.topograph.run/tier-1"), base, {});
  ASSERT_TRUE(newer.ok()) << newer.status();
  EXPECT_EQ(newer->fabric.spec.segment_label, "fabric.topograph.run/tier-0");
  const auto own = ImportTopograph(TwoSpines("x/rack", "x/row"), base, {"x/rack", "x/row"});
  ASSERT_TRUE(own.ok()) << own.status();
  EXPECT_EQ(own->fabric.spec.fabric_pod_label, "x/row");
}

TEST(ImportTopographTest, DomainsAreReadFromTheLabelsThatNodesHave) {
  const api::Fabric base = LoadPreset("hpn-7.0").value();
  std::vector<api::Node> nodes = TwoSpines();
  EXPECT_EQ(ImportTopograph(nodes, base, {})->fabric.spec.scale_up.hosts_per_domain, 0);
  for (int i = 0; i < 5; ++i) {  // leaf0 has three hosts
    nodes[static_cast<std::size_t>(i)].metadata.labels["accelerator.topograph.run/domain"] = "nvl1";
  }
  nodes[5].metadata.labels["nvidia.com/gpu.clique"] = "0a1b.2";
  nodes[5].metadata.labels["accelerator.topograph.run/sub-domain"] = "2";
  const auto imported = ImportTopograph(nodes, base, {});
  ASSERT_TRUE(imported.ok()) << imported.status();
  const fabric::ScaleUp& scale_up = imported->fabric.spec.scale_up;
  EXPECT_EQ(scale_up.label, "accelerator.topograph.run/domain");
  EXPECT_EQ(scale_up.more_labels, std::vector<std::string>{"nvidia.com/gpu.clique"});
  EXPECT_EQ(scale_up.hosts_per_domain, 3);
  EXPECT_THAT(imported->notes, testing::Contains(HasSubstr("3 domains")));
  EXPECT_THAT(imported->notes, testing::Contains(HasSubstr("sub-domain is not used")));
}

TEST(ImportTopographTest, WhatIsWrongIsNamed) {
  const api::Fabric base = LoadPreset("hpn-7.0").value();
  std::vector<api::Node> nodes = TwoSpines();
  nodes[1].metadata.labels.erase(kLeaf);
  EXPECT_THAT(
      MessageOf(ImportTopograph(nodes, base, {}).status()),
      HasSubstr("metadata.labels[\"network.topology.nvidia.com/leaf\"]: is missing on n11"));
  nodes = TwoSpines();
  nodes[1].metadata.labels[kSpine] = "spine9";
  EXPECT_THAT(MessageOf(ImportTopograph(nodes, base, {}).status()),
              HasSubstr("leaf leaf0 is under spine0 by Node n10 and under spine9 by Node n11"));
  nodes = TwoSpines();
  workload::SetAmount(nodes[3].allocatable, api::kGpuResource, 4);
  EXPECT_THAT(MessageOf(ImportTopograph(nodes, base, {}).status()), HasSubstr("Node n13"));
  for (api::Node& node : nodes) workload::SetAmount(node.allocatable, api::kGpuResource, 0);
  EXPECT_THAT(MessageOf(ImportTopograph(nodes, base, {}).status()), HasSubstr("no Node has GPUs"));
  const api::Fabric podless = LoadPreset("two-layer-clos").value();
  EXPECT_THAT(MessageOf(ImportTopograph(TwoSpines(), podless, {}).status()),
              HasSubstr("spec.size.fabricPods"));
}

nlohmann::json NicObject(const std::string& node, int rail, const std::vector<int>& planes) {
  nlohmann::json ports = nlohmann::json::array();
  for (const int plane : planes) {
    ports.push_back({{"pci", "0000:1a:00.0"}, {"networkInterface", StrCat("r", rail, "p", plane)}});
  }
  return {{"apiVersion", kNicDeviceVersion},
          {"kind", kNicDeviceKind},
          {"metadata",
           {{"name", StrCat(node, "-", rail, "-", planes.front())}, {"namespace", "network"}}},
          {"spec",
           {{"interfaceNameTemplate",
             {{"nicIndex", rail}, {"railIndex", rail}, {"planeIndices", planes}}}}},
          {"status", {{"node", node}, {"ports", ports}}}};
}

// NICs of the hosts: of each rail one for each list of planes.
std::vector<NicDevice> Nics(const std::vector<std::string>& hosts, int rails,
                            const std::vector<std::vector<int>>& planes) {
  std::vector<NicDevice> out;
  for (const std::string& host : hosts) {
    for (int rail = 0; rail < rails; ++rail) {
      for (const std::vector<int>& of_nic : planes) {
        const auto nic = DecodeNicDevice(NicObject(host, rail, of_nic));
        EXPECT_TRUE(nic.ok()) << nic.status();
        if (nic.ok()) out.push_back(*nic);
      }
    }
  }
  return out;
}

const std::vector<std::string> kThree = {"h0", "h1", "h2"};

TEST(SetNicsTest, RailsAndPlanesAreThoseOfTheNics) {
  fabric::FabricSpec spec = LoadPreset("hpn-7.0")->spec;
  spec.rails = 1;
  const auto found = SetNics(kThree, Nics(kThree, 8, {{0, 1}}), spec);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(spec.rails, 8);
  EXPECT_EQ(spec.planes, 2);
  EXPECT_EQ(spec.nic_ports, 2);
  EXPECT_FALSE(spec.nic_spraying);
  EXPECT_THAT(found->notes,
              testing::ElementsAre(
                  "NicDevices say 8 rails in 2 planes; the Fabric had 1 rail in 2 planes"));
  ASSERT_EQ(found->ports.size(), 16U);
  EXPECT_EQ(found->ports[3], (NicPortValue{1, 1, "r1p1"}));
}

TEST(SetNicsTest, NicsOfOneRailShareOutItsPlanes) {
  fabric::FabricSpec spec = LoadPreset("hpn-7.0")->spec;
  const auto found = SetNics(kThree, Nics(kThree, 8, {{1}, {0}}), spec);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(found->notes, std::vector<std::string>{"NicDevices say 8 rails in 2 planes"});
}

TEST(SetNicsTest, HardwareThatBalancesPacketsSprays) {
  fabric::FabricSpec spec = LoadPreset("hpn-7.0")->spec;
  std::vector<NicDevice> nics;
  for (int rail = 0; rail < 8; ++rail) {
    nlohmann::json object = NicObject("h0", rail, {0, 1});
    object["spec"]["configuration"]["template"]["spectrumXOptimized"]["multiplaneMode"] = "hwplb";
    nics.push_back(DecodeNicDevice(object).value());
  }
  ASSERT_TRUE(SetNics({"h0"}, nics, spec).ok());
  EXPECT_TRUE(spec.nic_spraying);
  nics.back().spraying = false;
  EXPECT_THAT(MessageOf(SetNics({"h0"}, nics, spec).status()),
              HasSubstr("Node h0: spec.configuration.template.spectrumXOptimized.multiplaneMode: "
                        "is hwplb for 7 of 8 NICs"));
}

TEST(SetNicsTest, HostsUnlikeMostAreNamedWithTheField) {
  const auto notes_with = [](const std::vector<NicDevice>& of_h2) {
    fabric::FabricSpec spec = LoadPreset("hpn-7.0")->spec;
    std::vector<NicDevice> nics = Nics({"h0", "h1"}, 8, {{0, 1}});
    nics.insert(nics.end(), of_h2.begin(), of_h2.end());
    const auto found = SetNics(kThree, nics, spec);
    EXPECT_TRUE(found.ok()) << found.status();
    EXPECT_EQ(spec.planes, 2);
    EXPECT_TRUE(found->ports.empty());
    return Join(found->notes, "\n");
  };
  const std::vector<std::string> h2 = {"h2"};
  EXPECT_THAT(notes_with(Nics(h2, 4, {{0, 1}})),
              HasSubstr("Node h2: spec.interfaceNameTemplate.railIndex: 4 rails, most hosts have "
                        "8"));
  EXPECT_THAT(notes_with(Nics(h2, 8, {{0, 1}, {2, 3}})),
              HasSubstr("Node h2: spec.interfaceNameTemplate.planeIndices: 4 planes"));
  EXPECT_THAT(notes_with(Nics(h2, 8, {{0, 1}, {1, 2}})),
              HasSubstr("the NICs of rail 0 have two ports in plane 1"));
  EXPECT_THAT(notes_with(Nics(h2, 8, {{1}})), HasSubstr("rail 0 have no port below plane 1"));
  std::vector<NicDevice> without_rail_0 = Nics(h2, 2, {{0, 1}});
  without_rail_0.erase(without_rail_0.begin());
  EXPECT_THAT(notes_with(without_rail_0), HasSubstr("there is a rail 1 and no rail 0"));
  EXPECT_THAT(notes_with({}), HasSubstr("Node h2: no NicDevice names a rail of it"));
}

TEST(SetNicsTest, WithoutNicsOfTheHostsNothingChanges) {
  fabric::FabricSpec spec = LoadPreset("hpn-7.0")->spec;
  for (const auto& nics : {std::vector<NicDevice>{}, Nics({"other"}, 2, {{0}})}) {
    const auto found = SetNics(kThree, nics, spec);
    ASSERT_TRUE(found.ok()) << found.status();
    EXPECT_TRUE(found->notes.empty());
    EXPECT_EQ(spec.rails, 8);
  }
}

TEST(SetNicsTest, NicsThatTheFabricHasNoPortsForAreRefused) {
  fabric::FabricSpec spec = LoadPreset("hpn-7.0")->spec;
  EXPECT_THAT(MessageOf(SetNics(kThree, Nics(kThree, 7, {{0, 1}}), spec).status()),
              HasSubstr("NicDevices say 7 rails in 2 planes: "));
}

TEST(SetNicsTest, AFieldThatCannotBeReadIsNamed) {
  nlohmann::json object = NicObject("h0", 99, {0});
  object["spec"]["interfaceNameTemplate"]["planeIndices"] = {-1};
  object["status"].erase("node");
  const std::string message = MessageOf(DecodeNicDevice(object).status());
  EXPECT_THAT(message, HasSubstr("spec.interfaceNameTemplate.railIndex"));
  EXPECT_THAT(message, HasSubstr("spec.interfaceNameTemplate.planeIndices[0]"));
  EXPECT_THAT(message, HasSubstr("status.node: is missing"));
}

TEST(ImportTopographTest, TheCommandTakesRailsFromNicDevices) {
  std::string objects;
  for (const api::Node& node : TwoSpines()) {
    objects += api::EncodeNode(node).dump() + "\n---\n";
    for (int rail = 0; rail < 8; ++rail) {
      objects += NicObject(node.metadata.name, rail, {0, 1}).dump() + "\n---\n";
    }
  }
  std::istringstream in(objects);
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunFabricImportCommand(
                {"--from", "topograph", "-", "-o", "json", "--preset", "hpn-7.0"}, in, out, err),
            0)
      << err.str();
  EXPECT_THAT(err.str(), HasSubstr("note: NicDevices say 8 rails in 2 planes\n"));
  EXPECT_THAT(err.str(),
              HasSubstr("agent:\n  nicPorts:\n  - {rail: 0, port: 0, interface: \"r0p0\"}\n"));
}

TEST(ImportTopographTest, TheCommandReadsNodesAndAsksForAPreset) {
  std::string nodes;
  for (const api::Node& node : TwoSpines()) nodes += api::EncodeNode(node).dump() + "\n---\n";
  std::string hints;
  const auto run = [&](std::vector<std::string> more, std::string& said) {
    std::vector<std::string> args = {"--from", "topograph", "-", "-o", "json"};
    args.insert(args.end(), more.begin(), more.end());
    std::istringstream in(nodes);
    std::ostringstream out;
    std::ostringstream err;
    const int code = RunFabricImportCommand(args, in, out, err);
    said = code == 0 ? out.str() : err.str();
    hints = err.str();
    return code;
  };
  std::string said;
  EXPECT_EQ(run({"--preset", "hpn-7.0"}, said), 0) << said;
  EXPECT_THAT(said, HasSubstr("\"fabricPods\": 2"));
  EXPECT_THAT(hints, HasSubstr(StrCat("agent:\n  affinity:\n    nodeAffinity:\n")));
  EXPECT_THAT(hints, HasSubstr(StrCat("- {key: \"", kLeaf, "\", operator: Exists}\n")));
  EXPECT_EQ(run({}, said), 1);
  EXPECT_THAT(said, HasSubstr("--preset"));
}

}  // namespace
}  // namespace yardmaster::cli
