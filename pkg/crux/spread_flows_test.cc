// Flows whose packets are spread over links, against one link as fast as all of those together.
#include <gtest/gtest.h>
#include <span>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/crux/decide.h"
#include "pkg/crux/intensity.h"
#include "pkg/crux/streams.h"
#include "pkg/crux/testing/problems.h"

namespace yardmaster::crux {
namespace {

// Every link of `whole` as `parts` links of a part of its speed, over which each flow is spread.
Problem SpreadOver(const Problem& whole, int parts) {
  Problem out = whole;
  out.links.clear();
  for (const Link& link : whole.links) {
    for (int p = 0; p < parts; ++p) {
      out.links.push_back({StrCat(link.id, ".", p), link.gbps / parts});
    }
  }
  for (ContendingJob& job : out.jobs) {
    for (Flow& flow : job.flows) {
      PathList paths;
      for (std::int32_t c = 0; c < flow.paths.size(); ++c) {
        std::vector<std::int32_t> links;
        for (const std::int32_t link : flow.paths[c]) {
          for (int p = 0; p < parts; ++p) links.push_back(link * parts + p);
        }
        paths.Add(links, std::vector<double>(links.size(), 1.0 / parts));
      }
      flow.paths = paths;
    }
  }
  return out;
}

TEST(SpreadFlows, ThePlanIsThatOfLinksAsFastAsAllTheirPartsTogether) {
  Options options;
  options.search.event_budget = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    const Problem whole = testing::RandomProblem(
        {.jobs = 6, .links = 5, .flows = 3, .candidates = 1, .several_starts = seed % 2 == 0},
        seed);
    const Problem spread = SpreadOver(whole, 4);
    const auto one = Decide(whole, options);
    const auto other = Decide(spread, options);
    ASSERT_TRUE(one.ok() && other.ok()) << one.status() << other.status();
    for (std::size_t j = 0; j < whole.jobs.size(); ++j) {
      EXPECT_EQ(other->jobs[j].level, one->jobs[j].level) << "seed " << seed;
      EXPECT_DOUBLE_EQ(other->jobs[j].intensity, one->jobs[j].intensity);
      EXPECT_DOUBLE_EQ(other->jobs[j].priority, one->jobs[j].priority);
    }
    EXPECT_EQ(other->edges.size(), one->edges.size());
    EXPECT_DOUBLE_EQ(other->loss, one->loss);
  }
}

TEST(SpreadFlows, LinksCarryTheirShareOfTheBytes) {
  ContendingJob job = testing::OneFlowJob("a", 8e12, 8, 1, 1, 4, {0});
  job.flows[0].paths = {};
  job.flows[0].paths.Add(std::vector{0, 1, 2}, std::vector{0.5, 0.25, 1.0});
  const Problem problem = testing::WithLinks(2, 3, {job});
  const std::vector<std::int32_t> paths = {0};
  const std::vector<LinkSeconds> loads = LinkLoads(problem, job, paths);
  ASSERT_EQ(loads.size(), 3u);
  EXPECT_DOUBLE_EQ(loads[0].seconds, 2);
  EXPECT_DOUBLE_EQ(loads[1].seconds, 1);
  EXPECT_DOUBLE_EQ(loads[2].seconds, 4);
  const std::vector<Stream> streams = StreamsOf(job, paths);
  ASSERT_EQ(streams.size(), 1u);
  EXPECT_EQ(streams[0].uses, (std::vector<double>{0.5, 0.25, 1}));
}

}  // namespace
}  // namespace yardmaster::crux
