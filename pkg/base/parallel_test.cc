#include "pkg/base/parallel.h"

#include <chrono>
#include <stdexcept>
#include <thread>

#include "gtest/gtest.h"

namespace yardmaster {
namespace {

TEST(ParallelForTest, AnExceptionReachesTheCallerOnceAllWorkHasEnded) {
  for (const std::size_t threads : {1u, 4u}) {
    std::atomic<int> begun = 0;
    std::atomic<int> ended = 0;
    EXPECT_THROW(ParallelFor(20, threads,
                             [&](std::size_t i) {
                               ++begun;
                               if (i == 3) throw std::runtime_error("unforeseen");
                               std::this_thread::sleep_for(std::chrono::milliseconds(1));
                               ++ended;
                             }),
                 std::runtime_error);
    EXPECT_EQ(begun - ended, 1) << threads;
  }
}

}  // namespace
}  // namespace yardmaster
