#include "pkg/cli/output/json_path.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/cli/output/label_selector.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

const json kDocument = json::parse(
    R"({"jobs": [{"name": "a", "workers": 2, "state": null}, {"name": "b", "workers": 3}], "n": {"x": true}})");

std::string Eval(const char* text) {
  const auto answer = EvaluateJsonPath(text, kDocument);
  return answer.ok() ? *answer : "error: " + MessageOf(answer.status());
}

TEST(JsonPathTest, SelectsAsKubectlDoes) {
  EXPECT_EQ(Eval("{.jobs[*].name}"), "a b");
  EXPECT_EQ(Eval("{.jobs[0].workers}"), "2");
  EXPECT_EQ(Eval("{.jobs[-1].name}"), "b");
  EXPECT_EQ(Eval("{$.n.x}!"), "true!");
  EXPECT_EQ(Eval("{.n}"), R"({"x":true})");
  EXPECT_EQ(Eval("{.none.deeper}{.jobs[9].name}"), "");
  EXPECT_EQ(Eval(R"({range .jobs[*]}{.name}={.workers}{"\n"}{end})"), "a=2\nb=3\n");
  EXPECT_EQ(Eval(R"({range .none[*]}{.name}{end}x)"), "x");
  EXPECT_EQ(Eval(R"({"}"})"), "}");
}

TEST(JsonPathTest, SaysWhereATemplateIsWrong) {
  EXPECT_THAT(Eval("{.jobs[x]}"), HasSubstr("write [N] or [*]"));
  EXPECT_THAT(Eval("{.jobs"), HasSubstr("'}' is missing"));
  EXPECT_THAT(Eval("{jobs}"), HasSubstr("begin with '.'"));
  EXPECT_THAT(Eval("{..a}"), HasSubstr("name is missing"));
  EXPECT_THAT(Eval("{range .jobs[*]}"), HasSubstr("{end} is missing"));
  EXPECT_THAT(Eval("{end}"), HasSubstr("no {range}"));
}

TEST(LabelSelectorTest, MatchesAsKubectlDoes) {
  const std::map<std::string, std::string> labels = {{"team", "a"}, {"tier", "gold"}};
  const auto matches = [&](const char* text) {
    return LabelSelector::Parse(text)->Matches(labels);
  };
  EXPECT_TRUE(matches(""));
  EXPECT_TRUE(matches("team=a,tier==gold"));
  EXPECT_FALSE(matches("team=a,tier=silver"));
  EXPECT_TRUE(matches("team!=b, !old"));
  EXPECT_TRUE(matches("none!=b"));
  EXPECT_FALSE(matches("!team"));
  EXPECT_TRUE(matches("tier"));
  EXPECT_FALSE(matches("none"));
  for (const char* bad : {"=a", "team in (a,b)", ",", "a,,b"}) {
    EXPECT_FALSE(LabelSelector::Parse(bad).ok()) << bad;
  }
}

}  // namespace
}  // namespace yardmaster::cli
