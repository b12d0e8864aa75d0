#include "pkg/operator/network_profiles.h"

#include <gtest/gtest.h>

namespace yardmaster::op {
namespace {

api::ProfileReport Report(std::int64_t samples, double iteration, double flop,
                          std::vector<double> sent) {
  api::ProfileReport report;
  report.samples = samples;
  report.iteration_seconds = iteration;
  report.flop = flop;
  report.sent_bytes = std::move(sent);
  return report;
}

TEST(CombineTest, OneWorkersNonsenseDoesNotMoveTheJob) {
  const auto measured = Combine({Report(30, 2, 1e15, {4e9, 4e9}), Report(30, 2.1, 1e15, {4e9, 4e9}),
                                 Report(30, 80'000, 1e23, {1e14, 1e14})},
                                16, 8);
  ASSERT_TRUE(measured);
  EXPECT_EQ(measured->measurement.samples, 30);
  EXPECT_EQ(measured->iteration_seconds, 2.1);
  EXPECT_EQ(measured->measurement.flop_per_iteration, 16e15);
  EXPECT_EQ(measured->measurement.sent_bytes_per_gpu, 1e9);
  EXPECT_FALSE(measured->measurement.compute_seconds);
}

TEST(CombineTest, NobodyReportsNothing) { EXPECT_FALSE(Combine({}, 16, 8)); }

}  // namespace
}  // namespace yardmaster::op
