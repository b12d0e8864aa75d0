#include "pkg/cli/trace_command.h"

#include <memory>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;

std::string Line(const Step& step) {
  return FormatTime(step.time_ms).substr(11, 8) + " " + step.source + " | " + step.object + " | " +
         step.text;
}

TEST(TraceTest, OneGangsWayInTheOrderOfTime) {
  const std::int64_t begin = 1'700'000'000'000;  // 22:13:20
  state::ClusterState cluster;
  api::Gang gang;
  gang.metadata.name = "trainingjob-bert";
  gang.metadata.namespace_name = "demo";
  gang.metadata.created_ms = begin + 1'000;
  gang.owner = {"yardmaster.dev/v1alpha1", "TrainingJob", "bert", "", false};
  gang.status.plan_generation = 1;
  gang.status.committed_ms = begin + 3'000;
  gang.status.conditions = {
      {"Released", api::ConditionStatus::kTrue, "Released", "2 pods", 0, begin + 4'000}};
  cluster.gangs.Put(std::make_shared<const api::Gang>(gang));
  const std::vector<json> events = {
      json::parse(
          R"({"regarding": {"kind": "Gang", "name": "trainingjob-bert"}, "reason": "Placed", "note": "2 workers",
        "reportingController": "yardmaster.dev/extender", "eventTime": "2023-11-14T22:13:22.500000Z"})"),
      json::parse(
          R"({"regarding": {"kind": "Gang", "name": "other"}, "reason": "Placed", "note": "x",
        "reportingController": "yardmaster.dev/extender", "eventTime": "2023-11-14T22:13:22.500000Z"})"),
      json::parse(
          R"({"regarding": {"kind": "TrainingJob", "name": "bert"}, "reason": "Odd", "note": "x", "eventTime": null})")};
  const auto steps = TraceOf(cluster, "demo", "bert", events);
  ASSERT_TRUE(steps.ok()) << steps.status();
  std::vector<std::string> lines;
  for (const Step& step : *steps) lines.push_back(Line(step));
  EXPECT_THAT(
      lines,
      ElementsAre("22:13:21 extender | Gang trainingjob-bert | made",
                  "22:13:22 extender | Gang trainingjob-bert | Placed: 2 workers",
                  "22:13:23 extender | Gang trainingjob-bert | committed: plan 1",
                  "22:13:24 extender | Gang trainingjob-bert | Released (Released): 2 pods"));
  EXPECT_FALSE(TraceOf(cluster, "demo", "none", {}).ok());
}

}  // namespace
}  // namespace yardmaster::cli
