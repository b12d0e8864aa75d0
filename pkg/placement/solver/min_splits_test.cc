#include "pkg/placement/solver/min_splits.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <numeric>
#include <set>

#include "pkg/base/random.h"
#include "pkg/base/testing/rounds.h"

namespace yardmaster::placement {
namespace {

// The fewest splits over all partitions of the remainders; -1 if the gain is out of reach.
int BruteSplits(const std::vector<int>& remainders, int n, int gain) {
  int best = -1;
  std::vector<std::vector<int>> groups;
  std::function<void(std::size_t)> descend = [&](std::size_t i) {
    if (i == remainders.size()) {
      int gained = 0, splits = 0;
      for (const auto& group : groups) {
        int sum = 0;
        for (int r : group) sum += r;
        if (sum < n) continue;
        gained += sum / n;
        splits += static_cast<int>(group.size()) - 1;
      }
      if (gained >= gain && (best < 0 || splits < best)) best = splits;
      return;
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      groups[g].push_back(remainders[i]);
      descend(i + 1);
      groups[g].pop_back();
    }
    groups.push_back({remainders[i]});
    descend(i + 1);
    groups.pop_back();
  };
  descend(0);
  return best;
}

TEST(MinSplitsTest, MatchesBruteForce) {
  Random random(7);
  for (int round = 0; round < Rounds(3000); ++round) {
    const int n = 2 + static_cast<int>(random.Below(12));
    std::vector<int> remainders(1 + random.Below(7));
    for (int& r : remainders) r = static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
    std::sort(remainders.rbegin(), remainders.rend());
    const int gain = 1 + static_cast<int>(random.Below(5));
    const Splits got = MinSplits(remainders, n, gain, 1'000'000);
    const int want = BruteSplits(remainders, n, gain);
    ASSERT_EQ(got.possible, want >= 0);
    if (want < 0) continue;
    ASSERT_EQ(got.splits, want);
    ASSERT_EQ(got.lower, want);
    int gained = 0, splits = 0;
    for (const auto& group : got.groups) {
      int sum = 0;
      for (int i : group) sum += remainders[i];
      gained += sum / n;
      splits += static_cast<int>(group.size()) - 1;
    }
    ASSERT_GE(gained, gain);
    ASSERT_EQ(splits, want);
  }
}

std::vector<int> RandomRemainders(Random& random, int n, std::size_t most) {
  std::vector<int> remainders(1 + random.Below(most));
  for (int& r : remainders) r = static_cast<int>(random.Below(static_cast<std::uint64_t>(n)));
  std::sort(remainders.rbegin(), remainders.rend());
  return remainders;
}

TEST(MinSplitsTest, NoGainTakesNoSplitAndTooLittleIsProvedImpossible) {
  const Splits none = MinSplits({3, 2}, 4, 0, 100);
  EXPECT_TRUE(none.possible && none.proved);
  EXPECT_EQ(none.splits, 0);
  EXPECT_TRUE(none.groups.empty());
  const std::vector<std::vector<int>> short_ones = {{}, {3}, {3, 0, 0}, {2, 1}};
  for (const std::vector<int>& remainders : short_ones) {
    const Splits too_little = MinSplits(remainders, 4, 1, 100);
    EXPECT_FALSE(too_little.possible);
    EXPECT_TRUE(too_little.proved);
  }
}

TEST(MinSplitsTest, HoweverShortTheSearchTheGroupsAreValidAndTheBoundHolds) {
  Random random(8);
  int unproved = 0;
  for (int round = 0; round < Rounds(2000); ++round) {
    const int n = 2 + static_cast<int>(random.Below(12));
    const std::vector<int> remainders = RandomRemainders(random, n, 9);
    const int gain = 1 + static_cast<int>(random.Below(4));
    const Splits best = MinSplits(remainders, n, gain, 1'000'000);
    const Splits quick = MinSplits(remainders, n, gain, 2);
    ASSERT_TRUE(best.proved);
    unproved += !quick.proved;
    if (quick.proved) {
      ASSERT_EQ(quick.possible, best.possible);
    }
    if (!quick.possible) continue;
    ASSERT_LE(quick.lower, best.splits);
    ASSERT_LE(best.splits, quick.splits);
    int gained = 0, splits = 0;
    std::set<int> used;
    for (const std::vector<int>& group : quick.groups) {
      int sum = 0;
      for (int i : group) {
        sum += remainders[static_cast<std::size_t>(i)];
        ASSERT_TRUE(used.insert(i).second) << "a remainder in two groups";
      }
      gained += sum / n;
      splits += static_cast<int>(group.size()) - 1;
    }
    ASSERT_GE(gained, gain);
    ASSERT_EQ(splits, quick.splits);
  }
  EXPECT_GT(unproved, 0);
}

TEST(MinSplitsTest, LimitsNeverSaveASplitAndLooseOnesCostNone) {
  Random random(9);
  int dearer = 0, impossible = 0;
  for (int round = 0; round < Rounds(2000); ++round) {
    const int n = 2 + static_cast<int>(random.Below(8));
    const std::vector<int> remainders = RandomRemainders(random, n, 6);
    // As many as the remainders hold together: then segments have to take part in several
    // components.
    const int gain = std::max(1, std::accumulate(remainders.begin(), remainders.end(), 0) / n);
    const Splits free = MinSplits(remainders, n, gain, 1'000'000);
    const Splits loose =
        MinSplits(remainders, n, gain, 1'000'000, std::vector<int>(remainders.size(), 2));
    ASSERT_EQ(loose.possible, free.possible);
    if (free.possible) {
      ASSERT_EQ(loose.splits, free.splits);
    }
    std::vector<int> limits;
    for (std::size_t i = 0; i < remainders.size(); ++i) {
      limits.push_back(1 + static_cast<int>(random.Below(2)));
    }
    const Splits limited = MinSplits(remainders, n, gain, 1'000'000, limits);
    if (limited.possible) {
      ASSERT_TRUE(free.possible);
      ASSERT_GE(limited.splits, free.splits);
    }
    dearer += limited.possible && limited.splits > free.splits;
    impossible += free.possible && !limited.possible;
  }
  EXPECT_GT(dearer + impossible, MoreThan(20));
}

}  // namespace
}  // namespace yardmaster::placement
