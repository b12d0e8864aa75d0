#include "simulation/formats/crux_case.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "pkg/crux/decide.h"

namespace yardmaster::sim {
namespace {

using nlohmann::json;
using ::testing::StartsWith;

json SmallCase() {
  return json::parse(
      R"({"levels": 3, "links": [{"id": "l1", "gbps": 400}, {"id": "l2", "gbps": 400},
                          {"id": "l3", "gbps": 200}],
     "jobs": [{"id": "a", "gpus": 32, "flopPerIteration": 1e15, "computeSeconds": 1.0,
               "communicationStart": 0.5,
               "flows": [{"id": "f0", "bytes": 1e9, "paths": [["l1", "l2"], ["l3"]]}]},
              {"id": "b", "gpus": 8, "flopPerIteration": 1e14, "computeSeconds": 1.0,
               "flows": [{"bytes": 2e9, "paths": [["l1"]]}]}]})");
}

TEST(CruxCase, ReadsEveryFieldAndFillsInWhatIsLeftOut) {
  const auto problem = ParseCruxCase(SmallCase());
  ASSERT_TRUE(problem.ok()) << MessageOf(problem.status());
  EXPECT_EQ(problem->levels, 3);
  EXPECT_EQ(problem->links[2].gbps, 200);
  EXPECT_EQ(problem->jobs[0].communication_start, 0.5);
  EXPECT_EQ(problem->jobs[1].communication_start, 1);
  EXPECT_EQ(problem->jobs[1].flows[0].id, "f0");
  EXPECT_EQ(problem->jobs[0].flows[0].paths[0][1], 1);
  EXPECT_EQ(problem->jobs[0].flows[0].paths[1][0], 2);
}

TEST(CruxCase, FlowsMayStartAloneRunSeldomAndInTheBackground) {
  json value = SmallCase();
  value["jobs"][0]["flows"].push_back({{"id", "checkpoint"},
                                       {"bytes", 4e9},
                                       {"communicationStart", 0.25},
                                       {"everyIterations", 50},
                                       {"background", true},
                                       {"paths", {{"l3"}}}});
  const auto problem = ParseCruxCase(value);
  ASSERT_TRUE(problem.ok()) << MessageOf(problem.status());
  const std::vector<crux::Flow>& flows = problem->jobs[0].flows;
  EXPECT_FALSE(flows[0].communication_start);
  EXPECT_EQ(flows[0].every_iterations, 1);
  EXPECT_FALSE(flows[0].background);
  EXPECT_EQ(flows[1].communication_start, 0.25);
  EXPECT_EQ(flows[1].every_iterations, 50);
  EXPECT_TRUE(flows[1].background);
}

TEST(CruxCase, YamlAndJsonAreTheSame) {
  const auto problem = ReadCruxCase(
      "links: [{id: l1, gbps: 8}]\n"
      "jobs:\n"
      "- {id: a, gpus: 1, flopPerIteration: 1.0e9, computeSeconds: 1,\n"
      "   flows: [{bytes: 1000, paths: [[l1]]}]}\n",
      "case.yaml");
  ASSERT_TRUE(problem.ok()) << MessageOf(problem.status());
  EXPECT_EQ(problem->levels, 8);
  EXPECT_EQ(problem->jobs[0].flop_per_iteration, 1e9);
}

struct BadCase {
  const char* message;
  std::function<void(json&)> spoil;
};

TEST(CruxCase, ErrorsBeginWithTheJsonPath) {
  const std::vector<BadCase> cases{
      {"jobs[1].flows[0].paths[0][0]: unknown link \"l9\"; declare it under links",
       [](json& c) { c["jobs"][1]["flows"][0]["paths"][0][0] = "l9"; }},
      {"jobs[0].flopPerIteration: job \"a\" is 0;",
       [](json& c) { c["jobs"][0]["flopPerIteration"] = 0; }},
      {"jobs[0].flopPerIteration: is \"much\"; it has to be a number",
       [](json& c) { c["jobs"][0]["flopPerIteration"] = "much"; }},
      {"jobs[0].flopPerIteration: is missing",
       [](json& c) { c["jobs"][0].erase("flopPerIteration"); }},
      {"jobs[0].flops: unknown key;", [](json& c) { c["jobs"][0]["flops"] = 1; }},
      {"jobs[0].flows: job \"a\" has no flow",
       [](json& c) { c["jobs"][0]["flows"] = json::array(); }},
      {"jobs[0].gpus: is 1.5; it has to be a whole number",
       [](json& c) { c["jobs"][0]["gpus"] = 1.5; }},
      {"jobs[0].flows[0].bytes: job \"a\" flow \"f0\" is -1",
       [](json& c) { c["jobs"][0]["flows"][0]["bytes"] = -1; }},
      {"jobs[0].flows[0].paths[1]: job \"a\" flow \"f0\" runs in a cycle over link \"l3\"",
       [](json& c) {
         c["jobs"][0]["flows"][0]["paths"][1] = {"l3", "l3"};
       }},
      {"jobs[1].id: \"a\" is already jobs[0]", [](json& c) { c["jobs"][1]["id"] = "a"; }},
      {"jobs[0].flows[0].communicationStart: job \"a\" flow \"f0\" is 2;",
       [](json& c) { c["jobs"][0]["flows"][0]["communicationStart"] = 2; }},
      {"jobs[0].flows[0].everyIterations: job \"a\" flow \"f0\" is 0;",
       [](json& c) { c["jobs"][0]["flows"][0]["everyIterations"] = 0; }},
      {"jobs[0].flows[0].everyIterations: is 1.5; it has to be a whole number",
       [](json& c) { c["jobs"][0]["flows"][0]["everyIterations"] = 1.5; }},
      {"jobs[0].flows[0].background: is 1; it has to be true or false",
       [](json& c) { c["jobs"][0]["flows"][0]["background"] = 1; }},
      {"levels: is 0;", [](json& c) { c["levels"] = 0; }},
      {"levels: is 1e+20; it has to be a whole number of at most 2147483647",
       [](json& c) { c["levels"] = 1e20; }},
      {"links: is missing", [](json& c) { c.erase("links"); }},
      {"case: is [];", [](json& c) { c = json::array(); }},
  };
  for (const BadCase& bad : cases) {
    json value = SmallCase();
    bad.spoil(value);
    const auto problem = ParseCruxCase(value);
    ASSERT_FALSE(problem.ok()) << bad.message;
    EXPECT_THAT(MessageOf(problem.status()), StartsWith(bad.message));
  }
}

TEST(CruxCase, TheAnswerHasTheFieldsOfTheContract) {
  const auto problem = ParseCruxCase(SmallCase());
  const auto solution = crux::Decide(*problem);
  ASSERT_TRUE(solution.ok());
  const json answer = CruxAnswer(*problem, *solution, 0.83);
  EXPECT_EQ(answer["utilisation"], 0.83);
  EXPECT_EQ(answer["jobs"][0]["id"], "a");
  for (const char* key :
       {"communicationSeconds", "intensity", "correction", "priority", "level", "flows"}) {
    EXPECT_TRUE(answer["jobs"][0].contains(key)) << key;
  }
  EXPECT_EQ(answer["jobs"][0]["flows"][0]["id"], "f0");
  EXPECT_TRUE(answer["jobs"][0]["flows"][0]["path"].is_number_integer());
  EXPECT_TRUE(answer["contention"]["edges"].is_array());
  EXPECT_TRUE(answer["contention"].contains("loss"));
}

}  // namespace
}  // namespace yardmaster::sim
