#include "pkg/operator/jobs/elastic_size.h"

#include "gtest/gtest.h"

namespace yardmaster::op {
namespace {

class DecideSizeTest : public ::testing::Test {
 protected:
  DecideSizeTest() {
    view_.policy = {true, 1, 8, 60, 600, 8, 8};
    view_.sizes = {1, 2, 4, 8};
    view_.data = 4;
    view_.now_ms = 10'000'000;
  }
  SizeDecision Decide() {
    const LargestFit fit = [this](const std::vector<int>& sizes) {
      asked_ = sizes;
      int best = 0;
      for (const int size : sizes) best = size <= room_ ? size : best;
      return best;
    };
    const LargestFit join = [this](const std::vector<int>& sizes) {
      int best = 0;
      for (const int size : sizes) best = size <= room_beside_ ? size : best;
      return best;
    };
    return DecideSize(view_, fit, fit, join);
  }

  ElasticView view_;
  int room_ = 0;
  int room_beside_ = 0;  // without moving a rank
  std::vector<int> asked_;
};

TEST_F(DecideSizeTest, AJobThatRunsAtItsLargestSizeStays) {
  view_.data = 8;
  view_.running_ms = 3'600'000;
  room_ = 100;
  EXPECT_EQ(Decide().target, 0);
  EXPECT_TRUE(asked_.empty());
}

TEST_F(DecideSizeTest, WhatIsMoreThanAllowedGoesAtOnce) {
  view_.data = 16;
  EXPECT_EQ(Decide().target, 8);
}

TEST_F(DecideSizeTest, AJobThatWaitsLongEnoughShrinksToTheLargestSizeThatFits) {
  room_ = 3;
  view_.waiting_ms = 59'000;
  SizeDecision decision = Decide();
  EXPECT_EQ(decision.target, 0);
  EXPECT_EQ(decision.look_again_ms, 1'000);
  view_.waiting_ms = 60'000;
  decision = Decide();
  EXPECT_EQ(decision.target, 2);
  EXPECT_EQ(asked_, (std::vector<int>{1, 2}));
  EXPECT_NE(decision.why.find("2 data groups"), std::string::npos) << decision.why;
}

TEST_F(DecideSizeTest, WithoutRoomForItsSmallestSizeItWaitsOn) {
  view_.waiting_ms = 600'000;
  const SizeDecision decision = Decide();
  EXPECT_EQ(decision.target, 0);
  EXPECT_TRUE(decision.look_again_ms.has_value());
  view_.data = 1;
  EXPECT_FALSE(Decide().look_again_ms.has_value()) << "it cannot shrink further";
}

TEST_F(DecideSizeTest, AJobGrowsOnceItHasRunLongEnoughAtItsSize) {
  room_ = 100;
  view_.running_ms = 700'000;
  view_.changed_ms = view_.now_ms - 500'000;
  EXPECT_EQ(Decide().look_again_ms, 100'000);
  view_.changed_ms = view_.now_ms - 600'000;
  EXPECT_EQ(Decide().target, 8);
  view_.running_ms = 0;
  EXPECT_EQ(Decide().target, 0);
}

TEST_F(DecideSizeTest, AJobThatTakesWorkersInGrowsInPlaceWhereThatFitsAndElseAgain) {
  view_.sizes = {1, 2, 4, 6, 8};
  view_.running_ms = 600'000;
  view_.joins = true;
  room_ = 8;
  room_beside_ = 6;
  EXPECT_EQ(Decide().target, 6);
  EXPECT_TRUE(Decide().in_place);
  room_beside_ = 4;
  EXPECT_EQ(Decide().target, 8);
  EXPECT_FALSE(Decide().in_place);
  view_.joins = false;
  room_beside_ = 8;
  EXPECT_FALSE(Decide().in_place);
}

TEST_F(DecideSizeTest, AGrowthInPlaceGoesOnUntilItsRanksHaveWaitedTooLong) {
  view_.data = 8;
  view_.growing_from = 4;
  view_.changed_ms = view_.now_ms - 59'000;
  view_.awaits_room = true;
  EXPECT_EQ(Decide().target, 0);
  EXPECT_EQ(Decide().look_again_ms, 1'000);
  view_.changed_ms -= 1'000;
  EXPECT_EQ(Decide().target, 4);
  EXPECT_TRUE(Decide().in_place);
  view_.awaits_room = false;
  EXPECT_EQ(Decide().target, 0) << "they have hosts";
  view_.sizes = {1, 2, 4};
  EXPECT_EQ(Decide().target, 4) << "scaled down meanwhile";
  EXPECT_TRUE(Decide().in_place);
}

}  // namespace
}  // namespace yardmaster::op
