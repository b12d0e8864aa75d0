// `plan --offline` over a Fabric whose hashes cannot be used.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/cli/testing/offline_plan.h"
#include "pkg/cli/testing/small_fabric.h"

namespace yardmaster::cli {
namespace {

using ::testing::HasSubstr;

// The small Fabric with `overrides` in its spec, its Nodes and a job of two workers.
std::string FabricAndJob(const std::string& overrides) {
  std::string out = StrCat(kSmallFabric, overrides);
  for (int host = 0; host < 4; ++host) {
    out += StrCat("---\napiVersion: v1\nkind: Node\nmetadata: {name: h", host,
                  ", labels: {yardmaster.dev/fabric-pod: p0, yardmaster.dev/segment: s", host / 2,
                  "}}\nstatus: {allocatable: {nvidia.com/gpu: \"8\"}, ",
                  "conditions: [{type: Ready, status: \"True\"}]}\n");
  }
  return out +
         "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\n"
         "spec: {workers: 2, parallelism: {tensor: 8, data: 2}, template: {}}\n";
}

TEST(PlanHashesTest, AnOverrideForASwitchThatDoesNotExistIsReported) {
  const PlanAnswer good = PlanOffline(FabricAndJob(""));
  EXPECT_EQ(good.code, 0) << good.err;
  const PlanAnswer bad =
      PlanOffline(FabricAndJob("  ecmpHashOverrides: {nowhere: {model: xor16}}\n"));
  EXPECT_EQ(bad.code, 1);
  EXPECT_THAT(bad.err, HasSubstr("Fabric small: spec.ecmpHashOverrides[\"nowhere\"]"));
  EXPECT_EQ(bad.job("a")["outcome"], "Placed");
}

}  // namespace
}  // namespace yardmaster::cli
