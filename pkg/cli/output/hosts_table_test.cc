#include "pkg/cli/output/hosts_table.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/host_record.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;

constexpr std::int64_t kNow = 1'767'225'600'000;  // 2026-01-01T00:00:00Z

json Host(const std::string& name) {
  return {
      {"apiVersion", "v1"},
      {"kind", "Node"},
      {"metadata",
       {{"name", name}, {"labels", {{api::kFabricPodLabel, "p0"}, {api::kSegmentLabel, "s0"}}}}},
      {"status",
       {{"allocatable", {{api::kGpuResource, "8"}}},
        {"conditions", json::array({{{"type", "Ready"}, {"status", "True"}}})}}}};
}

Table TableOf(const json& node) {
  state::ClusterCache cache;
  cache.Deliver(state::Kind::kNode, node);
  return HostsTable(cache.Take(), kNow);
}

TEST(HostsTableTest, AFreeHostIsShownWithItsPlace) {
  EXPECT_THAT(TableOf(Host("n0"))[1], ElementsAre("n0", "p0", "s0", "8", "8", "Free", ""));
}

TEST(HostsTableTest, AQuarantinedHostSaysForWhatAndUntilWhen) {
  api::HostRecord record;
  record.quarantines = 1;
  record.until_ms = kNow + 1'800'000;
  record.failures.push_back({"team/a", "u", 3, 5, 134, kNow - 60'000});
  json node = Host("n0");
  node["metadata"]["annotations"][api::kHostRecordAnnotation] = api::EncodeHostRecord(record);
  node["spec"]["taints"] = json::array({{{"key", api::kQuarantinedKey}, {"effect", "NoSchedule"}}});
  EXPECT_THAT(TableOf(node)[1],
              ElementsAre("n0", "p0", "s0", "8", "8", "Quarantined",
                          "1 failure, last rank 5 of team/a with exit code 134; until "
                          "2026-01-01T00:30:00Z"));
}

TEST(HostsTableTest, AHostThatIsOutSaysWhy) {
  json node = Host("n0");
  node["spec"]["taints"] = json::array({{{"key", "repair"}, {"effect", "NoSchedule"}}});
  EXPECT_THAT(TableOf(node)[1], ElementsAre("n0", "p0", "s0", "8", "8", "Tainted", "repair"));
  node["spec"]["unschedulable"] = true;
  EXPECT_EQ(TableOf(node)[1][5], "Cordoned");
  node["status"]["conditions"][0]["status"] = "False";
  EXPECT_EQ(TableOf(node)[1][5], "NotReady");
}

TEST(HostsTableTest, PortsThatAreDownAreNamed) {
  json node = Host("n0");
  node["metadata"]["annotations"][api::kDownPortsAnnotation] = "r0p1";
  const Table rows = TableOf(node);
  EXPECT_EQ(rows[1][5], "Degraded");
  EXPECT_EQ(rows[1][6], "ports down: r0p1");
}

TEST(HostsTableTest, HostsThatDifferInTheirNameAloneAreOneRow) {
  const Table hosts = {{"HOST", "SEGMENT", "STATE"}, {"h08", "s0", "Free"}, {"h09", "s0", "Held"},
                       {"h10", "s0", "Free"},        {"h11", "s0", "Free"}, {"h12", "s1", "Free"}};
  EXPECT_THAT(GroupedHosts(hosts), ElementsAre(ElementsAre("HOST", "COUNT", "SEGMENT", "STATE"),
                                               ElementsAre("h[08,10-11]", "3", "s0", "Free"),
                                               ElementsAre("h09", "1", "s0", "Held"),
                                               ElementsAre("h12", "1", "s1", "Free")));
}

}  // namespace
}  // namespace yardmaster::cli
