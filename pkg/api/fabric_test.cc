#include "pkg/api/fabric.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

TEST(FabricTest, EveryFabricOfTheTestsReadsBackAsItWasWritten) {
  for (const fabric::FabricSpec& spec : {fabric::SmallHpn(2, 2, 4), fabric::SinglePlaneHpn(1, 2, 4),
                                         fabric::FatTree(4), fabric::StripedCore(2, 2, 4)}) {
    Fabric written;
    written.metadata.name = spec.name;
    written.spec = spec;
    written.spec.levels.reserved = {0, 7};
    written.spec.levels.traffic_class_of_level = {{1, 32}, {7, 224}};
    written.spec.backup.borrow_in_fabric_pod = true;
    written.status.hosts = 5;
    written.status.lost_segments = {{"p0", "p0s1", 1'700'000'000'000}};
    const json text = EncodeFabric(written);
    auto again = DecodeFabric(text);
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(EncodeFabric(*again), text);
    EXPECT_EQ(fabric::Problems(again->spec), std::vector<std::string>());
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

}  // namespace
}  // namespace yardmaster::api
