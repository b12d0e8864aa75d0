#include "pkg/agent/profiles/traffic_meter.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <unistd.h>

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

const std::vector<LocalNicPort> kPorts = {
    {0, 0, "eth2", "", 0}, {0, 1, "eth3", "", 0}, {1, 0, "eth4", "", 0}};

// Bytes sent until a time by a port that sends 1 GB/s in the last 0.5 s of each 2 s.
std::uint64_t SentUntil(std::int64_t ms) {
  const std::int64_t whole = ms / 2000;
  const std::int64_t rest = std::max<std::int64_t>(0, ms % 2000 - 1500);
  return static_cast<std::uint64_t>(whole * 500 + rest) * 1'000'000;
}

void Feed(TrafficMeter& meter, std::int64_t from_ms, std::int64_t to_ms, std::uint64_t seed) {
  Random random(seed);
  for (std::int64_t ms = from_ms; ms < to_ms; ms += 40 + static_cast<int>(random.Below(20))) {
    meter.Add(ms, {SentUntil(ms), SentUntil(ms), 2 * SentUntil(ms)});
  }
}

TEST(TrafficMeterTest, UnevenReadingsGiveIterationsCommunicationAndBytesByRail) {
  TrafficMeter meter(kPorts, {});
  Feed(meter, 0, 125'000, 1);
  const auto report = meter.Measure();
  ASSERT_TRUE(report.has_value());
  EXPECT_NEAR(*report->iteration_seconds, 2, 0.02);
  EXPECT_NEAR(*report->communication_seconds, 0.5, 0.1);
  ASSERT_EQ(report->sent_bytes.size(), 2u);
  EXPECT_NEAR(report->sent_bytes[0], 1e9, 2e7) << "both ports of rail 0";
  EXPECT_NEAR(report->sent_bytes[1], 1e9, 2e7);
  EXPECT_GE(report->samples, 50);
  EXPECT_TRUE(api::CheckProfileReport(*report).ok());
  EXPECT_FALSE(meter.Measure().has_value()) << "a new window";
  Feed(meter, 125'000, 250'000, 2);
  EXPECT_TRUE(meter.Measure().has_value());
}

TEST(TrafficMeterTest, AWindowThatIsNotFullHasNoAnswer) {
  TrafficMeter meter(kPorts, {});
  EXPECT_FALSE(meter.Measure().has_value());
  Feed(meter, 0, 100'000, 1);
  EXPECT_FALSE(meter.Measure().has_value());
}

TEST(TrafficMeterTest, ACounterThatStartsAgainOrAGapStartsTheWindowAgain) {
  TrafficMeter meter(kPorts, {});
  Feed(meter, 0, 100'000, 1);
  meter.Add(100'050, {0, 0, 0});
  for (std::int64_t ms = 100'100; ms < 200'000; ms += 50) {
    meter.Add(ms, {SentUntil(ms), SentUntil(ms), SentUntil(ms)});
  }
  EXPECT_FALSE(meter.Measure().has_value());
  Feed(meter, 300'000, 400'000, 1);
  EXPECT_FALSE(meter.Measure().has_value());
  meter.Add(500'000, {1, 2});  // not one a port
}

TEST(TrafficMeterTest, CountersAreReadFromBothPlaces) {
  const std::string root = StrCat(testing::TempDir(), getpid(), "-traffic-meter");
  const auto write = [&](const std::string& path, const char* text) {
    std::filesystem::create_directories(std::filesystem::path(root + path).parent_path());
    std::ofstream(root + path) << text;
  };
  write("/class/net/eth2/statistics/tx_bytes", "1000\n");
  write("/class/infiniband/mlx5_0/ports/1/counters/port_xmit_data", "1000\n");
  write("/class/infiniband/mlx5_1/ports/1/counters/port_xmit_data", "none\n");
  EXPECT_EQ(ReadSentBytes(root, {0, 0, "eth2", "", 0}), 1000u);
  EXPECT_EQ(ReadSentBytes(root, {0, 0, "", "mlx5_0", 1}), 4000u);
  EXPECT_EQ(ReadSentBytes(root, {0, 0, "", "mlx5_1", 1}), std::nullopt);
  EXPECT_EQ(ReadSentBytes(root, {0, 0, "", "mlx5_2", 1}), std::nullopt);
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace yardmaster::agent
