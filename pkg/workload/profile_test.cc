#include "pkg/workload/profile.h"

#include <cmath>
#include <gtest/gtest.h>
#include <limits>

#include "pkg/workload/traffic.h"

namespace yardmaster::workload {
namespace {

Job SixteenHosts() {
  Job job;
  job.workers = 16;
  job.parallelism.tensor = 8;
  job.parallelism.data = 16;
  return job;
}

Measurement Measured(std::int64_t samples) {
  Measurement m;
  m.samples = samples;
  m.flop_per_iteration = 4e15;
  m.compute_seconds = 2;
  m.communication_start = 0.9;
  m.communication_seconds = 0.4;
  m.sent_bytes_per_gpu = 3e9;
  return m;
}

constexpr NetworkEstimate kEstimate{0.1, 1e9};

TEST(Blend, WithoutSamplesEverythingIsTheEstimate) {
  const Job job = SixteenHosts();
  const BlendedProfile blended = BlendProfile(job, Measured(0), kEstimate);
  EXPECT_EQ(blended.source, ProfileSource::kAnalytic);
  EXPECT_EQ(blended.weight, 0);
  EXPECT_EQ(blended.communication_seconds, 0.1);
  EXPECT_EQ(blended.profile.communication_seconds, 0);
  EXPECT_EQ(blended.profile, CompleteProfile(job));
}

TEST(Blend, WithEnoughSamplesEverythingIsTheMeasurement) {
  const BlendedProfile blended = BlendProfile(SixteenHosts(), Measured(20), kEstimate);
  EXPECT_EQ(blended.source, ProfileSource::kMeasured);
  EXPECT_DOUBLE_EQ(blended.profile.flop_per_iteration, 4e15);
  EXPECT_DOUBLE_EQ(blended.profile.compute_seconds, 2);
  EXPECT_DOUBLE_EQ(blended.profile.communication_start, 0.9);
  EXPECT_DOUBLE_EQ(blended.communication_seconds, 0.4);
  EXPECT_EQ(blended.profile.communication_seconds, blended.communication_seconds);
  const Profile analytic = CompleteProfile(SixteenHosts());
  EXPECT_DOUBLE_EQ(blended.profile.data_bytes, 3 * analytic.data_bytes);
  EXPECT_DOUBLE_EQ(blended.profile.tensor_bytes, 3 * analytic.tensor_bytes);
}

TEST(Blend, HalfWayIsTheGeometricMean) {
  Job job = SixteenHosts();
  job.profile.flop_per_iteration = 1e15;
  const BlendedProfile blended = BlendProfile(job, Measured(10), kEstimate);
  EXPECT_EQ(blended.source, ProfileSource::kBlended);
  EXPECT_DOUBLE_EQ(blended.weight, 0.5);
  EXPECT_NEAR(blended.profile.flop_per_iteration, 2e15, 1e3);
  EXPECT_NEAR(blended.profile.communication_start, 0.7, 1e-12);
  EXPECT_NEAR(blended.communication_seconds, std::sqrt(0.1 * std::sqrt(3) * 0.4), 1e-12);
}

TEST(Blend, MovesMonotonicallyFromTheEstimateToTheMeasurement) {
  double before = 0;
  for (std::int64_t samples = 0; samples <= 25; ++samples) {
    const BlendedProfile blended = BlendProfile(SixteenHosts(), Measured(samples), {0.1, 0});
    EXPECT_GE(blended.communication_seconds, before);
    before = blended.communication_seconds;
  }
  EXPECT_DOUBLE_EQ(before, 0.4);
}

TEST(Blend, WithoutMeasuredCommunicationItIsNeverCalledMeasured) {
  Measurement m = Measured(1000);
  m.communication_seconds.reset();
  const BlendedProfile blended = BlendProfile(SixteenHosts(), m, kEstimate);
  EXPECT_EQ(blended.source, ProfileSource::kBlended);
  EXPECT_DOUBLE_EQ(blended.communication_seconds, 0.3);  // of three times the bytes
}

TEST(Blend, ImpossibleMeasurementsCountAsNotMade) {
  for (const double bad : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity()}) {
    Measurement m;
    m.samples = 100;
    m.flop_per_iteration = bad;
    m.compute_seconds = bad;
    m.communication_seconds = bad;
    m.sent_bytes_per_gpu = bad;
    m.communication_start = bad == 0 ? -0.5 : bad;
    const BlendedProfile blended = BlendProfile(SixteenHosts(), m, kEstimate);
    EXPECT_EQ(blended.source, ProfileSource::kAnalytic);
    EXPECT_EQ(blended.profile, CompleteProfile(SixteenHosts()));
    EXPECT_EQ(blended.communication_seconds, 0.1);
  }
}

TEST(Blend, AMeasurementStandsAloneWhereNothingIsEstimated) {
  const BlendedProfile blended = BlendProfile(SixteenHosts(), Measured(1), {0, 0});
  EXPECT_DOUBLE_EQ(blended.communication_seconds, 0.4);
}

TEST(Blend, WeightNeverFallsWithMoreSamplesAndStaysInRange) {
  const auto weight = [](std::int64_t samples) {
    return BlendProfile(SixteenHosts(), Measured(samples), kEstimate).weight;
  };
  EXPECT_EQ(weight(-5), 0);
  for (std::int64_t samples = 0; samples < 40; ++samples) {
    EXPECT_LE(weight(samples), weight(samples + 1));
    EXPECT_LE(weight(samples), 1);
  }
}

}  // namespace
}  // namespace yardmaster::workload
