#include "pkg/capacity/spare_hosts.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/base/testing/rounds.h"

namespace yardmaster::capacity {
namespace {

constexpr double kSecondsPerDay = 86'400;

struct Case {
  SparePool pool;
  GangTiming gang;
  bool fixed_repair = false;
};

// Host by host and failure by failure: every place has its hosts, its slots in use and a queue of
// slots without a host; the gang has the first slots.
class Replay {
 public:
  Replay(const Case& c, std::uint64_t seed) : case_(c), random_(seed) {
    in_use_ = c.pool.hosts - c.pool.spares;
    const int places = (c.gang.hosts + in_use_ - 1) / in_use_;
    queues_.resize(static_cast<std::size_t>(places));
    idle_.resize(static_cast<std::size_t>(places));
    for (int host = 0; host < places * c.pool.hosts; ++host) {
      const int place = host / c.pool.hosts;
      const int at = host % c.pool.hosts;
      slot_.push_back(at < in_use_ ? place * in_use_ + at : kIdle);
      if (at >= in_use_) idle_[static_cast<std::size_t>(place)].push_back(host);
      next_.push_back(TimeToFailure());
    }
  }

  void Run(int failures) {
    while (failures_ < failures) {
      const auto first = std::min_element(next_.begin(), next_.end());
      now_ = *first;
      const auto host = static_cast<int>(first - next_.begin());
      if (slot_[static_cast<std::size_t>(host)] == kDown) {
        Repair(host);
      } else {
        Fail(host);
      }
    }
  }

  double inside() const { return static_cast<double>(inside_) / failures_of_slots_; }
  double goodput() const { return useful_ / now_; }

 private:
  static constexpr int kIdle = -1;
  static constexpr int kDown = -2;

  double Exponential(double mean) { return -mean * std::log1p(-random_.Unit()); }
  double TimeToFailure() { return Exponential(kSecondsPerDay / case_.pool.failures_per_host_day); }
  double RepairTime() {
    const double mean = case_.pool.repair_days * kSecondsPerDay;
    return case_.fixed_repair ? mean : Exponential(mean);
  }
  bool OfGang(int slot) const { return slot >= 0 && slot < case_.gang.hosts; }

  // The gang ran since it was whole: what its checkpoints keep of that.
  void StopGang() {
    if (missing_ > 0) return;
    const double ran = now_ - whole_since_ - case_.gang.restart_seconds;
    const double cycle = case_.gang.interval_seconds + case_.gang.checkpoint_seconds;
    useful_ += case_.gang.interval_seconds * std::floor(std::max(0.0, ran) / cycle);
    whole_since_ = now_;
  }

  void Fail(int host) {
    ++failures_;
    const auto h = static_cast<std::size_t>(host);
    const auto place = static_cast<std::size_t>(host / case_.pool.hosts);
    const int slot = slot_[h];
    slot_[h] = kDown;
    next_[h] = now_ + RepairTime();
    std::deque<int>& idle = idle_[place];
    if (slot == kIdle) {
      idle.erase(std::find(idle.begin(), idle.end(), host));
      return;
    }
    ++failures_of_slots_;
    if (OfGang(slot)) StopGang();
    if (!idle.empty()) {
      ++inside_;
      slot_[static_cast<std::size_t>(idle.front())] = slot;
      idle.pop_front();
      return;
    }
    queues_[place].push_back(slot);
    if (OfGang(slot)) ++missing_;
  }

  void Repair(int host) {
    const auto h = static_cast<std::size_t>(host);
    const auto place = static_cast<std::size_t>(host / case_.pool.hosts);
    next_[h] = now_ + TimeToFailure();
    std::deque<int>& queue = queues_[place];
    if (queue.empty()) {
      slot_[h] = kIdle;
      idle_[place].push_back(host);
      return;
    }
    slot_[h] = queue.front();
    queue.pop_front();
    if (OfGang(slot_[h]) && --missing_ == 0) whole_since_ = now_;
  }

