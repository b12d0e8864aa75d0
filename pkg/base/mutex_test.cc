#include "pkg/base/mutex.h"

#include <gtest/gtest.h>
#include <thread>
#include <vector>

namespace yardmaster {
namespace {

struct Counter {
  Mutex mutex;
  CondVar changed;
  int value ABSL_GUARDED_BY(mutex) = 0;
};

TEST(MutexTest, IncrementsOfManyThreadsAreAllCounted) {
  Counter counter;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 10'000; ++i) {
          MutexLock lock(counter.mutex);
          ++counter.value;
        }
      });
    }
  }
  MutexLock lock(counter.mutex);
  EXPECT_EQ(counter.value, 40'000);
}

TEST(MutexTest, AWaiterIsWokenAndALockThatLetGoIsTakenAgain) {
  Counter counter;
  std::jthread other([&] {
    MutexLock lock(counter.mutex);
    counter.value = 1;
    counter.changed.notify_all();
    counter.changed.wait(
        lock, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(counter.mutex) { return counter.value == 2; });
    counter.value = 3;
    lock.unlock();
    counter.changed.notify_all();
    lock.lock();
  });
  MutexLock lock(counter.mutex);
  counter.changed.wait(
      lock, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(counter.mutex) { return counter.value == 1; });
  counter.value = 2;
  counter.changed.notify_all();
  counter.changed.wait(
      lock, [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(counter.mutex) { return counter.value == 3; });
  EXPECT_EQ(counter.value, 3);
}

}  // namespace
}  // namespace yardmaster
