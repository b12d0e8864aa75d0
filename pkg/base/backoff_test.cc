#include "pkg/base/backoff.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

namespace yardmaster {
namespace {

std::vector<std::int64_t> Delays(BackoffLimits limits, int tries) {
  std::vector<std::int64_t> delays;
  std::int64_t last = 0;
  for (int i = 0; i < tries; ++i) delays.push_back(last = NextDelayMs(last, limits));
  return delays;
}

TEST(BackoffTest, DelaysDoubleFromTheFirstToTheLast) {
  EXPECT_EQ(Delays({100, 1'000}, 6), (std::vector<std::int64_t>{100, 200, 400, 800, 1'000, 1'000}));
}

TEST(BackoffTest, WhereTheLimitsAreOneTheDelayIsConstant) {
  EXPECT_EQ(Delays({500, 500}, 3), (std::vector<std::int64_t>{500, 500, 500}));
  EXPECT_EQ(Delays({0, 0}, 2), (std::vector<std::int64_t>{0, 0}));
}

TEST(BackoffTest, ADelayAboveTheLimitComesDownToIt) {
  EXPECT_EQ(NextDelayMs(5'000, {100, 1'000}), 1'000);
}

TEST(BackoffTest, NoDelayOverflows) {
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> delays = Delays({1, kMost}, 70);
  for (std::size_t i = 1; i < delays.size(); ++i) EXPECT_GE(delays[i], delays[i - 1]);
  EXPECT_EQ(delays.back(), kMost);
}

}  // namespace
}  // namespace yardmaster
