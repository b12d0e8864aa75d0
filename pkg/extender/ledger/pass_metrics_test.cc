#include "pkg/extender/ledger/pass_metrics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yardmaster::extender {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(PassMetricsTest, PassesAddUpInCountersAndTheLastOneShowsInGauges) {
  metrics::Registry registry;
  PassMetrics metrics(registry);
  PassReport report;
  report.committed = 2;
  report.waiting = 5;
  report.errors = {"a write failed"};
  metrics.Report(report, 0.25);
  report.waiting = 1;
  report.waiting_gpus = 64;
  report.decisions.push_back({placement::Outcome::kNever, 30});
  report.free_places = {{workload::TopologyLevel::kDomain, {9, 8, 7}, {30, 14, 7}, 6}};
  metrics.Report(report, 0.25);
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_pass_seconds_count 2"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_commits_total 4"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_write_errors_total 2"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_waiting_gangs 1"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_waiting_gpus 64"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_free_places{hosts=\"4\",level=\"domain\"} 7"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_free_places{hosts=\"all\",level=\"domain\"} 6"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_free_slots{hosts=\"2\",level=\"domain\"} 14"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_decision_seconds_count{outcome=\"Never\"} 1"));
}

TEST(PassMetricsTest, TheWaitOfSixteenPrioritiesHasSeriesOfItsOwn) {
  metrics::Registry registry;
  PassMetrics metrics(registry);
  PassReport report;
  report.decisions = {{placement::Outcome::kPlaced, 3, -5}, {placement::Outcome::kNotNow, 1, 70}};
  for (int priority = 0; priority < 100; ++priority) {
    report.decisions.push_back({placement::Outcome::kPlaced, 1, priority});
  }
  report.decisions.push_back({placement::Outcome::kPlaced, 2, -5});
  metrics.Report(report, 0.25);
  const auto waited = [&](const std::string& priority, int count) {
    return HasSubstr("yardmaster_extender_queue_wait_seconds_count{priority=\"" + priority +
                     "\"} " + std::to_string(count) + "\n");
  };
  EXPECT_THAT(registry.Text(), AllOf(waited("-5", 2), waited("14", 1), waited("other", 85)));
  EXPECT_THAT(registry.Text(), Not(HasSubstr("priority=\"15\"")));
}

}  // namespace
}  // namespace yardmaster::extender
