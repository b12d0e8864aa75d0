#include "pkg/extender/ledger/pass_metrics.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yardmaster::extender {
namespace {

using testing::HasSubstr;

TEST(PassMetricsTest, PassesAddUpInCountersAndTheLastOneShowsInGauges) {
  metrics::Registry registry;
  PassReport report;
  report.committed = 2;
  report.waiting = 5;
  report.errors = {"a write failed"};
  ReportPass(report, 0.25, registry);
  report.waiting = 1;
  report.waiting_gpus = 64;
  report.decisions.push_back({placement::Outcome::kNever, 30});
  report.free_places = {{workload::TopologyLevel::kDomain, {9, 8, 7}, 6}};
  ReportPass(report, 0.25, registry);
  const std::string text = registry.Text();
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_pass_seconds_count 2"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_commits_total 4"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_write_errors_total 2"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_waiting_gangs 1"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_waiting_gpus 64"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_free_places{hosts=\"4\",level=\"domain\"} 7"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_free_places{hosts=\"all\",level=\"domain\"} 6"));
  EXPECT_THAT(text, HasSubstr("yardmaster_extender_decision_seconds_count{outcome=\"Never\"} 1"));
}

}  // namespace
}  // namespace yardmaster::extender