  Case case_;
  Random random_;
  int in_use_ = 0;
  std::vector<int> slot_;     // of each host
  std::vector<double> next_;  // when it fails or is repaired
  std::vector<std::deque<int>> queues_, idle_;
  double now_ = 0;
  double whole_since_ = 0;
  double useful_ = 0;
  int missing_ = 0;  // hosts of the gang
  int failures_ = 0;
  int failures_of_slots_ = 0;
  int inside_ = 0;
};

TEST(SpareHostsTest, TheClosedFormIsWithinTwoPointsOfAReplay) {
  const GangTiming large{
      .hosts = 24, .checkpoint_seconds = 60, .interval_seconds = 1800, .restart_seconds = 300};
  const GangTiming small{
      .hosts = 4, .checkpoint_seconds = 30, .interval_seconds = 900, .restart_seconds = 120};
  std::vector<Case> cases;
  for (const bool fixed_repair : {false, true}) {
    for (const int spares : {0, 1, 2, 4}) {
      for (const double rate : {0.01, 0.05}) {
        cases.push_back({{16, spares, rate, 1.5}, large, fixed_repair});
        cases.push_back({{16, spares, rate, 1.5}, small, fixed_repair});
        cases.push_back({{40, spares, rate, 0.5}, large, fixed_repair});
      }
    }
  }
  std::uint64_t seed = 1;
  for (const Case& c : cases) {
    Replay replay(c, seed++);
    replay.Run(Rounds(100'000));
    SCOPED_TRACE(testing::Message() << c.pool.hosts << " hosts, " << c.pool.spares << " spares, "
                                    << c.pool.failures_per_host_day << " a day, gang of "
                                    << c.gang.hosts << (c.fixed_repair ? ", fixed repair" : ""));
    EXPECT_NEAR(InsideShare(c.pool), replay.inside(), 0.02);
    EXPECT_NEAR(GoodputShare(c.pool, c.gang), replay.goodput(), 0.02);
  }
}

TEST(SpareHostsTest, MoreSparesAreNeverWorse) {
  for (const int hosts : {2, 9, 18, 64, 200}) {
    for (const double rate : {0.0005, 0.0065, 0.05, 0.5}) {
      for (const int gang_hosts : {1, 7, 16, 64, 500}) {
        const GangTiming gang{gang_hosts, 60, 1800, 120};
        double inside = -1, goodput = -1;
        for (int spares = 0; spares <= std::min(8, hosts - 1); ++spares) {
          const SparePool pool{hosts, spares, rate, 1};
          SCOPED_TRACE(testing::Message() << hosts << " hosts, " << spares << " spares, " << rate
                                          << " a day, gang of " << gang_hosts);
          EXPECT_GE(InsideShare(pool), inside - 1e-9);
          EXPECT_GE(GoodputShare(pool, gang), goodput - 1e-9);
          inside = InsideShare(pool);
          goodput = GoodputShare(pool, gang);
          EXPECT_LE(inside, 1 + 1e-9);
          EXPECT_LE(goodput, 1);
        }
      }
    }
  }
}

TEST(SpareHostsTest, OneOfTwoHostsSparesTheOther) {
  // A host is down for half of the time. One is in use while none is down (1/4) and while one is
  // (1/2).
  const SparePool pool{.hosts = 2, .spares = 1, .failures_per_host_day = 1, .repair_days = 1};
  EXPECT_NEAR(InsideShare(pool), 1.0 / 3, 1e-12);
  EXPECT_NEAR(WholeShare(pool, 1), 0.75, 1e-12);
  EXPECT_NEAR(WholeShare(pool, 2), 0.75 * 0.75, 1e-12);
}

TEST(SpareHostsTest, WithoutASpareNoneIsInside) {
  EXPECT_EQ(InsideShare({.hosts = 8, .failures_per_host_day = 0.01, .repair_days = 1}), 0);
}

TEST(SpareHostsTest, ManyHostsTendToPoisson) {
  const SparePool pool{
      .hosts = 10'000, .spares = 3, .failures_per_host_day = 0.0002, .repair_days = 1};
  EXPECT_NEAR(InsideShare(pool), std::exp(-2.0) * (1 + 2 + 2), 1e-3);
}

TEST(SpareHostsTest, AGangThatFailsAllTheTimeMakesNoProgress) {
  const GangTiming gang{
      .hosts = 1000, .checkpoint_seconds = 60, .interval_seconds = 86'400, .restart_seconds = 600};
  EXPECT_NEAR(UsefulShare(gang, 10), 0, 1e-12);
  EXPECT_NEAR(UsefulShare(gang, 0), 86'400.0 / 86'460, 1e-12);
}

}  // namespace
}  // namespace yardmaster::capacity
