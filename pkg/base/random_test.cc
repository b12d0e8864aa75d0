#include "pkg/base/random.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace yardmaster {
namespace {

// From the authors' reference implementation.
TEST(RandomTest, TheNumbersAreThoseOfSplitMix64) {
  Random random(1234567);
  for (const std::uint64_t expected :
       {6457827717110365317ULL, 3203168211198807973ULL, 9817491932198370423ULL,
        4593380528125082431ULL, 16408922859458223821ULL}) {
    EXPECT_EQ(random.Next(), expected);
  }
}

// From the reference vectors of the hash.
TEST(RandomTest, TheSeedOfANameIsItsFnv1aHash) {
  EXPECT_EQ(SeedOf(0, ""), 0xCBF29CE484222325ULL);
  EXPECT_EQ(SeedOf(0, "a"), 0xAF63DC4C8601EC8CULL);
  EXPECT_EQ(SeedOf(0, "foobar"), 0x85944171F73967E8ULL);
  EXPECT_NE(SeedOf(1, "a"), SeedOf(2, "a"));
  EXPECT_NE(SeedOf(0, "\xFF"), SeedOf(0, "\x7F"));
}

TEST(RandomTest, BelowStaysBelowAndReachesEverything) {
  Random random(1);
  EXPECT_EQ(random.Below(1), 0u);
  for (const std::uint64_t bound : {2ULL, 3ULL, 10ULL}) {
    std::map<std::uint64_t, int> count;
    for (int i = 0; i < 10'000; ++i) ++count[random.Below(bound)];
    ASSERT_EQ(count.size(), bound);
    EXPECT_LT(count.rbegin()->first, bound);
    for (const auto& [value, times] : count) {
      EXPECT_NEAR(times, 10'000.0 / static_cast<double>(bound), 300) << value;
    }
  }
  for (int i = 0; i < 1000; ++i) EXPECT_LT(random.Below(~0ULL), ~0ULL);
}

TEST(RandomTest, UnitIsFromZeroToBelowOne) {
  Random random(2);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double value = random.Unit();
    ASSERT_GE(value, 0);
    ASSERT_LT(value, 1);
    sum += value;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(RandomTest, EveryOrderIsShuffledIntoEquallyOften) {
  Random random(3);
  std::map<std::string, int> count;
  for (int i = 0; i < 6'000; ++i) {
    std::string letters = "abc";
    random.Shuffle(letters);
    ++count[letters];
  }
  ASSERT_EQ(count.size(), 6u);
  for (const auto& [letters, times] : count) EXPECT_NEAR(times, 1'000, 150) << letters;
}

TEST(RandomTest, ShufflingKeepsWhatIsThere) {
  Random random(4);
  std::vector<int> none;
  random.Shuffle(none);
  EXPECT_TRUE(none.empty());
  std::vector<int> values = {1, 1, 2, 3, 5, 8};
  const std::vector<int> before = values;
  random.Shuffle(values);
  std::sort(values.begin(), values.end());
  EXPECT_EQ(values, before);
}

}  // namespace
}  // namespace yardmaster
