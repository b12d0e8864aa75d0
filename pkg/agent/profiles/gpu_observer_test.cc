#include "pkg/agent/profiles/gpu_observer.h"

#include "gmock/gmock.h"

#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

using ::testing::HasSubstr;

constexpr double kPeak = 989.4e12;

class GpuObserverTest : public ::testing::Test {
 protected:
  static std::string Text(double share, const std::string& model = "NVIDIA H100 80GB HBM3",
                          int megahertz = 1830) {
    const std::string labels = StrCat("{gpu=\"0\",UUID=\"g\",modelName=\"", model,
                                      "\",namespace=\"team\",pod=\"llm-0\"} ");
    return StrCat("DCGM_FI_DEV_SM_CLOCK", labels, megahertz, "\nDCGM_FI_PROF_PIPE_TENSOR_ACTIVE",
                  labels, share, "\n");
  }
  GpuObserver Make() {
    GpuOptions options;
    options.source = "there";
    return GpuObserver(std::move(options), [this](const std::string& source, const TextLimits&) {
      EXPECT_EQ(source, "there");
      return text_;
    });
  }

  absl::StatusOr<std::string> text_ = Text(0.5);
};

TEST_F(GpuObserverTest, FlopOfAnIterationAreTheMeanRateOverTheWindowTimesItsLength) {
  GpuObserver observer = Make();
  std::int64_t now = 0;
  for (const double share : {0.2, 0.4, 0.6}) {
    text_ = Text(share);
    observer.Step(now);
    observer.Step(now + 1'000);  // not due
    now += 15'000;
    EXPECT_FALSE(observer.FlopPerSecond("team", "llm-0"));  // too few
  }
  text_ = Text(0.8);
  observer.Step(now);
  EXPECT_EQ(observer.reads(), 4);
  api::ProfileReport report;
  report.iteration_seconds = 2;
  observer.Fill("team", "llm-0", report);
  ASSERT_TRUE(report.flop);
  EXPECT_NEAR(*report.flop, 0.5 * kPeak * 2, kPeak * 0.001);
  // Old readings leave the window.
  for (int i = 0; i < 9; ++i) observer.Step(now += 15'000);
  EXPECT_NEAR(*observer.FlopPerSecond("team", "llm-0"), 0.8 * kPeak, kPeak * 0.001);
  EXPECT_FALSE(observer.FlopPerSecond("team", "llm-1"));
}

TEST_F(GpuObserverTest, AReportsOwnFlopStayAndAReportWithoutIterationGetsNone) {
  GpuObserver observer = Make();
  for (std::int64_t now = 0; now < 100'000; now += 15'000) observer.Step(now);
  api::ProfileReport own;
  own.iteration_seconds = 2;
  own.flop = 7;
  observer.Fill("team", "llm-0", own);
  EXPECT_EQ(own.flop, 7);
  api::ProfileReport bytes_only;
  bytes_only.sent_bytes = {1};
  observer.Fill("team", "llm-0", bytes_only);
  EXPECT_FALSE(bytes_only.flop);
}

TEST_F(GpuObserverTest, AnExporterThatFailsGivesNoNumberOnceItsReadingsAreOld) {
  GpuObserver observer = Make();
  std::int64_t now = 0;
  for (int i = 0; i < 4; ++i, now += 15'000) observer.Step(now);
  EXPECT_TRUE(observer.problem().ok());
  text_ = absl::UnavailableError("connection refused");
  observer.Step(now);
  EXPECT_TRUE(observer.FlopPerSecond("team", "llm-0"));
  EXPECT_THAT(std::string(observer.problem().message()), HasSubstr("connection refused"));
  for (int i = 0; i < 9; ++i) observer.Step(now += 15'000);
  EXPECT_FALSE(observer.FlopPerSecond("team", "llm-0"));
  EXPECT_EQ(observer.failures(), 10);
}

TEST_F(GpuObserverTest, AGpuThatLowersItsClockIsToldWithinAMinute) {
  GpuObserver observer = Make();
  std::int64_t now = 0;
  for (int i = 0; i < 8; ++i, now += 15'000) observer.Step(now);
  EXPECT_EQ(observer.ClockMhz("team", "llm-0"), 1830);
  // One reading of a moment of rest says nothing.
  text_ = Text(0.1, "NVIDIA H100 80GB HBM3", 345);
  observer.Step(now);
  EXPECT_EQ(observer.ClockMhz("team", "llm-0"), 1830);
  text_ = Text(0, "NVIDIA H100 80GB HBM3", 345);
  for (int i = 0; i < 4; ++i) observer.Step(now += 15'000);
  EXPECT_EQ(observer.ClockMhz("team", "llm-0"), std::nullopt) << "it does nothing";
  text_ = Text(0.7, "NVIDIA H100 80GB HBM3", 1100);
  for (int i = 0; i < 4; ++i) observer.Step(now += 15'000);
  EXPECT_EQ(observer.ClockMhz("team", "llm-0"), 1100);
  api::ProfileReport report;
  observer.Fill("team", "llm-0", report);
  EXPECT_EQ(report.gpu_clock_mhz, 1100);
}

TEST_F(GpuObserverTest, SaysWhichModelItDoesNotKnowAndGivesNoNumber) {
  GpuObserver observer = Make();
  text_ = Text(0.5, "NVIDIA B200");
  for (std::int64_t now = 0; now < 100'000; now += 15'000) observer.Step(now);
  EXPECT_FALSE(observer.FlopPerSecond("team", "llm-0"));
  EXPECT_THAT(std::string(observer.problem().message()), HasSubstr("\"NVIDIA B200\" is not known"));
  EXPECT_EQ(observer.gpus(), (std::map<std::string, int>{{"unknown-model", 1}}));
}

}  // namespace
}  // namespace yardmaster::agent
