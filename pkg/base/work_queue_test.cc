#include "pkg/base/work_queue.h"

#include <atomic>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace yardmaster {
namespace {

TEST(WorkQueueTest, AKeyAddedTwiceIsDeliveredOnce) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.Add("a");
  queue.Add("a");
  EXPECT_EQ(queue.Get(), "a");
  queue.Done("a");
  queue.ShutDown();
  EXPECT_EQ(queue.Get(), std::nullopt);
}

TEST(WorkQueueTest, AKeyAddedWhileWorkedOnComesBackAfterDone) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.Add("a");
  ASSERT_EQ(queue.Get(), "a");
  queue.Add("a");
  EXPECT_EQ(queue.Depth(), 0u);
  queue.Done("a");
  EXPECT_EQ(queue.Depth(), 1u);
}

TEST(WorkQueueTest, KeysThatGoFirstGoBeforeOthersOfTheirGroupInTheirOwnOrder) {
  FakeClock clock;
  WorkQueue queue(clock);
  for (const char* key : {"n/a", "n/b", "n/c", "m/a"}) queue.Add(key);
  queue.AddFirst("n/c");  // waits already
  queue.AddFirst("n/d");
  queue.AddFirst("n/c");
  for (const char* key : {"n/c", "m/a", "n/d", "n/a", "n/b"}) EXPECT_EQ(queue.Get(), key);
  EXPECT_EQ(queue.Depth(), 0u);
}

TEST(WorkQueueTest, AKeyThatGoesFirstWhileItIsWorkedOnComesBackFirst) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.Add("n/a");
  ASSERT_EQ(queue.Get(), "n/a");
  queue.Add("n/b");
  queue.Add("n/a");
  queue.AddFirst("n/a");
  EXPECT_EQ(queue.Depth(), 1u) << "no second consumer gets it";
  queue.Done("n/a");
  EXPECT_EQ(queue.Get(), "n/a");
  queue.Done("n/a");
  queue.Add("n/a");
  EXPECT_EQ(queue.Get(), "n/b") << "once";
}

TEST(WorkQueueTest, AKeyThatGoesFirstAndHasBackgroundWorkComesBackFirstAfterIt) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.AddBackground("n/a", 0);
  for (const char* key : {"x/1", "x/2", "x/3"}) queue.Add(key);
  for (const char* key : {"x/1", "x/2", "x/3"}) ASSERT_EQ(queue.Get(), key);
  for (const char* key : {"n/b", "n/c"}) queue.Add(key);
  queue.AddFirst("n/a");
  bool background = false;
  ASSERT_EQ(queue.Get(&background), "n/a");
  ASSERT_TRUE(background);
  EXPECT_EQ(queue.Get(), "n/b") << "no second consumer gets it";
  queue.Done("n/a");
  EXPECT_EQ(queue.Get(&background), "n/a");
  EXPECT_FALSE(background);
  EXPECT_EQ(queue.Get(), "n/c");
}

TEST(WorkQueueTest, ADelayedKeyComesNotBeforeItsTimeAndTheEarliestDelayWins) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.AddAfter("slow", 1000);
  queue.AddAfter("slow", 100);
  queue.Add("now");
  EXPECT_EQ(queue.Get(), "now");
  clock.Advance(100);
  EXPECT_EQ(queue.Get(), "slow");
}

TEST(WorkQueueTest, BackgroundWorkComesWhenNoKeyIsReadyAndTheEarliestDueFirst) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.AddBackground("large", 5'000);
  queue.AddBackground("small", 10);
  queue.Add("now");
  bool background = true;
  EXPECT_EQ(queue.Get(&background), "now");
  EXPECT_FALSE(background);
  EXPECT_EQ(queue.Get(&background), "small");
  EXPECT_TRUE(background);
  EXPECT_EQ(queue.Get(&background), "large");
  EXPECT_TRUE(background);
}

TEST(WorkQueueTest, TheEarlierOfTwoDueTimesOfAKeyWins) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.AddBackground("a", 100);
  queue.AddBackground("b", 50);
  queue.AddBackground("a", 10);
  queue.AddBackground("b", 500);
  EXPECT_EQ(queue.Depth(), 2u);
  EXPECT_EQ(queue.Get(), "a");
  EXPECT_EQ(queue.Get(), "b");
  EXPECT_EQ(queue.Depth(), 0u);
}

TEST(WorkQueueTest, DueBackgroundWorkGoesOnWhileKeysAreAlwaysReady) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.AddBackground("work", 100);
  for (int i = 0; i < 20; ++i) queue.Add(std::string(1, static_cast<char>('a' + i)));
  for (int i = 0; i < 10; ++i) EXPECT_NE(queue.Get(), "work") << "it is not due";
  clock.Advance(100);
  EXPECT_EQ(queue.Get(), "work");
  queue.Done("work");
  queue.AddBackground("work", 0);
  for (int i = 0; i < 3; ++i) EXPECT_NE(queue.Get(), "work") << "one of four at most";
  EXPECT_EQ(queue.Get(), "work");
}

