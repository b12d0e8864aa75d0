#include "pkg/page/frame.h"

#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/page/frame_history.h"

namespace yardmaster::page {
namespace {

using nlohmann::json;

Text T(const std::string& text) { return std::make_shared<const std::string>(text); }

// What a browser makes of a change.
json Apply(json state, const std::string& change) {
  const json parsed = json::parse(change);
  if (parsed["from"].is_null()) state = json::object();
  for (const auto& [key, value] : parsed["set"].items()) state[key] = value;
  for (const auto& key : parsed["drop"]) state.erase(key.get<std::string>());
  return state;
}

TEST(FrameTest, AChangeHoldsWhatDiffersAndWhatIsGone) {
  const Frame a{1, 10, {{"x", T("1")}, {"y", T("2")}}};
  Frame b{2, 20, {{"x", T("1")}, {"z", T("[3]")}}};
  ShareTexts(a.blocks, b.blocks);
  EXPECT_EQ(
      json::parse(EncodeChange(&a, b)),
      json::parse(R"({"frame": 2, "from": 1, "timeMs": 20, "set": {"z": [3]}, "drop": ["y"]})"));
  EXPECT_EQ(json::parse(EncodeChange(nullptr, b))["set"], json::parse(R"({"x": 1, "z": [3]})"));
}

TEST(FrameTest, KeysThatAreNotPlainTextStayValidJson) {
  const Frame frame{1, 0, {{"job/a\"b\\\xff", T("1")}}};
  EXPECT_TRUE(json::accept(EncodeChange(nullptr, frame)));
}

TEST(FrameTest, AppliedInTurnChangesGiveTheSameAsFromNothing) {
  std::mt19937 random(7);
  FrameHistory history(
      {.span_ms = 1'000'000, .spacing_ms = 0, .max_bytes = 1u << 30, .fresh_frames = 8});
  json state;
  std::shared_ptr<const Frame> previous;
  for (int i = 0; i < 300; ++i) {
    Blocks blocks;
    for (int key = 0; key < 12; ++key) {
      if (random() % 3 != 0) blocks[StrCat("k", key)] = T(StrCat(random() % 2));
    }
    if (!history.Add(i, blocks)) continue;
    const auto latest = history.Latest();
    state = Apply(state, EncodeChange(previous.get(), *latest));
    EXPECT_EQ(state, Apply({}, EncodeChange(nullptr, *latest)));
    previous = latest;
  }
}

TEST(HistoryTest, EqualBlocksAreNoNewFrame) {
  FrameHistory history;
  EXPECT_TRUE(history.Add(0, {{"a", T("1")}}));
  EXPECT_FALSE(history.Add(1'000, {{"a", T("1")}}));
  EXPECT_EQ(history.Latest()->id, 1);
}

TEST(HistoryTest, OldFramesAreThinnedOutAndFreshOnesAreNot) {
  FrameHistory history;
  for (int second = 0; second < 7200; ++second)
    history.Add(second * 1'000, {{"a", T(StrCat(second))}});
  // One per ten seconds of the last hour, and the fresh ones.
  EXPECT_LE(history.frames().size(), 370u);
  EXPECT_GE(history.frames().size(), 350u);
  EXPECT_GE(history.frames().front()->time_ms, 3'599'000);
  const auto& frames = history.frames();
  for (std::size_t i = frames.size() - 8; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i]->time_ms - frames[i - 1]->time_ms <= 10'000, true);
    EXPECT_EQ(history.Find(frames[i]->id), frames[i]);
  }
  EXPECT_EQ(history.Find(1), nullptr);
}

TEST(HistoryTest, MemoryStaysBelowItsBoundWhateverChanges) {
  FrameHistory history(
      {.span_ms = 3'600'000, .spacing_ms = 0, .max_bytes = 100'000, .fresh_frames = 8});
  for (int i = 0; i < 1'000; ++i) {
    history.Add(i * 1'000, {{"a", T(std::string(2'000, static_cast<char>('a' + i % 26)))}});
    EXPECT_LE(history.bytes(), 100'000u);
  }
  // One frame larger than the bound is still served.
  history.Add(2'000'000, {{"a", T(std::string(200'000, 'x'))}});
  EXPECT_EQ(history.frames().size(), 1u);
  history.Add(2'001'000, {{"a", T("small")}});
  EXPECT_LE(history.bytes(), 1'000u);
}

TEST(HistoryTest, SharedTextsCountOnce) {
  FrameHistory history(
      {.span_ms = 3'600'000, .spacing_ms = 0, .max_bytes = 1u << 30, .fresh_frames = 8});
  for (int i = 0; i < 100; ++i) {
    history.Add(i * 1'000, {{"big", T(std::string(100'000, 'x'))}, {"small", T(StrCat(i))}});
  }
  EXPECT_EQ(history.frames().size(), 100u);
  EXPECT_LT(history.bytes(), 200'000u);
}

}  // namespace
}  // namespace yardmaster::page
