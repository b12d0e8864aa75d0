// Recordings of a NIC port's counters, made from seeds: of ports that are healthy, however noisy,
// none may be found lossy (LossFinder); one on which frames arrive damaged is found, and is clean
// again some time after it was mended.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/agent/ports/port_loss.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {
namespace {

constexpr int kLengthSeconds = 3'600;

enum class Kind {
  kQuiet,       // no frame is damaged
  kBackground,  // a few, at up to a third of the limit
  kBursts,      // up to ten seconds of loss, a minute or more apart
  kTraining,    // the link goes down and damages frames while it comes up
  kIdle,        // hardly any frames, some of them damaged
  kRestarts,    // the driver is loaded again: counters are absent and begin anew
  kPeriodic,    // long iterations: most intervals have no traffic
  kLatePolls,   // the agent reads at odd times
  kNoCounters,
  kLossy
};

// What a port does, as drawn from a seed.
class Recording {
 public:
  Recording(Kind kind, std::uint64_t seed) : kind_(kind), random_(seed) {
    // As production links: from a link that hardly works to one that is hardly ill.
    share_ = LogBetween(3e-4, 0.1);
    background_ = kind == Kind::kQuiet ? 0 : LogBetween(1e-9, 3e-5);
    frames_a_second_ = LogBetween(2e3, 1.2e7);
    if (kind == Kind::kIdle) frames_a_second_ = LogBetween(0.1, 30);
    if (kind == Kind::kLossy) {
      // Enough of them to count in each interval.
      background_ = LogBetween(1e-9, 1e-6);
      frames_a_second_ = std::max(frames_a_second_, 20 / share_);
    }
    period_seconds_ = kind == Kind::kPeriodic ? Between(10, 60) : Between(0.5, 5);
    duty_ = Between(0.1, 1);
    next_seconds_ = Between(30, 200);
    from_seconds = Between(30, 300);
    until_seconds = from_seconds + Between(300, 1'500);
  }

  // The second that begins at `now`. `avoided`: connections use the other port.
  void Step(double now, bool avoided) {
    const double phase = std::fmod(now, period_seconds_) / period_seconds_;
    const bool sends = period_seconds_ < 5 || phase < duty_ || kind_ == Kind::kIdle;
    double frames = sends ? frames_a_second_ : 0;
    if (avoided) frames *= 0.001;
    double share = background_;
    if (kind_ == Kind::kLossy && now >= from_seconds && now < until_seconds) share = share_;
    if (kind_ == Kind::kIdle) share = 0.02;
    if (now >= next_seconds_) StartEvent(now);
    if (now < event_until_) {
      if (kind_ == Kind::kBursts) share = event_share_;
      if (kind_ == Kind::kTraining) frames = 0;
      absent_ = kind_ == Kind::kRestarts;
    } else {
      absent_ = false;
    }
    if (kind_ == Kind::kTraining && event_until_ > 0 && now >= event_until_ &&
        now < event_until_ + 2) {
      damaged_ += random_.Below(100'000);
    }
    const std::uint64_t damaged = Poisson(frames * share);
    damaged_ += damaged;
    received_ += static_cast<std::uint64_t>(std::max(0.0, frames - static_cast<double>(damaged)));
  }

  PortFrames Read() const {
    if (kind_ == Kind::kNoCounters || absent_) return {};
    PortFrames frames;
    frames.damaged[0] = damaged_;
    frames.received[0] = received_;
    return frames;
  }
  double NextPoll() {
    if (kind_ != Kind::kLatePolls) return 5;
    return random_.Below(4) == 0 ? Between(5, 60) : Between(5, 6);
  }

  double from_seconds = 0, until_seconds = 0;  // of the loss

 private:
  double Between(double low, double high) { return low + (high - low) * random_.Unit(); }
  double LogBetween(double low, double high) {
    return std::exp(Between(std::log(low), std::log(high)));
  }
  std::uint64_t Poisson(double mean) {
    if (mean > 50) {
      const double normal = std::sqrt(-2 * std::log(1 - random_.Unit())) *
                            std::cos(2 * 3.14159265358979 * random_.Unit());
      return static_cast<std::uint64_t>(std::max(0.0, mean + std::sqrt(mean) * normal));
    }
    std::uint64_t count = 0;
    for (double left = std::exp(-mean), product = random_.Unit(); product > left;
         product *= random_.Unit()) {
      ++count;
    }
    return count;
  }
  void StartEvent(double now) {
    event_until_ = now + Between(2, 10);
    event_share_ = LogBetween(1e-3, 0.5);
    next_seconds_ = event_until_ + Between(60, 400);
    if (kind_ == Kind::kRestarts) damaged_ = received_ = random_.Below(1'000'000);
  }

  const Kind kind_;
  Random random_;
  double share_ = 0, background_ = 0, frames_a_second_ = 0, period_seconds_ = 0, duty_ = 0;
  double next_seconds_ = 0, event_until_ = 0, event_share_ = 0;
  bool absent_ = false;
  std::uint64_t damaged_ = 0, received_ = 0;
};

struct Outcome {
  std::optional<double> found_seconds;    // first
  std::optional<double> cleared_seconds;  // last
};

Outcome Play(Recording& recording) {
  LossFinder finder{LossLimits()};
  Outcome outcome;
  bool lossy = false;
  double next_poll = 0;
  for (int now = 0; now < kLengthSeconds; ++now) {
    recording.Step(now, lossy);
    if (now < next_poll) continue;
    next_poll = now + recording.NextPoll();
    const bool was = lossy;
    lossy = !finder.Observe(1'000LL * now, {{{0, 0}, "eth0", recording.Read()}}).empty();
    if (lossy && !outcome.found_seconds) outcome.found_seconds = now;
    if (was && !lossy) outcome.cleared_seconds = now;
  }
  if (lossy) outcome.cleared_seconds = std::nullopt;
  return outcome;
}

TEST(LossRecordingsTest, NoHealthyPortIsFound) {
  for (const Kind kind :
       {Kind::kQuiet, Kind::kBackground, Kind::kBursts, Kind::kTraining, Kind::kIdle,
        Kind::kRestarts, Kind::kPeriodic, Kind::kLatePolls, Kind::kNoCounters}) {
    for (std::uint64_t seed = 0; seed < 60; ++seed) {
      Recording recording(kind, SeedOf(seed, StrCat("healthy port", static_cast<int>(kind))));
      EXPECT_EQ(Play(recording).found_seconds, std::nullopt)
          << "kind " << static_cast<int>(kind) << ", seed " << seed;
    }
  }
}

TEST(LossRecordingsTest, ALossyPortIsFoundWithinAMinuteAndIsCleanAfterItWasMended) {
  constexpr int kRecordings = 200;
  int in_time = 0, cleared = 0;
  std::vector<double> delays;
  for (std::uint64_t seed = 0; seed < kRecordings; ++seed) {
    Recording recording(Kind::kLossy, SeedOf(seed, "lossy port"));
    const Outcome outcome = Play(recording);
    const double after = outcome.found_seconds.value_or(1e9) - recording.from_seconds;
    EXPECT_GE(after, 0) << "seed " << seed;
    in_time += after <= 60 ? 1 : 0;
    delays.push_back(after);
    // Found again while it lost packets, so that it may have needed twice or four times as long.
    cleared += outcome.cleared_seconds.value_or(1e9) < recording.until_seconds + 1'000 ? 1 : 0;
  }
  EXPECT_GE(in_time, kRecordings * 99 / 100);
  EXPECT_GE(cleared, kRecordings * 99 / 100);
  std::sort(delays.begin(), delays.end());
  std::printf("found within 60 s: %d of %d, median %.1f s, latest %.1f s; clean again: %d\n",
              in_time, kRecordings, delays[kRecordings / 2], delays.back(), cleared);
}

}  // namespace
}  // namespace yardmaster::agent
