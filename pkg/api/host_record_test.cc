#include "pkg/api/host_record.h"

#include "gtest/gtest.h"

#include "pkg/api/checkpoint_mark.h"

namespace yardmaster::api {
namespace {

TEST(HostRecordTest, ARecordIsReadAsItWasWritten) {
  HostRecord record;
  record.quarantines = 2;
  record.until_ms = 1'700'000'000'000;
  record.failures.push_back({"team/a", "u1", 3, 5, 134, 1'699'999'000'000});
  record.failures.push_back({"team/b", "u2", 1, 0, std::nullopt, 1'699'999'500'000});
  record.failures.push_back({"team/c", "u3", 1, 0, std::nullopt, 1'699'999'600'000, true});
  const auto read = DecodeHostRecord(EncodeHostRecord(record));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(*read, record);
}

TEST(HostRecordTest, ARecordWithAFieldThatCannotBeReadNamesIt) {
  const auto read = DecodeHostRecord(R"({"version":1,"failures":[{"job":"a","uid":7}]})");
  ASSERT_FALSE(read.ok());
  EXPECT_NE(read.status().message().find("failures[0].uid"), std::string::npos) << read.status();
  EXPECT_FALSE(DecodeHostRecord(R"({"version":2})").ok());
}

TEST(CheckpointMarkTest, AMarkIsReadAsItWasWrittenAndNeedsATime) {
  CheckpointMark mark{1'700'000'000'000, 42.5};
  EXPECT_EQ(*DecodeCheckpointMark(EncodeCheckpointMark(mark)), mark);
  mark.last = true;
  EXPECT_EQ(*DecodeCheckpointMark(EncodeCheckpointMark(mark)), mark);
  EXPECT_FALSE(DecodeCheckpointMark(R"({"version":1})").ok());
  EXPECT_FALSE(
      DecodeCheckpointMark(R"({"version":1,"time":"2026-01-01T00:00:00Z","seconds":-1})").ok());
  EXPECT_FALSE(
      DecodeCheckpointMark(R"({"version":1,"time":"2026-01-01T00:00:00Z","last":"yes"})").ok());
}

}  // namespace
}  // namespace yardmaster::api
