#include "pkg/metrics/sample_history.h"

#include <algorithm>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::metrics {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr std::int64_t kStartMs = 1'700'000'000'000;

// The history of `count` samples, of which number i has the text of `text(i)`.
template <typename Text>
void Fill(SampleHistory& history, int count, Text text) {
  for (int i = 0; i < count; ++i) history.Add(text(i), kStartMs + i * kHistoryIntervalMs);
}

std::size_t LinesOf(const std::string& text, const std::string& series) {
  std::size_t count = 0;
  for (std::size_t at = text.find(series + " "); at != std::string::npos;
       at = text.find(series + " ", at + 1)) {
    ++count;
  }
  return count;
}

TEST(SampleHistory, IsEmptyOpenMetricsAtTheStart) { EXPECT_EQ(SampleHistory().Text(), "# EOF\n"); }

TEST(SampleHistory, GivesAValueWhereItChangesAndJustBefore) {
  SampleHistory history;
  Fill(history, 7,
       [](int i) { return StrCat("# TYPE a counter\na{x=\"b c\"} ", i < 5 ? "1" : "2.5", "\n"); });
  EXPECT_EQ(history.Text(),
            "a{x=\"b c\"} 1 1700000000.000\n"
            "a{x=\"b c\"} 1 1700000120.000\n"
            "a{x=\"b c\"} 2.5 1700000150.000\n"
            "a{x=\"b c\"} 2.5 1700000180.000\n"
            "# EOF\n");
}

TEST(SampleHistory, AValueThatStaysIsRepeatedBeforePrometheusForgetsIt) {
  SampleHistory history;
  Fill(history, 121, [](int) { return "a 1\n"; });
  EXPECT_EQ(LinesOf(history.Text(), "a"), 121u / 8 + 1);
}

TEST(SampleHistory, ASeriesThatEndsAndComesBackHasAGap) {
  SampleHistory history;
  Fill(history, 4, [](int i) { return i == 1 || i == 2 ? "b 1\n" : "a 1\nb 1\n"; });
  EXPECT_EQ(history.Text(),
            "a 1 1700000000.000\n"
            "a 1 1700000090.000\n"
            "b 1 1700000000.000\n"
            "b 1 1700000090.000\n"
            "# EOF\n");
}

TEST(SampleHistory, KeepsAnHourAndForgetsSeriesThatEndedBefore) {
  SampleHistory history;
  Fill(history, 300, [](int i) { return StrCat(i < 100 ? "gone 1\n" : "", "a ", i, "\n"); });
  const std::string text = history.Text();
  EXPECT_EQ(LinesOf(text, "a"), 121u);
  EXPECT_THAT(text, testing::StartsWith("a 179 1700005370.000\n"));
  EXPECT_THAT(text, HasSubstr("a 299 1700008970.000\n"));
  EXPECT_THAT(text, Not(HasSubstr("gone")));
}

TEST(SampleHistory, TheOldestValueIsKnownAlthoughItChangedBefore) {
  SampleHistory history;
  Fill(history, 200, [](int i) { return StrCat("a ", i < 50 ? 1 : 2, "\n"); });
  EXPECT_THAT(history.Text(), testing::StartsWith("a 2 1700002370.000\n"));
}

TEST(SampleHistory, TimesAscendAlthoughTheClockIsSetBack) {
  SampleHistory history;
  history.Add("a 1\n", kStartMs);
  history.Add("a 2\n", kStartMs - 3'600'000);
  EXPECT_EQ(history.Text(), "a 1 1700000000.000\na 2 1700000000.001\n# EOF\n");
}

TEST(SampleHistory, WhatIsNoSampleIsPassedOver) {
  SampleHistory history;
  history.Add("\n# HELP a b\nnonsense\na x\n b\nc NaN\nd +Inf\ne -Inf\nlast 1e-05", kStartMs);
  EXPECT_EQ(history.Text(),
            "d +Inf 1700000000.000\ne -Inf 1700000000.000\nlast 1e-05 1700000000.000\n# EOF\n");
}

TEST(SampleHistory, SeriesBeyondTheLimitAreCountedAndHaveRoomWhenOthersHaveEnded) {
  SampleHistory history({.samples = 3, .series = 2, .changes = 100});
  history.Add("a 1\nb 1\nc 1\nd 1\n", kStartMs);
  EXPECT_EQ(history.left_out_series(), 2u);
  EXPECT_THAT(history.Text(), Not(HasSubstr("c 1")));
  for (int i = 1; i <= 4; ++i) history.Add("a 1\nc 1\n", kStartMs + i);
  EXPECT_EQ(history.left_out_series(), 0u);
  EXPECT_THAT(history.Text(), HasSubstr("c 1"));
}

TEST(SampleHistory, ManyChangesShortenTheHistoryAndMemoryStaysWithinItsBound) {
  SampleHistory history;
  std::size_t most = 0;
  for (int i = 0; i < 40; ++i) {
    std::string text;
    for (int series = 0; series < 5'000; ++series) {
      text += StrCat("yardmaster_series{number=\"", series, "\"} ", i, "\n");
    }
    history.Add(text, kStartMs + i * kHistoryIntervalMs);
    most = std::max(most, history.bytes());
  }
  EXPECT_EQ(history.left_out_series(), 5'000u - 4'096u);
  EXPECT_EQ(LinesOf(history.Text(), "yardmaster_series{number=\"0\"}"), 65'536u / 4'096u);
  EXPECT_LT(most, 4u << 20);
}

}  // namespace
}  // namespace yardmaster::metrics
