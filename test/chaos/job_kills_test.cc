// A thousand random kills of the operator change nothing in the end. Without flags a few seeds, as
// a unit test:
//   ym_job_kills_test --histories=2000 --first-seed=1 [--steps=60]
//   ym_job_kills_test --first-seed=77 --histories=1 --tell      one history, step by step
#include <cstdint>
#include <cstdio>
#include <string>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "test/chaos/chaos_flags.h"
#include "test/chaos/job_history.h"

namespace yardmaster::chaos {
namespace {

constexpr int kKillsPerStep = 24;

constexpr ChaosFlags kDefaults = {.histories = 6, .steps = 60};
ChaosFlags& TheFlags() {
  static ChaosFlags flags = kDefaults;
  return flags;
}

// Whether pods are made once their job has a place, or before it and behind the gate.
class JobKillsTest : public testing::TestWithParam<bool> {};

TEST_P(JobKillsTest, AHistoryIsAFunctionOfItsSeed) {
  const JobHistoryOptions options{TheFlags().first_seed, TheFlags().steps, kKillsPerStep,
                                  GetParam()};
  const JobHistoryResult once = RunJobHistory(options);
  const JobHistoryResult again = RunJobHistory(options);
  EXPECT_EQ(once.told, again.told);
  EXPECT_EQ(once.pictures, again.pictures);
  EXPECT_EQ(once.kills, again.kills);
  EXPECT_EQ(once.lost_answers, again.lost_answers);
}

TEST_P(JobKillsTest, AThousandKillsOfTheOperatorChangeNothingInTheEnd) {
  const ChaosFlags flags = TheFlags();
  int kills = 0, lost_answers = 0, jobs = 0;
  for (int i = 0; i < flags.histories; ++i) {
    const std::uint64_t seed = flags.first_seed + static_cast<std::uint64_t>(i);
    const JobHistoryResult undisturbed = RunJobHistory({seed, flags.steps, 0, GetParam()});
    const JobHistoryResult killed = RunJobHistory({seed, flags.steps, kKillsPerStep, GetParam()});
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
  if (flags.histories >= kDefaults.histories && flags.steps >= kDefaults.steps) {
    EXPECT_GE(kills, 1'000);
    EXPECT_GE(jobs, 50);
  }
}

INSTANTIATE_TEST_SUITE_P(Ways, JobKillsTest, testing::Bool(), [](const auto& way) {
  return way.param ? std::string("PlaceFirst") : std::string("PodsFirst");
});

}  // namespace
}  // namespace yardmaster::chaos

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (!yardmaster::chaos::ReadChaosFlags(argc, argv, yardmaster::chaos::TheFlags())) return 2;
  return RUN_ALL_TESTS();
}
