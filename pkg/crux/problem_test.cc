#include "pkg/crux/problem.h"

#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <limits>
#include <utility>
#include <vector>

#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

struct BadInput {
  std::string field;
  std::function<void(Problem&)> spoil;
};

TEST(Problem, EveryBadInputIsRefusedWithItsJobAndField) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<BadInput> cases{
      {"levels", [](Problem& p) { p.levels = 0; }},
      {"links[0].gbps", [](Problem& p) { p.links[0].gbps = 0; }},
      {"links[0].gbps", [=](Problem& p) { p.links[0].gbps = nan; }},
      {"links[0].id", [](Problem& p) { p.links[0].id = ""; }},
      {"links[1].id", [](Problem& p) { p.links.push_back(p.links[0]); }},
      {"jobs[1].id", [](Problem& p) { p.jobs[1].id = p.jobs[0].id; }},
      {"jobs[1].gpus", [](Problem& p) { p.jobs[1].gpus = 0; }},
      {"jobs[1].flopPerIteration", [](Problem& p) { p.jobs[1].flop_per_iteration = 0; }},
      {"jobs[1].flopPerIteration", [](Problem& p) { p.jobs[1].flop_per_iteration = -1; }},
      {"jobs[1].flopPerIteration", [=](Problem& p) { p.jobs[1].flop_per_iteration = nan; }},
      {"jobs[1].flopPerIteration", [=](Problem& p) { p.jobs[1].flop_per_iteration = inf; }},
      {"jobs[1].computeSeconds", [](Problem& p) { p.jobs[1].compute_seconds = 0; }},
      {"jobs[1].communicationStart", [](Problem& p) { p.jobs[1].communication_start = 1.1; }},
      {"jobs[1].communicationStart", [=](Problem& p) { p.jobs[1].communication_start = nan; }},
      {"jobs[1].flows[0].bytes", [](Problem& p) { p.jobs[1].flows[0].bytes = -5; }},
      {"jobs[1].flows[0].bytes", [](Problem& p) { p.jobs[1].flows[0].bytes = 0; }},
      {"jobs[1].flows[0].paths", [](Problem& p) { p.jobs[1].flows[0].paths = {}; }},
      {"jobs[1].flows[0].paths[0]", [](Problem& p) { p.jobs[1].flows[0].paths = {{}}; }},
      {"jobs[1].flows[0].paths[0][0]", [](Problem& p) { p.jobs[1].flows[0].paths = {{7}}; }},
      {"jobs[1].flows[0].paths[0]",
       [](Problem& p) {
         p.jobs[1].flows[0].paths = {{0, 0}};
       }},
      {"jobs[1].flows[0].paths[0][0]",
       [](Problem& p) {
         p.jobs[1].flows[0].paths = {};
         p.jobs[1].flows[0].paths.Add(std::vector{0}, std::vector{1.5});
       }},
      {"jobs[1].flows[0].paths[0][0]",
       [=](Problem& p) {
         p.jobs[1].flows[0].paths = {};
         p.jobs[1].flows[0].paths.Add(std::vector{0}, std::vector{nan});
       }},
      {"jobs[1].flows[1].id", [](Problem& p) { p.jobs[1].flows.push_back(p.jobs[1].flows[0]); }},
  };
  for (const BadInput& bad : cases) {
    Problem problem = testing::Example1(2);
    bad.spoil(problem);
    const absl::Status status = Validate(problem);
    ASSERT_FALSE(status.ok()) << bad.field;
    EXPECT_EQ(MessageOf(status).find(bad.field + ": "), 0u) << MessageOf(status);
    if (bad.field.rfind("jobs[1].f", 0) == 0) {
      EXPECT_THAT(MessageOf(status), HasSubstr("job2"));
    }
  }
}

TEST(Problem, AJobWithoutFlowsIsRefusedOnlyWhereAsked) {
  Problem problem = testing::Example1(2);
  problem.jobs[0].flows.clear();
  EXPECT_TRUE(Validate(problem).ok());
  EXPECT_THAT(MessageOf(Validate(problem, {.allow_jobs_without_flows = false})),
              HasSubstr("jobs[0].flows: job \"job1\""));
}

TEST(PathList, KeepsTheSharesOfPathsThatAreSpreadAndOnesOfOthers) {
  PathList paths = {{4}, {2, 3}};
  EXPECT_TRUE(paths.shares(1).empty());
  paths.Add(std::vector{1, 2}, std::vector{1.0, 1.0});
  EXPECT_TRUE(paths.shares(2).empty()) << "nothing is spread yet";
  paths.Add(std::vector{5, 6}, std::vector{0.25, 0.75});
  paths.Add(std::vector{7});
  ASSERT_EQ(paths.size(), 5);
  EXPECT_THAT(paths.shares(0), ElementsAre(1));
  EXPECT_THAT(paths.shares(2), ElementsAre(1, 1));
  EXPECT_THAT(paths.shares(3), ElementsAre(0.25, 0.75));
  EXPECT_THAT(paths.shares(4), ElementsAre(1));
  std::vector<std::pair<std::int32_t, double>> seen;
  paths.Each(3, [&](std::int32_t link, double share) { seen.emplace_back(link, share); });
  EXPECT_THAT(seen, ElementsAre(Pair(5, 0.25), Pair(6, 0.75)));
}

TEST(Problem, FlowsThatAreSpreadOtherwiseAreNoTwins) {
  Flow a{"a", 1, {}};
  a.paths.Add(std::vector{0, 1}, std::vector{0.5, 0.5});
  Flow b = a;
  EXPECT_TRUE(AreTwins(a, b));
  b.paths = {};
  b.paths.Add(std::vector{0, 1}, std::vector{0.25, 0.75});
  EXPECT_FALSE(AreTwins(a, b));
}

TEST(Problem, MoreLevelsThanJobsAreFine) { EXPECT_TRUE(Validate(testing::Example1(1000)).ok()); }

}  // namespace
}  // namespace yardmaster::crux