TEST(WorkQueueTest, WhileKeysAreReadyOneConsumerAtMostHasBackgroundWork) {
  FakeClock clock;
  WorkQueue queue(clock);
  for (const char* key : {"first", "second"}) queue.AddBackground(key, 0);
  for (int i = 0; i < 10; ++i) queue.Add(std::to_string(i));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(queue.Get(), std::to_string(i));
  EXPECT_EQ(queue.Get(), "first");
  for (int i = 3; i < 8; ++i) EXPECT_EQ(queue.Get(), std::to_string(i)) << "first is still done";
  queue.Done("first");
  EXPECT_EQ(queue.Get(), "second");
}

TEST(WorkQueueTest, AKeyWithBackgroundWorkHasOneConsumerAndLosesNoWork) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.Add("a");
  bool background = true;
  ASSERT_EQ(queue.Get(&background), "a");
  queue.AddBackground("a", 0);
  queue.AddBackground("b", 100);
  EXPECT_EQ(queue.Get(&background), "b") << "a has a consumer";
  queue.Add("a");
  queue.Done("a");
  EXPECT_EQ(queue.Get(&background), "a");
  EXPECT_FALSE(background);
  queue.Done("a");
  EXPECT_EQ(queue.Get(&background), "a");
  EXPECT_TRUE(background);
}

TEST(WorkQueueTest, AKeyThatIsReadyAndHasBackgroundWorkHasOneConsumer) {
  FakeClock clock;
  WorkQueue queue(clock);
  queue.AddBackground("a", 0);
  for (const char* key : {"x1", "x2", "x3", "a", "x4"}) queue.Add(key);
  for (const char* key : {"x1", "x2", "x3"}) EXPECT_EQ(queue.Get(), key);
  bool background = false;
  ASSERT_EQ(queue.Get(&background), "a");
  EXPECT_TRUE(background);
  EXPECT_EQ(queue.Get(), "x4") << "a has a consumer";
  queue.Done("a");
  EXPECT_EQ(queue.Get(&background), "a") << "what was ready is not lost";
  EXPECT_FALSE(background);
}

TEST(WorkQueueTest, NamespacesTakeTurnsAtReadyKeys) {
  FakeClock clock;
  WorkQueue queue(clock);
  for (int i = 0; i < 2'000; ++i) queue.Add("flood/" + std::to_string(i));
  EXPECT_EQ(queue.Get(), "flood/0");
  for (const char* key : {"team/a", "team/b", "other/a"}) queue.Add(key);
  std::vector<std::string> order;
  for (int i = 0; i < 6; ++i) order.push_back(*queue.Get());
  EXPECT_EQ(order, (std::vector<std::string>{"flood/1", "team/a", "other/a", "flood/2", "team/b",
                                             "flood/3"}));
}

TEST(WorkQueueTest, NamespacesTakeTurnsAtBackgroundWork) {
  FakeClock clock;
  WorkQueue queue(clock);
  for (int i = 0; i < 2'000; ++i) queue.AddBackground("flood/" + std::to_string(i), i);
  queue.AddBackground("team/large", 5'000);
  queue.AddBackground("team/small", 4'000);
  std::vector<std::string> order;
  for (int i = 0; i < 4; ++i) {
    order.push_back(*queue.Get());
    queue.Done(order.back());
  }
  EXPECT_EQ(order, (std::vector<std::string>{"flood/0", "team/small", "flood/1", "team/large"}));
}

TEST(WorkQueueTest, DueBackgroundWorkOfANamespaceIsNotHeldUpByReadyKeysOfAnother) {
  FakeClock clock;
  WorkQueue queue(clock);
  for (int i = 0; i < 2'000; ++i) {
    queue.Add("flood/ready-" + std::to_string(i));
    queue.AddBackground("flood/" + std::to_string(i), 0);
  }
  queue.AddBackground("team/a", 0);
  bool found = false;
  for (int i = 0; i < 8 && !found; ++i) {
    const std::string key = *queue.Get();
    found = key == "team/a";
    queue.Done(key);
  }
  EXPECT_TRUE(found);
}

TEST(WorkQueueTest, AConsumerThatWaitsGetsBackgroundWork) {
  RealClock clock;
  WorkQueue queue(clock);
  queue.Add("a");
  ASSERT_EQ(queue.Get(), "a");
  std::thread consumer([&] { EXPECT_EQ(queue.Get(), "a"); });
  queue.AddBackground("a", 60'000);
  queue.Done("a");
  consumer.join();
}

TEST(WorkQueueTest, NoKeyIsEverWithTwoConsumers) {
  RealClock clock;
  WorkQueue queue(clock);
  std::vector<std::atomic<int>> inside(4);
  std::atomic<int> worked = 0;
  std::atomic<bool> clash = false;
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      while (auto key = queue.Get()) {
        auto& mine = inside[static_cast<std::size_t>((*key)[0] - '0')];
        if (mine++ != 0) clash = true;
        ++worked;
        --mine;
        queue.Done(*key);
      }
    });
  }
  for (int i = 0; i < 2000; ++i) {
    const std::string key(1, static_cast<char>('0' + i % 4));
    if (i % 3 == 0) queue.AddBackground(key, i % 5);
    queue.Add(key);
  }
  queue.ShutDown();
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(clash);
  EXPECT_GE(worked, 4);
}

}  // namespace
}  // namespace yardmaster
