// Two hundred moves of running jobs under kills, lost answers and two leaders leave no gang in
// part:
//   ym_moves_test --histories=100 --first-seed=1 [--steps=60]
//   ym_moves_test --first-seed=7 --histories=1 --tell      one history, step by step
#include <cstdint>
#include <cstdio>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "test/chaos/chaos_flags.h"
#include "test/chaos/move_history.h"

namespace yardmaster::chaos {
namespace {

constexpr int kMovesOfHistory = 20;

constexpr ChaosFlags kDefaults = {.histories = 60, .steps = 60};
ChaosFlags& TheFlags() {
  static ChaosFlags flags = kDefaults;
  return flags;
}

TEST(MovesTest, NoGangIsInPartAndNoHostIsPromisedTwiceInTwoHundredMoves) {
  const ChaosFlags flags = TheFlags();
  MoveHistoryResult sum;
  for (int i = 0; i < flags.histories; ++i) {
    const std::uint64_t seed = flags.first_seed + static_cast<std::uint64_t>(i);
    const MoveHistoryResult one = RunMoveHistory({seed, kMovesOfHistory, flags.steps});
    if (flags.tell) std::printf("%s\n", Join(one.told, "\n").c_str());
    ASSERT_EQ(one.failure, "") << "--first-seed=" << seed << " --histories=1 --tell";
    sum.done += one.done;
    sum.refused += one.refused;
    sum.abandoned += one.abandoned;
    sum.kills += one.kills;
    sum.lost_answers += one.lost_answers;
  }
  std::printf("%d moves done, %d refused, %d abandoned, %d kills, %d lost answers\n", sum.done,
              sum.refused, sum.abandoned, sum.kills, sum.lost_answers);
  // Fewer histories are asked for by hand.
  if (flags.histories < kDefaults.histories || flags.steps < kDefaults.steps) return;
  EXPECT_GE(sum.done, 200);
  EXPECT_GE(sum.kills, 1'000);
}

}  // namespace
}  // namespace yardmaster::chaos

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!yardmaster::chaos::ReadChaosFlags(argc, argv, yardmaster::chaos::TheFlags())) return 2;
  return RUN_ALL_TESTS();
}
