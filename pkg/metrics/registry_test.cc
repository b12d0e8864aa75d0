#include "pkg/metrics/registry.h"

#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yardmaster::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Registry, TheSameNameAndLabelsAreTheSameMetric) {
  Registry registry;
  registry.GetCounter("c_total", "help", {{"verb", "get"}}).Increment();
  registry.GetCounter("c_total", "help", {{"verb", "get"}}).Increment(2);
  registry.GetCounter("c_total", "help", {{"verb", "list"}}).Increment();
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("# TYPE c_total counter\n"));
  EXPECT_THAT(text, HasSubstr("c_total{verb=\"get\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("c_total{verb=\"list\"} 1\n"));
}

TEST(Registry, HistogramsCountByBucket) {
  Registry registry;
  const Histogram histogram = registry.GetHistogram("h_seconds", "help", {0.1, 1});
  histogram.Observe(0.05);
  histogram.Observe(0.5);
  histogram.Observe(5);
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("h_seconds_bucket{le=\"0.1\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("h_seconds_bucket{le=\"1\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("h_seconds_bucket{le=\"+Inf\"} 3\n"));
}

TEST(Registry, ASeriesItsSourceNoLongerGivesIsGone) {
  Registry registry;
  std::vector<Sample> jobs = {{{{"job", "a"}}, 1}, {{{"job", "b\"\n"}}, 2}};
  registry.AddGaugeSource("job_level", "help", [&] { return jobs; });
  EXPECT_THAT(registry.Text(), HasSubstr("job_level{job=\"b\\\"\\n\"} 2\n"));
  jobs.pop_back();
  EXPECT_THAT(registry.Text(), HasSubstr("job_level{job=\"a\"} 1\n"));
  EXPECT_THAT(registry.Text(), Not(HasSubstr("job=\"b")));
}

TEST(Registry, CountsFromManyThreadsWhileItIsScraped) {
  Registry registry;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&registry] {
      const Counter counter = registry.GetCounter("n_total", "help");
      const Histogram histogram = registry.GetHistogram("h", "help", LatencyBuckets());
      for (int i = 0; i < 1000; ++i) {
        counter.Increment();
        histogram.Observe(0.001);
        registry.GetGauge("g", "help").Set(i);
      }
    });
  }
  for (int i = 0; i < 20; ++i) registry.Text();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(registry.GetCounter("n_total", "help").value(), 4000);
  EXPECT_THAT(registry.Text(), HasSubstr("h_count 4000\n"));
}

}  // namespace
}  // namespace yardmaster::metrics
