// A thousand random kills of the operator change nothing in the end. Without flags a few seeds, as a unit
// test:
//   ym_job_kills_test --histories=2000 --first-seed=1 [--steps=60]
//   ym_job_kills_test --first-seed=77 --histories=1 --tell      one history, step by step
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "test/chaos/job_history.h"

namespace yardmaster::chaos {
namespace {

constexpr int kKillsPerStep = 24;

struct Flags {
  std::uint64_t first_seed = 1;
  int histories = 6;
  int steps = 60;
  bool tell = false;
};
Flags& TheFlags() {
  static Flags flags;
  return flags;
}

TEST(JobKillsTest, AHistoryIsAFunctionOfItsSeed) {
  const JobHistoryOptions options{TheFlags().first_seed, TheFlags().steps, kKillsPerStep};
  const JobHistoryResult once = RunJobHistory(options);
  const JobHistoryResult again = RunJobHistory(options);
  EXPECT_EQ(once.told, again.told);
  EXPECT_EQ(once.pictures, again.pictures);
  EXPECT_EQ(once.kills, again.kills);
  EXPECT_EQ(once.lost_answers, again.lost_answers);
}

TEST(JobKillsTest, AThousandKillsOfTheOperatorChangeNothingInTheEnd) {
  const Flags flags = TheFlags();
  int kills = 0, lost_answers = 0, jobs = 0;
  for (int i = 0; i < flags.histories; ++i) {
    const std::uint64_t seed = flags.first_seed + static_cast<std::uint64_t>(i);
    const JobHistoryResult undisturbed = RunJobHistory({seed, flags.steps, 0});
    const JobHistoryResult killed = RunJobHistory({seed, flags.steps, kKillsPerStep});
    if (flags.tell) std::printf("%s\n", Join(killed.told, "\n").c_str());
    const std::string difference = FirstDifference(undisturbed, killed);
    if (!difference.empty()) {
      FAIL() << "--first-seed=" << seed << " --histories=1: " << difference;
    }
    kills += killed.kills;
    lost_answers += killed.lost_answers;
    jobs += killed.jobs;
  }
  std::printf("%d histories, %d jobs, %d kills, %d lost answers\n", flags.histories, jobs, kills,
              lost_answers);
  // Fewer histories are asked for by hand.
  if (flags.histories >= Flags().histories && flags.steps >= Flags().steps) {
    EXPECT_GE(kills, 1'000);
    EXPECT_GE(jobs, 50);
  }
}

}  // namespace

bool ReadFlag(std::string_view argument) {
  const auto number = [&](std::string_view name) -> std::optional<std::int64_t> {
    if (!argument.starts_with(name)) return std::nullopt;
    return ParseNumber<std::int64_t>(argument.substr(name.size()));
  };
  if (argument == "--tell") return TheFlags().tell = true;
  if (const auto n = number("--first-seed=")) {
    TheFlags().first_seed = static_cast<std::uint64_t>(*n);
  } else if (const auto n = number("--histories=")) {
    TheFlags().histories = static_cast<int>(*n);
  } else if (const auto n = number("--steps=")) {
    TheFlags().steps = static_cast<int>(*n);
  } else {
    return false;
  }
  return true;
}

}  // namespace yardmaster::chaos

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    if (yardmaster::chaos::ReadFlag(argv[i])) continue;
    std::fprintf(stderr, "%s: unknown flag; use --first-seed=N --histories=N --steps=N --tell\n",
                 argv[i]);
    return 2;
  }
  return RUN_ALL_TESTS();
}
