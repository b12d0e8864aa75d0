#include "pkg/agent/ports/lldp.h"

#include "gmock/gmock.h"

#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const LldpNeighbour kLeafA1 = {"ens1f0np0", "leaf-a1", "aa:bb:cc:00:00:01", "Ethernet12"};

std::vector<LldpNeighbour> Parsed(std::string_view json) {
  auto parsed = ParseLldpNeighbours(json);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return parsed.ok() ? *std::move(parsed) : std::vector<LldpNeighbour>();
}

TEST(ParseLldpNeighbours, ReadsJson0) {
  EXPECT_THAT(Parsed(R"({"lldp": [{"interface": [
        {"name": "ens1f0np0", "via": "LLDP", "rid": "1", "age": "0 day, 00:10:00",
         "chassis": [{"id": [{"type": "mac", "value": "aa:bb:cc:00:00:01"}], "name": [{"value": "leaf-a1"}],
                      "descr": [{"value": "SONiC Software Version"}], "mgmt-ip": [{"value": "10.0.0.1"}, {"value": "fe80::1"}],
                      "capability": [{"type": "Bridge", "enabled": true}, {"type": "Router", "enabled": true}]}],
         "port": [{"id": [{"type": "local", "value": "Ethernet12"}], "descr": [{"value": "rail0 h3"}],
                   "ttl": [{"value": "120"}]}]},
        {"name": "ens1f1np1", "via": "LLDP", "rid": "2",
         "chassis": [{"id": [{"type": "mac", "value": "aa:bb:cc:00:00:02"}]}],
         "port": [{"id": [{"type": "ifname", "value": "swp4"}]}]}]}]})"),
              ElementsAre(kLeafA1, LldpNeighbour{"ens1f1np1", "aa:bb:cc:00:00:02",
                                                 "aa:bb:cc:00:00:02", "swp4"}));
}

TEST(ParseLldpNeighbours, ReadsJsonOfOneInterface) {
  EXPECT_THAT(
      Parsed(
          R"({"lldp": {"interface": {"ens1f0np0": {"via": "LLDP", "rid": "1", "age": "0 day, 00:00:59",
        "chassis": {"leaf-a1": {"id": {"type": "mac", "value": "aa:bb:cc:00:00:01"}, "descr": "switch",
                                "mgmt-ip": "10.0.0.1", "capability": {"type": "Bridge", "enabled": true}}},
        "port": {"id": {"type": "local", "value": "Ethernet12"}, "descr": "rail0 h3", "ttl": "120"}}}}})"),
      ElementsAre(kLeafA1));
}

TEST(ParseLldpNeighbours, ReadsJsonOfSeveralInterfacesAndSeveralNeighboursOfOne) {
  EXPECT_THAT(
      Parsed(R"({"lldp": {"interface": [
        {"ens1f0np0": {"via": "LLDP", "chassis": {"leaf-a1": {"id": {"type": "mac", "value": "aa:bb:cc:00:00:01"}}},
                       "port": {"id": {"type": "local", "value": "Ethernet12"}, "descr": "rail0 h3"}}},
        {"eth9": {"via": "LLDP", "chassis": {"id": {"type": "mac", "value": "aa:bb:cc:00:00:02"}},
                  "port": {"id": {"type": "ifname", "value": "swp4"}}}},
        {"eth9": {"via": "CDPv2", "chassis": {"id": {"id": {"type": "mac", "value": "aa:bb:cc:00:00:03"}}},
                  "port": {"id": {"type": "ifname", "value": "swp5"}}}}]}})"),
      ElementsAre(kLeafA1, LldpNeighbour{"eth9", "aa:bb:cc:00:00:02", "aa:bb:cc:00:00:02", "swp4"},
                  // A switch may be called "id".
                  LldpNeighbour{"eth9", "id", "aa:bb:cc:00:00:03", "swp5"}));
}

TEST(ParseLldpNeighbours, AHostWithoutNeighboursHasNone) {
  EXPECT_THAT(Parsed(R"({"lldp": {}})"), IsEmpty());
  EXPECT_THAT(Parsed(R"({"lldp": [{}]})"), IsEmpty());
  EXPECT_THAT(Parsed("{\n  \"lldp\": {\n    \n  }\n}\n\n"), IsEmpty());
}

TEST(ParseLldpNeighbours, SkipsEntriesThatNameNoPortOrChassis) {
  EXPECT_THAT(Parsed(R"({"lldp": {"interface": [
        {"a": {"chassis": {"x": {}}}}, {"b": {"port": {"id": {"value": "1"}}}}, {"c": "text"}, {"d": null}, 5, "e",
        {"": {"chassis": {"x": {}}, "port": {"id": "1"}}}, {"name": {"chassis": {"x": {}}, "port": {"id": "1"}}}]}})"),
              ElementsAre(LldpNeighbour{"name", "x", "", "1"}));
}

TEST(ParseLldpNeighbours, RefusesWhatIsNotItsJson) {
  for (const char* text : {"", "[]", "{}", "null", "{\"lldp\": 1}", "{\"lldp\": \"x\"}",
                           "lldp.eth0.via=LLDP", "{\"lldp\": {"}) {
    EXPECT_FALSE(ParseLldpNeighbours(text).ok()) << text;
  }
  EXPECT_FALSE(ParseLldpNeighbours(std::string(200'000, '[')).ok());
}

TEST(ParseLldpNeighbours, BoundsEntriesAndTexts) {
  const auto list = [](std::size_t n) {
    std::string text = R"({"lldp":{"interface":[)";
    for (std::size_t i = 0; i < n; ++i) {
      text +=
          StrCat(i == 0 ? "" : ",", R"({"e)", i, R"(":{"chassis":{"x":{}},"port":{"id":"1"}}})");
    }
    return text + "]}}";
  };
  EXPECT_EQ(Parsed(list(kMaxLldpNeighbours)).size(), kMaxLldpNeighbours);
  EXPECT_FALSE(ParseLldpNeighbours(list(kMaxLldpNeighbours + 1)).ok());
  // Not in the middle of a character.
  const std::string name = std::string(kMaxLldpText - 1, 'x') + "\xc3\xa4";
  const auto cut = Parsed(StrCat(R"({"lldp":{"interface":{"e":{"chassis":{")", name,
                                 R"(":{}},"port":{"id":")", name, R"("}}}}})"));
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_EQ(cut[0].chassis, std::string(kMaxLldpText - 1, 'x'));
  EXPECT_EQ(cut[0].port, std::string(kMaxLldpText - 1, 'x'));
}

}  // namespace
}  // namespace yardmaster::agent
