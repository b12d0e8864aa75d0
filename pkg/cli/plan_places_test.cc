// `plan --offline` over Nodes whose labels name places in an unusual way.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/cli/testing/offline_plan.h"

namespace yardmaster::cli {
namespace {

using ::testing::HasSubstr;

std::string Node(const std::string& name, const std::string& fabric_pod,
                 const std::string& segment) {
  return StrCat("---\napiVersion: v1\nkind: Node\nmetadata: {name: ", name,
                ", labels: {yardmaster.dev/fabric-pod: ", fabric_pod,
                ", yardmaster.dev/segment: ", segment,
                "}}\nstatus: {allocatable: {nvidia.com/gpu: \"8\"}, ",
                "conditions: [{type: Ready, status: \"True\"}]}\n");
}

TEST(PlanPlacesTest, ReasonsTellSegmentsOfOneNameApart) {
  const PlanAnswer answer = PlanOffline(
      Node("h0", "p0", "s0") + Node("h1", "p1", "s0") + Node("h2", "p1", "s0") +
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: a}\n"
      "spec: {workers: 3, placement: {data: {within: Segment}}, template: {}}\n");
  EXPECT_EQ(answer.code, 0) << answer.err;
  const nlohmann::json job = answer.job("a");
  EXPECT_THAT(job["reasons"][0]["message"].get<std::string>(),
              HasSubstr("1 host short in segment p1/s0: "));
  EXPECT_EQ(job["relaxations"].back()["change"], "hosts: 1 more in segment p1/s0");
}

}  // namespace
}  // namespace yardmaster::cli
