// `plan --avoid-contention`: where the flag changes a place, and that nothing else does.
#include <set>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/cli/dispatch.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

// Four segments of four hosts; every ToR has one uplink, as fast as a NIC port.
constexpr char kScarce[] = R"(apiVersion: yardmaster.dev/v1alpha1
kind: Fabric
metadata: {name: scarce}
spec:
  host: {gpus: 8, rails: 8, nicPorts: 2, nicGbps: 200}
  planes: 2
  size: {fabricPods: 1, segmentsPerFabricPod: 4, hostsPerSegment: 4}
  tiers:
  - {role: tor, scope: Segment, perRail: true, downPorts: 4, downGbps: 200, upPorts: 1, upGbps: 200}
  - {role: agg, scope: FabricPod, switches: 1, downPorts: 32, downGbps: 200}
)";

std::string Nodes() {
  std::string out;
  for (int s = 0; s < 4; ++s) {
    for (int h = 0; h < 4; ++h) {
      out += StrCat("---\napiVersion: v1\nkind: Node\nmetadata: {name: s", s, "h", h,
                    ", labels: {yardmaster.dev/fabric-pod: p0, yardmaster.dev/segment: s", s,
                    "}}\nstatus: {allocatable: {nvidia.com/gpu: \"8\"}, ",
                    "conditions: [{type: Ready, status: \"True\"}]}\n");
    }
  }
  return out;
}

// Six workers, which need a segment and a half.
std::string Job(const std::string& name, double bytes) {
  return StrCat(
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: ", name,
      "}\nspec: {workers: 6, parallelism: {tensor: 8, data: 6}, template: {}, ",
      "profile: {flopPerIteration: 6.0e+15, computeSeconds: 1, dataBytes: ", bytes, "}}\n");
}

// The second of two jobs.
json Second(double bytes, const std::vector<std::string>& flags) {
  std::vector<std::string> args = {"plan", "--offline", "-f", "-"};
  args.insert(args.end(), flags.begin(), flags.end());
  std::istringstream in(kScarce + Nodes() + Job("a", bytes) + Job("b", bytes));
  std::ostringstream out, err;
  EXPECT_EQ(Dispatch(args, in, out, err), 0) << err.str();
  const json report = json::parse(out.str(), nullptr, false);
  EXPECT_EQ(report["jobs"].size(), 2u) << out.str();
  const json second = report["jobs"].back();
  EXPECT_EQ(second["name"], "b");
  EXPECT_EQ(second["outcome"], "Placed");
  return second;
}

std::set<std::string> SegmentsOf(const json& job) {
  std::set<std::string> segments;
  for (const json& entry : job["assignments"]) segments.insert(entry["segment"]);
  return segments;
}

TEST(PlanContentionTest, TheFlagTakesIdleUplinksAmongEqualPlacesAndSaysWhy) {
  const json packed = Second(4e10, {});
  const json spread = Second(4e10, {"--avoid-contention"});
  EXPECT_EQ(packed["objective"], spread["objective"]);
  EXPECT_NE(SegmentsOf(packed), SegmentsOf(spread));
  EXPECT_FALSE(packed.contains("contention"));
  EXPECT_THAT(spread["contention"].get<std::string>(), HasSubstr("less lost to contention"));
}

TEST(PlanContentionTest, WithoutTrafficTheFlagChangesNothing) {
  EXPECT_EQ(Second(1e3, {"--avoid-contention"}), Second(1e3, {}));
}

}  // namespace
}  // namespace yardmaster::cli
