#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "nlohmann/json.hpp"

#include "pkg/cli/commands.h"

namespace yardmaster::cli {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

Outcome RunCommand(const std::vector<std::string>& args, const std::string& input = "") {
  std::istringstream in(input);
  std::ostringstream out;
  std::ostringstream err;
  const int code = RunCruxCommand(args, in, out, err);
  return {code, out.str(), err.str()};
}

// Figure 11 of the Crux paper.
constexpr char kExample1[] = R"({"levels": 2, "links": [{"id": "l", "gbps": 8}], "jobs": [
  {"id": "job1", "gpus": 10, "flopPerIteration": 10e9, "computeSeconds": 2, "communicationStart": 1,
   "flows": [{"id": "f", "bytes": 2e9, "paths": [["l"]]}]},
  {"id": "job2", "gpus": 10, "flopPerIteration": 5e9, "computeSeconds": 1, "communicationStart": 1,
   "flows": [{"id": "f", "bytes": 1e9, "paths": [["l"]]}]}]})";

TEST(CruxCommand, AnswersTheFirstWorkedExample) {
  for (const char* policy : {"crux", "published", "exact"}) {
    const Outcome outcome = RunCommand(
        {"-f", "-", "-o", "json", "--policy", policy, "--window-seconds", "12"}, kExample1);
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto answer = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(answer["jobs"][1]["correction"], 1.5);
    EXPECT_EQ(answer["jobs"][1]["level"], 1);
    EXPECT_DOUBLE_EQ(answer["utilisation"], 5.0 / 12);
  }
}

TEST(CruxCommand, EveryPolicyAnswersAndRepeatsItself) {
  for (const char* policy :
       {"crux", "published", "ecmp", "sincronia", "varys", "taccl", "cassini", "exact"}) {
    const std::vector<std::string> args{"-f", "-", "--policy", policy, "--seed", "7"};
    const Outcome one = RunCommand(args, kExample1);
    EXPECT_EQ(one.code, 0) << one.err;
    EXPECT_EQ(one.out, RunCommand(args, kExample1).out);
  }
}

// Jobs, flows and links in another order in the file: the same answer for each of them.
TEST(CruxCommand, TheOrderInTheFileDoesNotMatter) {
  nlohmann::json value{{"levels", 3}, {"links", nlohmann::json::array()}};
  for (const char* link : {"l0", "l1", "l2", "l3"}) {
    value["links"].push_back({{"id", link}, {"gbps", 8}});
  }
  for (int j = 0; j < 5; ++j) {
    nlohmann::json flows = nlohmann::json::array();
    for (const char* flow : {"f0", "f1"}) {
      nlohmann::json paths = nlohmann::json::array();
      paths.push_back(std::vector<std::string>{"l0", "l2"});
      paths.push_back(std::vector<std::string>{"l1", "l3"});
      flows.push_back({{"id", flow}, {"bytes", 2e8}, {"paths", std::move(paths)}});
    }
    value["jobs"].push_back({{"id", "job" + std::to_string(j)},
                             {"gpus", 8},
                             {"flopPerIteration", 1e15 + 1e14 * (j / 2)},
                             {"computeSeconds", 1.0},
                             {"communicationStart", 0.5},
                             {"flows", std::move(flows)}});
  }
  const auto by_id = [](const nlohmann::json& answer) {
    nlohmann::json jobs;
    for (nlohmann::json job : answer["jobs"]) {
      std::sort(job["flows"].begin(), job["flows"].end());
      jobs[job["id"].get<std::string>()] = job;
    }
    return jobs;
  };
  nlohmann::json reversed = value;
  for (auto& job : reversed["jobs"]) std::reverse(job["flows"].begin(), job["flows"].end());
  std::reverse(reversed["jobs"].begin(), reversed["jobs"].end());
  std::reverse(reversed["links"].begin(), reversed["links"].end());
  for (const char* policy : {"crux", "published", "ecmp", "cassini"}) {
    const auto one =
        nlohmann::json::parse(RunCommand({"-f", "-", "--policy", policy}, value.dump()).out);
    const auto two =
        nlohmann::json::parse(RunCommand({"-f", "-", "--policy", policy}, reversed.dump()).out);
    EXPECT_EQ(by_id(one), by_id(two)) << policy;
    EXPECT_EQ(one["utilisation"], two["utilisation"]) << policy;
  }
}

TEST(CruxCommand, TheBudgetBoundsTheSearch) {
  for (const char* budget : {"0", "1000", "100000000"}) {
    EXPECT_EQ(RunCommand({"-f", "-", "--budget", budget}, kExample1).code, 0);
  }
  EXPECT_EQ(RunCommand({"-f", "-", "--budget", "-1"}, kExample1).code, 2);
}

TEST(CruxCommand, ExitCodesTellInputFromUsage) {
  EXPECT_EQ(RunCommand({"--help"}).code, 0);
  EXPECT_EQ(RunCommand({}).code, 2);
  EXPECT_EQ(RunCommand({"-f", "-", "--policy", "best"}, kExample1).code, 2);
  EXPECT_EQ(RunCommand({"-f", "-", "-o", "xml"}, kExample1).code, 2);
  EXPECT_EQ(RunCommand({"-f", "-", "--window-seconds", "-1"}, kExample1).code, 2);
  EXPECT_EQ(RunCommand({"-f", "/does/not/exist"}).code, 1);
  const Outcome broken = RunCommand({"-f", "-"}, "{\"links\": [");
  EXPECT_EQ(broken.code, 1);
  EXPECT_THAT(broken.err, HasSubstr("standard input"));
  EXPECT_TRUE(broken.out.empty());
}

TEST(CruxCommand, NumbersThatAreNoneAreWrongUsage) {
  for (const auto& [flag, value] :
       std::vector<std::pair<std::string, std::string>>{{"--window-seconds", "nan"},
                                                        {"--window-seconds", "inf"},
                                                        {"--window-seconds", "0"},
                                                        {"--seed", "-1"},
                                                        {"--seed", "18446744073709551616"}}) {
    const Outcome outcome = RunCommand({"-f", "-", flag, value}, kExample1);
    EXPECT_EQ(outcome.code, 2) << flag << " " << value;
    EXPECT_THAT(outcome.err, HasSubstr(flag + ": " + value + " is not"));
    EXPECT_TRUE(outcome.out.empty());
  }
  EXPECT_EQ(RunCommand({"-f", "-", "--seed", "18446744073709551615"}, kExample1).code, 0);
}

TEST(CruxCommand, JsonIsRefusedWhereItsYamlWouldBe) {
  std::string twice = kExample1;
  twice.insert(1, R"("levels": 3, )");
  EXPECT_THAT(RunCommand({"-f", "-"}, twice).err,
              HasSubstr("standard input: levels: is there twice"));
  const std::string deep(200'000, '[');
  const Outcome outcome =
      RunCommand({"-f", "-"}, "{\"levels\": " + deep + std::string(deep.size(), ']') + "}");
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("levels[0]"));
}

TEST(CruxCommand, AWindowThatCannotBeSimulatedIsAnErrorNotAHang) {
  std::string input = kExample1;
  const std::string tiny = "\"computeSeconds\": 1,";
  input.replace(input.find(tiny), tiny.size(), "\"computeSeconds\": 1e-9,");
  const std::string bytes = "\"bytes\": 1e9";
  input.replace(input.find(bytes), bytes.size(), "\"bytes\": 1");
  const Outcome outcome = RunCommand({"-f", "-"}, input);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("shorter window"));
}

}  // namespace
}  // namespace yardmaster::cli
