#include "pkg/operator/telemetry/connection_coverage.h"

#include "gtest/gtest.h"

#include "pkg/api/connection_report.h"

namespace yardmaster::op {
namespace {

std::shared_ptr<const api::Pod> PodWith(const std::string& annotation) {
  auto pod = std::make_shared<api::Pod>();
  if (!annotation.empty()) pod->metadata.annotations[api::kConnectionsAnnotation] = annotation;
  return pod;
}

std::shared_ptr<const api::Pod> PodWith(const api::ConnectionReport& report) {
  return PodWith(api::EncodeConnectionReport(report));
}

TEST(ConnectionsSteered, AGangWhosePlannedConnectionsAllHaveTheirPortIsSteered) {
  const auto condition =
      ConnectionsSteered({{0, PodWith({16, 0, 3, "no plan"})}, {1, PodWith("")}}, 7);
  ASSERT_TRUE(condition.has_value());
  EXPECT_EQ(condition->status, api::ConditionStatus::kTrue);
  EXPECT_EQ(condition->observed_generation, 7);
}

TEST(ConnectionsSteered, AConnectionWithoutItsPortIsCountedWithTheMostFrequentReason) {
  const auto condition = ConnectionsSteered(
      {{0, PodWith({16, 1, 0, "plan expired"})}, {1, PodWith({10, 5, 0, "refused by the device"})}},
      1);
  ASSERT_TRUE(condition.has_value());
  EXPECT_EQ(condition->status, api::ConditionStatus::kFalse);
  EXPECT_EQ(condition->message,
            "6 of 32 connections, of 2 pods, lack their planned port: refused by the device");
}

TEST(ConnectionsSteered, WithoutReportsOrWithGarbageThereIsNoCondition) {
  EXPECT_FALSE(ConnectionsSteered({}, 1).has_value());
  EXPECT_FALSE(ConnectionsSteered({{0, PodWith("{")}, {1, PodWith({0, 0, 4, ""})}}, 1).has_value());
}

TEST(ConnectionReport, IsReadAsItWasWritten) {
  const api::ConnectionReport report{1, 2, 3, "why"};
  EXPECT_EQ(api::DecodeConnectionReport(api::EncodeConnectionReport(report)).value(), report);
  EXPECT_TRUE(api::DecodeConnectionReport(
                  api::EncodeConnectionReport({1, 2, 3, std::string("\xff\xfe", 2)}))
                  .ok())
      << "bytes of a container";
  EXPECT_FALSE(api::DecodeConnectionReport(R"({"version":1,"steered":-1})").ok());
  EXPECT_FALSE(api::DecodeConnectionReport(R"({"version":2})").ok());
}

TEST(ConnectionReport, ALongReasonIsNotCutInsideACharacter) {
  const std::string kept(api::kMaxWhyBytes - 1, 'x');
  const std::string why = kept + "\xE2\x82\xAC";
  EXPECT_EQ(api::DecodeConnectionReport(api::EncodeConnectionReport({1, 2, 3, why}))->why, kept);
  const std::string longer = R"({"version":1,"unsteered":1,"why":")" + why + "\"}";
  EXPECT_EQ(api::DecodeConnectionReport(longer)->why, kept);
}

}  // namespace
}  // namespace yardmaster::op
