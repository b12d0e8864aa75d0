#include "pkg/api/fabric.h"

#include <algorithm>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

TEST(FabricTest, EveryFabricOfTheTestsReadsBackAsItWasWritten) {
  for (const fabric::FabricSpec& spec :
       {fabric::SmallHpn(2, 2, 4), fabric::SinglePlaneHpn(1, 2, 4), fabric::FatTree(4),
        fabric::StripedCore(2, 2, 4), fabric::RailGroups(2, 2, 4)}) {
    Fabric written;
    written.metadata.name = spec.name;
    written.spec = spec;
    written.spec.levels.reserved = {0, 7};
    written.spec.levels.traffic_class_of_level = {{1, 32}, {7, 224}};
    written.spec.backup.borrow_in_fabric_pod = true;
    written.spec.switch_names = {{"p0/p0s0/tor-r0-p0", "leaf-a1.example.com"}};
    written.status.hosts = 5;
    written.status.lost_segments = {{"p0", "p0s1", 1'700'000'000'000}};
    written.status.lost_domains = {{"p0", "p0s1", "p0s1d0", 1'700'000'000'000}};
    const json text = EncodeFabric(written);
    auto again = DecodeFabric(text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(EncodeFabric(*again), text);
    EXPECT_EQ(fabric::Problems(again->spec), std::vector<std::string>());
    EXPECT_EQ(again->spec.switch_names, written.spec.switch_names);
    EXPECT_EQ(again->spec.tiers[0].rails_per_switch, spec.tiers[0].rails_per_switch);
  }
}

TEST(FabricTest, WrongFieldsAreNamed) {
  Fabric fabric;
  fabric.metadata.name = "f";
  fabric.spec = fabric::SmallHpn(1, 2, 4);
  json text = EncodeFabric(fabric);
  text["spec"]["tiers"][1]["scope"] = "Pod";
  text["spec"]["tiers"][0]["downPort"] = 4;
  text["spec"]["host"]["rails"] = 0;
  const std::string message = MessageOf(DecodeFabric(text).status());
  EXPECT_NE(message.find("spec.tiers[1].scope: expected Segment, FabricPod or Fabric"),
            std::string::npos);
  EXPECT_NE(message.find("spec.tiers[0].downPort: there is no such field; did you mean downPorts?"),
            std::string::npos);
  EXPECT_NE(message.find("spec.host.rails: expected an integer from 1 to 64, got 0"),
            std::string::npos);
}

TEST(FabricTest, AFileMayGiveTheLabelsOfDomainsAsOneList) {
  Fabric fabric;
  fabric.metadata.name = "f";
  fabric.spec = fabric::SmallHpn(1, 2, 4);
  json text = EncodeFabric(fabric);
  text["spec"]["scaleUp"] = {{"label", {"x/first", "x/second", "x/third"}}, {"hostsPerDomain", 18}};
  const auto listed = DecodeFabric(text);
  ASSERT_TRUE(listed.ok()) << listed.status();
  EXPECT_EQ(listed->spec.scale_up.label, "x/first");
  EXPECT_EQ(listed->spec.scale_up.more_labels, (std::vector<std::string>{"x/second", "x/third"}));
  EXPECT_EQ(listed->spec.scale_up.hosts_per_domain, 18);
  const auto again = DecodeFabric(EncodeFabric(*listed));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->spec.scale_up.more_labels, listed->spec.scale_up.more_labels);
  text["spec"]["scaleUp"] = {{"label", json::array({"x/only"})}};
  EXPECT_EQ(DecodeFabric(text).value().spec.scale_up.label, "x/only");
  for (const json& wrong : {json::array(), json::array({7}), json::array({"x/a", "x/a", "x/a"})}) {
    text["spec"]["scaleUp"] = {{"label", wrong}};
    EXPECT_NE(MessageOf(DecodeFabric(text).status()).find("spec.scaleUp."), std::string::npos)
        << wrong;
  }
}

TEST(FabricTest, OnlyWhatForwardsPacketsIsInTheForwardingText) {
  const fabric::FabricSpec spec = fabric::SmallHpn(2, 2, 4);
  const std::string text = ForwardingText(spec);
  fabric::FabricSpec same = spec;
  same.backup.hosts_per_segment += 1;
  same.backup.borrow_in_segment = !same.backup.borrow_in_segment;
  same.levels.count = 5;
  same.levels.reserved = {4};
  same.levels.traffic_class_of_level = {{1, 32}};
  same.nvlink_gbps += 1;
  same.gpu_resource = "amd.com/gpu";
  EXPECT_EQ(ForwardingText(same), text);

  std::vector<fabric::FabricSpec> others(8, spec);
  others[0].planes = 1;
  others[1].tiers[0].up_ports += 1;
  others[2].tiers.back().stripes += 1;
  others[3].addressing.base = "10.9.0.0";
  others[4].nic_spraying = !spec.nic_spraying;
  others[5].segment_label = "rack";
  others[6].hosts_per_segment += 1;
  others[7].tiers[1].spraying = true;
  for (std::size_t i = 0; i < others.size(); ++i) EXPECT_NE(ForwardingText(others[i]), text) << i;
}

TEST(FabricTest, StatusReadsBackAsItWasWritten) {
  Fabric fabric;
  fabric.metadata.name = "f";
  fabric.spec = fabric::SmallHpn(1, 1, 2);
  fabric.status.observed_generation = 3;
  fabric.status.network_generation = 2;
  fabric.status.fabric_pods = 1;
  fabric.status.segments = 1;
  fabric.status.hosts = 2;
  fabric.status.backup_hosts = 1;
  fabric.status.lost_segments = {{"p0", "s0", 1'700'000'000'000}};
  fabric.status.lost_domains = {{"p0", "s1", "d0", 1'700'000'000'000}};
  fabric.status.conditions = {{"Ready", ConditionStatus::kTrue, "A", "m", 3, 1'700'000'000'000}};
  const auto again = DecodeFabric(EncodeFabric(fabric));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->status, fabric.status);
  fabric.status = {};
  EXPECT_FALSE(EncodeFabric(fabric).contains("status"));
}

TEST(FabricTest, BoundsOfTheSchemaHold) {
  const json good = [] {
    Fabric fabric;
    fabric.metadata.name = "f";
    fabric.spec = fabric::SmallHpn(1, 2, 4);
    return EncodeFabric(fabric);
  }();
  const std::pair<const char*, json> wrong[] = {{"/spec/host/gpus", 65},
                                                {"/spec/planes", 17},
                                                {"/spec/size/hostsPerSegment", 10'001},
                                                {"/spec/backup/ratio", 0.91},
                                                {"/spec/networkLevels/count", 0},
                                                {"/spec/tiers/0/downPorts", 0},
                                                {"/status/hosts", -1}};
  for (const auto& [pointer, value] : wrong) {
    json object = good;
    object[json::json_pointer(pointer)] = value;
    std::string field = std::string(pointer).substr(1);
    std::replace(field.begin(), field.end(), '/', '.');
    const std::size_t index = field.find("tiers.0");
    if (index != std::string::npos) field.replace(index, 7, "tiers[0]");
    EXPECT_EQ(MessageOf(DecodeFabric(object).status()).rfind(field + ": expected ", 0), 0u)
        << MessageOf(DecodeFabric(object).status());
  }
}

}  // namespace
}  // namespace yardmaster::api
