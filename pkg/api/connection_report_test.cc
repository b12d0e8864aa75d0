#include "pkg/api/connection_report.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/status.h"

namespace yardmaster::api {
namespace {

ConnectionReport WithReason(std::string why) { return {16, 2, 0, std::move(why)}; }

// UTF-8 as JSON has it: dumping anything else throws.
bool IsText(const std::string& text) {
  try {
    (void)nlohmann::json(text).dump();
    return true;
  } catch (const nlohmann::json::exception&) {
    return false;
  }
}

TEST(ConnectionReportTest, WhatIsWrittenReadsBackEqual) {
  const ConnectionReport report{16, 2, 7, "refused by the device"};
  EXPECT_EQ(DecodeConnectionReport(EncodeConnectionReport(report)).value(), report);
  EXPECT_EQ(DecodeConnectionReport(EncodeConnectionReport({})).value(), ConnectionReport{});
}

TEST(ConnectionReportTest, ALongReasonIsCutBetweenCharacters) {
  for (std::size_t before = kMaxWhyBytes - 6; before < kMaxWhyBytes + 3; ++before) {
    for (const char* character : {"é", "€", "😀"}) {
      const std::string why = std::string(before, 'x') + character + character + "tail";
      const auto report = DecodeConnectionReport(EncodeConnectionReport(WithReason(why)));
      ASSERT_TRUE(report.ok()) << report.status();
      EXPECT_LE(report->why.size(), kMaxWhyBytes);
      EXPECT_EQ(why.rfind(report->why, 0), 0u) << report->why;
      EXPECT_TRUE(IsText(report->why)) << before << character;
      // A longer one, of another agent, is cut alike.
      const std::string other = R"({"version":1,"why":")" + why + "\"}";
      EXPECT_EQ(DecodeConnectionReport(other)->why, report->why);
    }
  }
}

TEST(ConnectionReportTest, BytesThatAreNoTextAreReplacedAndStayText) {
  const std::string why(kMaxWhyBytes, '\xFF');
  const auto report = DecodeConnectionReport(EncodeConnectionReport(WithReason(why)));
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_LE(report->why.size(), kMaxWhyBytes);
  EXPECT_TRUE(IsText(report->why));
}

TEST(ConnectionReportTest, AWrongNumberIsNamedAndAnotherVersionRefused) {
  EXPECT_EQ(MessageOf(DecodeConnectionReport(R"({"version":1,"steered":-1})").status())
                .rfind("steered: expected an integer from 0 to 10000000", 0),
            0u);
  EXPECT_FALSE(DecodeConnectionReport(R"({"version":1,"unplanned":10000001})").ok());
  EXPECT_FALSE(DecodeConnectionReport(R"({"version":2})").ok());
  EXPECT_FALSE(DecodeConnectionReport("").ok());
}

}  // namespace
}  // namespace yardmaster::api
