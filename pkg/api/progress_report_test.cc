#include "pkg/api/progress_report.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/random.h"

namespace yardmaster::api {
namespace {

TEST(ProgressReport, ReadsWhatItWrites) {
  Random random(7);
  for (int round = 0; round < 200; ++round) {
    ProgressReport report;
    report.state = static_cast<ProgressState>(random.Below(2));
    report.last_progress_ms = 1 + static_cast<std::int64_t>(random.Below(4'000'000'000'000));
    report.time_ms = 1'000 * (1 + static_cast<std::int64_t>(random.Below(4'000'000'000)));
    report.processes = static_cast<ProcessActivity>(random.Below(5));
    if (random.Below(2) == 0) report.gpus_compute = random.Below(2) == 0;
    report.iteration_seconds = static_cast<double>(random.Below(1000)) / 8;
    report.longest_pause_seconds = static_cast<double>(random.Below(1000)) / 8;
    const auto read = DecodeProgressReport(EncodeProgressReport(report));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(*read, report);
  }
}

TEST(ProgressReport, OnlyAWaitingWorkerIsStopped) {
  ProgressReport report;
  report.processes = ProcessActivity::kStopped;
  EXPECT_FALSE(report.is_stopped());
  report.state = ProgressState::kWaiting;
  EXPECT_TRUE(report.is_stopped());
  report.processes = ProcessActivity::kUninterruptible;
  EXPECT_FALSE(report.is_stopped()) << "it may write a checkpoint";
}

TEST(ProgressReport, AWrongFieldIsNamed) {
  const auto message = [](const std::string& fields) {
    return std::string(DecodeProgressReport(R"({"version":1)" + fields + "}").status().message());
  };
  const std::string time = R"(,"time":"2026-01-01T00:01:00Z")";
  const std::string good = R"(,"state":"Waiting","lastProgress":"2026-01-01T00:00:00Z")" + time;
  EXPECT_EQ(message(good), "");
  EXPECT_THAT(message(R"(,"state":"Waiting")" + time), testing::HasSubstr("lastProgress"));
  EXPECT_THAT(message(R"(,"state":"Waiting","lastProgress":"2026-01-01T00:00:00Z")"),
              testing::HasSubstr("time"));
  EXPECT_THAT(message(R"(,"lastProgress":"2026-01-01T00:00:00Z")" + time),
              testing::HasSubstr("state"));
  EXPECT_THAT(message(good + R"(,"processes":"Dancing")"), testing::HasSubstr("processes"));
  EXPECT_THAT(message(good + R"(,"longestPauseSeconds":-1)"),
              testing::HasSubstr("longestPauseSeconds"));
  EXPECT_FALSE(DecodeProgressReport(R"({"version":2})").ok());
  EXPECT_FALSE(DecodeProgressReport("hung").ok());
}

}  // namespace
}  // namespace yardmaster::api
