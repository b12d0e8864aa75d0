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
  for (int i = 0; i < 2000; ++i) queue.Add(std::string(1, static_cast<char>('0' + i % 4)));
  queue.ShutDown();
  for (auto& thread : threads) thread.join();
  EXPECT_FALSE(clash);
  EXPECT_GE(worked, 4);
}

}  // namespace
}  // namespace yardmaster
