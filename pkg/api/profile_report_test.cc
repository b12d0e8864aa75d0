#include "pkg/api/profile_report.h"

#include <limits>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::api {
namespace {

TEST(ProfileReportTest, ComesBackAsItWasWritten) {
  ProfileReport report;
  report.samples = 40;
  report.iteration_seconds = 1.9;
  report.compute_seconds = 1.5;
  report.communication_seconds = 0;
  report.communication_start = 0.25;
  report.flop = 2.1e15;
  report.sent_bytes = {3e9, 0};
  report.recent_compute_seconds = 1.6;
  report.gpu_clock_mhz = 1755;
  report.cpu_throttled = 0;
  report.time_ms = 1'700'000'000'000;
  EXPECT_EQ(DecodeProfileReport(EncodeProfileReport(report)).value(), report);
  const ProfileReport little{3, std::nullopt, 0.5, std::nullopt, std::nullopt, std::nullopt, {}};
  EXPECT_EQ(DecodeProfileReport(EncodeProfileReport(little)).value(), little);
}

TEST(ProfileReportTest, GarbageIsRefusedAndTheFieldIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {R"()", ""},
      {R"(null)", ""},
      {R"([1,2])", ""},
      {R"({"version":2,"samples":1})", "version"},
      {R"({"version":1})", "samples"},
      {R"({"version":1,"samples":0})", "samples"},
      {R"({"version":1,"samples":-4})", "samples"},
      {R"({"version":1,"samples":1,"computeSeconds":0})", "computeSeconds"},
      {R"({"version":1,"samples":1,"computeSeconds":-1})", "computeSeconds"},
      {R"({"version":1,"samples":1,"computeSeconds":1e9})", "computeSeconds"},
      {R"({"version":1,"samples":1,"computeSeconds":1e999})", ""},
      {R"({"version":1,"samples":1,"flop":"many"})", "flop"},
      {R"({"version":1,"samples":1,"communicationStart":1.5})", "communicationStart"},
      {R"({"version":1,"samples":1,"recentComputeSeconds":0})", "recentComputeSeconds"},
      {R"({"version":1,"samples":1,"gpuClockMhz":1e6})", "gpuClockMhz"},
      {R"({"version":1,"samples":1,"cpuThrottled":1.5})", "cpuThrottled"},
      {R"({"version":1,"samples":1,"time":"yesterday"})", "time"},
      {R"({"version":1,"samples":1,"sentBytes":7})", "sentBytes"},
      {R"({"version":1,"samples":1,"sentBytes":[1,null]})", "sentBytes"},
      {R"({"version":1,"samples":1,"sentBytes":[-1]})", "sentBytes[0]"},
      {R"({"version":1,"samples":1,"iterationSeconds":{}})", "iterationSeconds"}};
  for (const auto& [text, field] : cases) {
    const auto report = DecodeProfileReport(text);
    ASSERT_FALSE(report.ok()) << text;
    EXPECT_NE(std::string(report.status().message()).find(field), std::string::npos)
        << text << ": " << report.status().message();
  }
  ProfileReport nan{1, std::numeric_limits<double>::quiet_NaN(), {}, {}, {}, {}, {}};
  EXPECT_FALSE(CheckProfileReport(nan).ok());
}

}  // namespace
}  // namespace yardmaster::api
