// Histories of two extenders and two operators over an API server in memory, in which every write
// may be killed, delayed, lost, or answered late. Without flags a few hundred, as a unit test:
//   ym_chaos_test --histories=20000 --first-seed=1 [--steps=120]
//   ym_chaos_test --first-seed=77 --histories=1 --tell      one history, step by step
#include <cstdint>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "test/chaos/chaos_flags.h"
#include "test/chaos/history.h"

namespace yardmaster::chaos {
namespace {

constexpr ChaosFlags kDefaults = {.histories = 150, .steps = 120};
ChaosFlags& TheFlags() {
  static ChaosFlags flags = kDefaults;
  return flags;
}

std::string Text(const HistoryResult& result) { return Join(result.told, "\n"); }

TEST(ChaosTest, AHistoryIsAFunctionOfItsSeed) {
  const HistoryOptions options{TheFlags().first_seed, TheFlags().steps, {}};
  const HistoryResult once = RunHistory(options);
  const HistoryResult again = RunHistory(options);
  EXPECT_EQ(once.told, again.told);
  EXPECT_EQ(once.writes, again.writes);
}

TEST(ChaosTest, NoHistoryBreaksAPromiseAndInPeaceEverythingIsPlaced) {
  const ChaosFlags flags = TheFlags();
  int takeovers = 0, writes = 0;
  for (int i = 0; i < flags.histories; ++i) {
    const HistoryOptions options{flags.first_seed + static_cast<std::uint64_t>(i), flags.steps, {}};
    const HistoryResult result = RunHistory(options);
    takeovers += result.takeovers;
    writes += result.writes;
    if (flags.tell) std::printf("%s\n", Text(result).c_str());
    if (result.failure.empty()) continue;
    const HistoryResult shortest = RunHistory(Shorten(options));
    FAIL() << "seed " << options.seed << ": " << result.failure << "\nshortest history:\n"
           << Text(shortest) << "\n=> " << shortest.failure;
  }
  std::printf("%d histories, %d changes of the leader, %d writes\n", flags.histories, takeovers,
              writes);
  // One history alone may have few.
  if (flags.histories >= 50) {
    EXPECT_GT(takeovers, flags.histories) << "too peaceful to say anything";
  }
}

}  // namespace
}  // namespace yardmaster::chaos

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!yardmaster::chaos::ReadChaosFlags(argc, argv, yardmaster::chaos::TheFlags())) return 2;
  return RUN_ALL_TESTS();
}
