#include "pkg/operator/jobs/refusal_pacer.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::op {
namespace {

class RefusalPacerTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  RefusalPacer pacer_{clock_};
};

TEST_F(RefusalPacerTest, AJobWaitsTwiceAsLongAfterEachRefusalUpToAMinute) {
  for (const std::int64_t wait_ms : {1'000, 2'000, 4'000, 8'000, 16'000, 32'000, 60'000, 60'000}) {
    EXPECT_EQ(pacer_.Refused("team/a", 1), wait_ms);
    EXPECT_EQ(pacer_.WaitMs("team/a", 1), wait_ms);
    clock_.Advance(wait_ms);
    EXPECT_EQ(pacer_.WaitMs("team/a", 1), 0);
  }
  EXPECT_TRUE(pacer_.Forget("team/a"));
  EXPECT_FALSE(pacer_.Forget("team/a"));
  EXPECT_EQ(pacer_.Refused("team/a", 1), 1'000) << "its pods were made meanwhile";
}

TEST_F(RefusalPacerTest, AnEditedJobIsTriedAtOnce) {
  for (int i = 0; i < 5; ++i) pacer_.Refused("team/a", 1);
  EXPECT_EQ(pacer_.WaitMs("team/a", 2), 0);
  EXPECT_LE(pacer_.Refused("team/a", 2), 3'000) << "and waits from the beginning";
}

TEST_F(RefusalPacerTest, AllJobsOfANamespaceAreTriedTwiceASecond) {
  std::int64_t last_ms = 0;
  for (int i = 0; i < 2'000; ++i) last_ms = pacer_.Refused(StrCat("flood/j", i), 1);
  EXPECT_EQ(last_ms, 1'000'000);
  EXPECT_EQ(pacer_.Refused("team/a", 1), 1'000) << "another namespace";
  EXPECT_EQ(pacer_.WaitMs("team/b", 1), 0);
}

TEST_F(RefusalPacerTest, RoomThatComesIsTriedByThoseThatWereRefusedLongestAgo) {
  EXPECT_TRUE(pacer_.TakeNext("team").empty());
  for (const char* key : {"team/z", "team/y", "team/x"}) {
    pacer_.Refused(key, 1);
    clock_.Advance(10);
  }
  EXPECT_EQ(pacer_.TakeNext("team"), (std::vector<std::string>{"team/z", "team/y"}));
  EXPECT_EQ(pacer_.WaitMs("team/z", 1), 0);
  EXPECT_GT(pacer_.WaitMs("team/x", 1), 0);
  EXPECT_TRUE(pacer_.TakeNext("team").empty()) << "a pod that ends at the same time wakes no more";
  clock_.Advance(100);
  pacer_.Forget("team/z");
  EXPECT_GT(pacer_.Refused("team/y", 1), 0);
  EXPECT_EQ(pacer_.TakeNext("team"), (std::vector<std::string>{"team/x", "team/y"}));
}

}  // namespace
}  // namespace yardmaster::op
