#include "pkg/cli/output/path_loads.h"

#include <gtest/gtest.h>
#include <map>
#include <sstream>
#include <string>

#include "nlohmann/json.hpp"

#include "pkg/cli/dispatch.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;

constexpr char kJob[] = R"(---
apiVersion: yardmaster.dev/v1alpha1
kind: TrainingJob
metadata: {name: a, namespace: default}
spec:
  workers: 8
  gpusPerWorker: 8
  parallelism: {tensor: 8, data: 8}
  placement: {data: {within: FabricPod, mode: Required}}
  template: {spec: {containers: [{name: trainer, image: registry.example/trainer:1}]}}
)";

TEST(PathLoadsTest, PlanWithPathsSaysHowFullTheUplinksAreAndWhatIsPossible) {
  std::istringstream none;
  std::ostringstream fabric;
  std::ostringstream err;
  ASSERT_EQ(Dispatch({"fabric", "render", "--preset", "hpn-small", "--segments", "2", "--hosts",
                      "4", "--backup-hosts", "0"},
                     none, fabric, err),
            0)
      << err.str();
  std::istringstream in(fabric.str() + kJob);
  std::ostringstream out;
  ASSERT_EQ(Dispatch({"plan", "--offline", "-f", "-", "--paths", "-o", "json"}, in, out, err), 0)
      << err.str();
  const json report = json::parse(out.str());
  ASSERT_FALSE(report["uplinks"].empty());
  std::map<std::string, int> flows;
  for (const json& path : report["paths"]) {
    const json& links = path["links"];
    // Links between switches stand between the two NICs' own.
    for (std::size_t i = 1; i + 1 < links.size(); ++i) ++flows[links[i].get<std::string>()];
  }
  int counted = 0;
  for (const json& uplink : report["uplinks"]) {
    EXPECT_EQ(uplink["links"], 60);
    EXPECT_GE(uplink["fullest"], uplink["bound"]);
    int sum = 0;
    const json& loads = uplink["loads"];
    for (const auto& [link, load] : loads.items()) {
      EXPECT_EQ(load, flows[link]) << link;
      EXPECT_LE(load, uplink["fullest"]);
      sum += load.get<int>();
      ++counted;
    }
    EXPECT_EQ(uplink["flows"], sum);
  }
  EXPECT_EQ(counted, static_cast<int>(flows.size()));
}

json PlanOn(const std::string& manifests) {
  std::istringstream in(manifests);
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(Dispatch({"plan", "--offline", "-f", "-", "--paths", "-o", "json"}, in, out, err), 0)
      << err.str();
  return json::parse(out.str());
}

TEST(PathLoadsTest, SprayedFlowsHaveNoPortAndTheHostThatHoldsAGangBackIsNamed) {
  std::istringstream none;
  std::ostringstream fabric;
  std::ostringstream err;
  ASSERT_EQ(Dispatch({"fabric", "render", "--preset", "mrc-like", "--segments", "2", "--hosts", "4",
                      "--backup-hosts", "0"},
                     none, fabric, err),
            0)
      << err.str();
  json report = PlanOn(fabric.str() + kJob);
  EXPECT_TRUE(report["uplinks"].empty());
  ASSERT_FALSE(report["paths"].empty());
  for (const json& path : report["paths"]) {
    EXPECT_EQ(path["sprayed"], true);
    EXPECT_EQ(path["sourcePort"], 0);
    EXPECT_TRUE(path["links"].empty());
  }
  EXPECT_FALSE(report["jobs"][0].contains("heldBack"));
  EXPECT_TRUE(report["jobs"][0].contains("network"));

  std::string degraded = fabric.str();
  const std::string fake = "kwok.x-k8s.io/node: fake";
  ASSERT_NE(degraded.find(fake), std::string::npos);
  degraded.insert(degraded.find(fake), "yardmaster.dev/down-ports: r2p5\n    ");
  report = PlanOn(degraded + kJob);
  const json& held = report["jobs"][0]["heldBack"];
  EXPECT_EQ(held["share"], 7.0 / 8);
  EXPECT_NE(held["message"].get<std::string>().find("1 of 8 ports of rail 2 is down"),
            std::string::npos)
      << held;
}

}  // namespace
}  // namespace yardmaster::cli
