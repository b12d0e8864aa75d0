#include "pkg/metrics/log.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::metrics {
namespace {

class LogTest : public testing::Test {
 protected:
  Logger Make(LogFormat format, LogLevel level = LogLevel::kInfo) {
    return Logger({.level = level, .format = format, .out = &out_}, clock_);
  }
  std::string Take() {
    std::string text = out_.str();
    out_.str("");
    return text;
  }

  FakeClock clock_{1'767'323'045'078};
  std::ostringstream out_;
};

TEST_F(LogTest, WritesOneJsonLineAnEvent) {
  Make(LogFormat::kJson)
      .Info("gang planned",
            {{"gang", std::string("a")}, {"hosts", 128}, {"ms", 3.25}, {"placed", true}});
  EXPECT_EQ(Take(),
            "{\"ts\":\"2026-01-02T03:04:05.078Z\",\"level\":\"info\",\"msg\":\"gang planned\","
            "\"gang\":\"a\",\"hosts\":128,\"ms\":3.25,\"placed\":true}\n");
}

TEST_F(LogTest, WritesTextForPeople) {
  Make(LogFormat::kText)
      .Error("bind failed", {{"pod", "a-0"}, {"why", "not found"}, {"empty", ""}});
  EXPECT_EQ(Take(),
            "2026-01-02T03:04:05.078Z ERROR bind failed pod=a-0 why=\"not found\" empty=\"\"\n");
}

TEST_F(LogTest, BoundFieldsStandInEveryLine) {
  const Logger log = Make(LogFormat::kJson).With({{"job", "a"}}).With({{"shard", 2}});
  log.Warn("one");
  log.Warn("two", {{"x", 1}});
  const std::string text = Take();
  EXPECT_THAT(text, testing::HasSubstr("\"msg\":\"one\",\"job\":\"a\",\"shard\":2}\n"));
  EXPECT_THAT(text, testing::HasSubstr("\"msg\":\"two\",\"job\":\"a\",\"shard\":2,\"x\":1}\n"));
}

TEST_F(LogTest, LevelsThatAreOffWriteNothing) {
  const Logger log = Make(LogFormat::kJson, LogLevel::kWarn);
  log.Info("no");
  EXPECT_EQ(Take(), "");
  log.Warn("yes");
  EXPECT_NE(Take(), "");
}

TEST_F(LogTest, WhateverIsInAValueALineIsOneLineOfValidJson) {
  const Logger log = Make(LogFormat::kJson);
  Random random(3);
  for (int round = 0; round < 2000; ++round) {
    std::string value;
    for (std::uint64_t i = random.Below(12); i > 0; --i) {
      value.push_back(static_cast<char>(random.Below(256)));
    }
    log.Info(value, {{value, value}, {"nan", std::nan("")}, {"inf", -HUGE_VAL}});
    const std::string line = Take();
    EXPECT_EQ(line.find('\n'), line.size() - 1);
    EXPECT_TRUE(nlohmann::json::accept(line)) << line;
  }
}

TEST_F(LogTest, ValidTextSurvivesJson) {
  const std::string text = "grüße \"q\" \\ \t\n\x01\x7f 漢字 😀";
  Make(LogFormat::kJson).Info("m", {{"text", text}});
  EXPECT_EQ(nlohmann::json::parse(Take())["text"], text);
}

TEST_F(LogTest, AValueCannotForgeATextLine) {
  Make(LogFormat::kText).Info("a\nb", {{"k", "x\n2026 ERROR forged"}});
  EXPECT_EQ(Take(), "2026-01-02T03:04:05.078Z INFO a b k=\"x\\n2026 ERROR forged\"\n");
}

TEST_F(LogTest, NumbersKeepTheirRange) {
  Make(LogFormat::kJson)
      .Info("m", {{"u", std::numeric_limits<std::uint64_t>::max()},
                  {"i", std::numeric_limits<std::int64_t>::min()},
                  {"d", 0.1}});
  EXPECT_THAT(Take(), testing::HasSubstr(
                          "\"u\":18446744073709551615,\"i\":-9223372036854775808,\"d\":0.1}"));
}

TEST_F(LogTest, LinesOfManyThreadsDoNotMix) {
  const Logger log = Make(LogFormat::kJson);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([log, t] {
      for (int i = 0; i < 200; ++i) log.Info("m", {{"t", t}, {"pad", std::string(100, 'x')}});
    });
  }
  for (std::thread& thread : threads) thread.join();
  const std::vector<std::string> lines = Split(Take(), '\n');
  ASSERT_EQ(lines.size(), 801U);
  for (std::size_t i = 0; i < 800; ++i) EXPECT_TRUE(nlohmann::json::accept(lines[i]));
}

TEST(LogOptions, AFormatIsNamedAndWrongNamesAreRefused) {
  EXPECT_EQ(*ParseLogFormat("text"), LogFormat::kText);
  EXPECT_THAT(MessageOf(ParseLogFormat("xml").status()), testing::HasSubstr("use json or text"));
}

}  // namespace
}  // namespace yardmaster::metrics
