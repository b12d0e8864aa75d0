#include "pkg/capacity/deadline.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/base/random.h"

namespace yardmaster::capacity {
namespace {

// A cluster in steps of a minute: at every minute cheap hosts are there or not.
struct Minutes {
  std::vector<bool> cheap;  // until the deadline
  int work = 0;             // of running, to be done
  int change = 0;           // from a decision to the first step on other hosts
  int checkpoint = 0;       // interval; what is done since is repeated after a loss
  double cheap_price = 1, dear_price = 3;

  int deadline() const { return static_cast<int>(cheap.size()); }
};

struct Outcome {
  bool kept = false;
  double cost = 0;
};

// The rule, minute by minute. Hosts that are lost come without notice; hosts that are left keep the
// work that is done.
Outcome Follow(const Minutes& c) {
  enum class Hosts { kNone, kCheap, kDear } hosts = Hosts::kNone;
  Outcome run;
  int saved = 0, done = 0, ready_at = 0;
  for (int now = 0; now < c.deadline(); ++now) {
    const bool there = c.cheap[static_cast<std::size_t>(now)];
    if (hosts == Hosts::kCheap && !there) {
      hosts = Hosts::kNone;
      done = saved;
    }
    const DeadlineNeed need = {.seconds_left = 60.0 * (c.deadline() - now),
                               .work_seconds = 60.0 * (c.work - done),
                               .change_seconds = 60.0 * c.change,
                               .at_risk_seconds = 60.0 * (done - saved)};
    if (hosts == Hosts::kCheap && !MayUseRevocableHosts(need, true)) {
      hosts = Hosts::kDear;
      saved = done;
      ready_at = now + c.change;
    } else if (hosts == Hosts::kNone) {
      const bool cheap = MayUseRevocableHosts(need, false);
      if (!cheap || there) {
        hosts = cheap ? Hosts::kCheap : Hosts::kDear;
        ready_at = now + c.change;
      }
    }
    if (hosts == Hosts::kNone) continue;
    run.cost += hosts == Hosts::kCheap ? c.cheap_price : c.dear_price;
    if (now < ready_at) continue;
    if (++done - saved >= c.checkpoint) saved = done;
    if (done >= c.work) {
      run.kept = true;
      return run;
    }
  }
  return run;
}

// The least cost with the future known: by time, work done, hosts (0 none, 1 cheap, 2 dear) and
// minutes until they are ready. Hosts are left before they are lost, so nothing is repeated.
double Optimum(const Minutes& c) {
  const double kNever = std::numeric_limits<double>::infinity();
  const auto changes = static_cast<std::size_t>(c.change) + 1;
  const auto states = 3 * changes;
  std::vector<std::vector<double>> cost(static_cast<std::size_t>(c.work) + 1,
                                        std::vector<double>(states, kNever));
  const auto at = [&](int hosts, int wait) {
    return static_cast<std::size_t>(hosts) * changes + static_cast<std::size_t>(wait);
  };
  cost[0][at(0, 0)] = 0;
  double best = kNever;
  for (int now = 0; now < c.deadline(); ++now) {
    auto next = std::vector<std::vector<double>>(cost.size(), std::vector<double>(states, kNever));
    for (std::size_t done = 0; done < cost.size(); ++done) {
      for (int hosts = 0; hosts < 3; ++hosts) {
        for (int wait = 0; wait <= c.change; ++wait) {
          const double so_far = cost[done][at(hosts, wait)];
          if (so_far == kNever) continue;
          for (int to = 0; to < 3; ++to) {
            if (to == 1 && !c.cheap[static_cast<std::size_t>(now)]) continue;
            const int left = to == 0 ? 0 : to == hosts ? wait : c.change;
            const double spent = so_far + (to == 1 ? c.cheap_price : to == 2 ? c.dear_price : 0);
            const bool works = to != 0 && left == 0;
            const std::size_t then = done + (works ? 1 : 0);
            if (then == static_cast<std::size_t>(c.work)) {
              best = std::min(best, spent);
              continue;
            }
            double& entry = next[then][at(to, std::max(0, left - 1))];
            entry = std::min(entry, spent);
          }
        }
      }
    }
    cost = std::move(next);
  }
  return best;
}

int Between(Random& random, int low, int high) {
  return low + static_cast<int>(random.Below(static_cast<std::uint64_t>(high - low) + 1));
}

// Cheap hosts stay for a while and are away for a while.
Minutes RandomMinutes(Random& random) {
  Minutes c;
  c.work = Between(random, 30, 90);
  c.change = Between(random, 0, 4);
  c.checkpoint = Between(random, 1, 10);
  const int slack = c.change + Between(random, 0, c.work);
  const int stays = Between(random, 5, 120);
  const int away = Between(random, 1, 40);
  bool there = random.Below(2) == 0;
  for (int i = 0; i < c.work + slack; ++i) {
    if (Between(random, 1, there ? stays : away) == 1) there = !there;
    c.cheap.push_back(there);
  }
  return c;
}

TEST(DeadlineTest, TheSlackIsWhatIsLeftAfterWorkRepetitionAndOneChange) {
  const DeadlineNeed need = {
      .seconds_left = 1000, .work_seconds = 600, .change_seconds = 100, .at_risk_seconds = 50};
  EXPECT_DOUBLE_EQ(SlackSeconds(need), 250);
}

TEST(DeadlineTest, AJobThatStandsStillNeedsTimeForTwoChanges) {
  DeadlineNeed need = {.seconds_left = 800, .work_seconds = 600, .change_seconds = 100};
  EXPECT_TRUE(MayUseRevocableHosts(need, /*running=*/true));
  EXPECT_FALSE(MayUseRevocableHosts(need, /*running=*/false));
  need.seconds_left = 801;
  EXPECT_TRUE(MayUseRevocableHosts(need, /*running=*/false));
  need.seconds_left = 700;
  EXPECT_FALSE(MayUseRevocableHosts(need, /*running=*/true));
}

TEST(DeadlineTest, EveryDeadlineThatHostsThatStayCouldKeepIsKept) {
  Random random(1);
  double cost = 0, optimum = 0, dear = 0;
  for (int round = 0; round < 400; ++round) {
    const Minutes c = RandomMinutes(random);
    const Outcome run = Follow(c);
    ASSERT_TRUE(run.kept) << "round " << round;
    const double best = Optimum(c);
    ASSERT_LE(best, run.cost + 1e-9) << "round " << round;
    cost += run.cost;
    optimum += best;
    dear += c.dear_price * (c.work + c.change);
  }
  RecordProperty("percent_of_optimum", static_cast<int>(100 * cost / optimum));
  RecordProperty("percent_of_dear_hosts", static_cast<int>(100 * cost / dear));
  EXPECT_LT(cost, 1.3 * optimum);
  EXPECT_LT(cost, 0.75 * dear);
}

}  // namespace
}  // namespace yardmaster::capacity
