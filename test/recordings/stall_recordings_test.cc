// Recordings of jobs, made from seeds: what the agents of its hosts see of the NICs' counters and
// of the processes (TrafficMeter, ProgressObserver), and what the operator makes of their reports
// (FindNoProgress). No healthy job is stalled, however irregular; of one in which a worker stops,
// that is found, and which.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"

#include "pkg/agent/profiles/progress_observer.h"
#include "pkg/agent/profiles/traffic_meter.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/operator/jobs/no_progress.h"

namespace yardmaster::op {
namespace {

using agent::ProcessSample;
using agent::ProcessStat;

constexpr int kWorkers = 4;
constexpr std::int64_t kTickMs = 200;
constexpr std::int64_t kMeasureMs = 60'000;
constexpr std::int64_t kBootMs = 10'000'000;  // before the recording begins

enum class Kind {
  kSteady,
  kIrregular,    // iterations of very different lengths
  kEvaluations,  // long pauses in which CPUs are used, the first one unlike any before
  kCheckpoints,  // pauses in which processes wait for a file system most of the time
  kSlowWrites,   // pauses in which the first worker does so all the time, and the others poll
  kStart,        // minutes of loading, compiling and warming up
  kResize,       // new processes, another period, another volume
  kUploads,      // bursts at many times the rate
  kNoPeriod,     // traffic without a rhythm, and silence
  kExport,       // at the end one worker writes the model, and the others wait for it
  kEnd,          // its processes end, and the pods stay with their launchers
  kStopped,      // from here on a worker stops: by a signal,
  kKernel,       // in the kernel,
  kDeadlock      // or on a lock of its own, while the others poll
};

bool Stops(Kind kind) { return kind >= Kind::kStopped; }

// One job in time: every tick it sends, computes, or pauses.
class Job {
 public:
  Job(Kind kind, std::uint64_t seed) : kind_(kind), random_(seed) {
    period_ms_ = Between(1'000, 8'000);
    noise_ = kind == Kind::kIrregular ? Between(0.2, 0.6) : Between(0.0, 0.08);
    bytes_per_ms_ = Between(1e4, 1e7);
    culprit_ = static_cast<int>(random_.Below(kWorkers));
    stop_ms_ = Between(250'000, 400'000);
    has_stopped_shell_ = random_.Below(3) == 0;
    next_pause_ms_ = Between(130'000, 300'000);
    if (kind == Kind::kStart) start_ms_ = Between(60'000, 400'000);
    if (kind == Kind::kExport) next_pause_ms_ = Between(300'000, 500'000);
    if (kind == Kind::kEnd) next_pause_ms_ = Between(200'000, 270'000);
    for (std::int64_t& cpu_ms : cpu_ms_) cpu_ms = 60'000;
    BeginIteration(0);
  }

  void Tick(std::int64_t now_ms) {
    now_ms_ = now_ms;
    if (now_ms >= iteration_end_ms_ && now_ms >= pause_end_ms_) BeginIteration(now_ms);
    const bool stopped = HasStopped();
    for (int worker = 0; worker < kWorkers; ++worker) {
      const auto at = static_cast<std::size_t>(worker);
      sent_[at] += Between(0.0, 500.0);  // heartbeats
      if (!stopped) sent_[at] += Rate() * kTickMs * Between(0.9, 1.1);
      if (!CannotUseCpu(worker)) cpu_ms_[at] += kTickMs / (InCheckpoint() ? 5 : 1);
    }
  }

  double sent(int worker) const { return sent_[static_cast<std::size_t>(worker)]; }
  bool HasStopped() const { return Stops(kind_) && now_ms_ >= stop_ms_; }
  std::int64_t stop_ms() const { return stop_ms_; }
  int culprit() const { return culprit_; }

  ProcessSample Processes(int worker) {
    const auto at = static_cast<std::size_t>(worker);
    const bool culprit = HasStopped() && worker == culprit_;
    char state = random_.Below(2) == 0 ? 'R' : 'S';
    if (InCheckpoint() && random_.Below(20) > 0) state = 'D';
    if (Writes(worker)) state = 'D';
    if (HasEnded()) return {kBootMs + now_ms_, {{'S', 900, kBootMs - 200'000}}};
    if (culprit) state = kind_ == Kind::kStopped ? 'T' : kind_ == Kind::kKernel ? 'D' : 'S';
    std::vector<ProcessStat> processes = {{state, cpu_ms_[at], kBootMs - 100'000 + started_ms_},
                                          {'S', 900, kBootMs - 200'000}};  // a launcher
    if (has_stopped_shell_) processes.push_back({'T', 20, kBootMs - 50'000});
    return {kBootMs + now_ms_, processes};
  }

 private:
  double Between(double low, double high) { return low + (high - low) * random_.Unit(); }
  std::int64_t Between(std::int64_t low, std::int64_t high) {
    return low + static_cast<std::int64_t>(random_.Below(static_cast<std::uint64_t>(high - low)));
  }
  std::int64_t Between(int low, int high) {
    return Between(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
  }

  void BeginIteration(std::int64_t now_ms) {
    const double length = static_cast<double>(period_ms_) * (1 + noise_ * Between(-1.0, 1.0));
    iteration_begin_ms_ = now_ms;
    iteration_end_ms_ = now_ms + static_cast<std::int64_t>(length);
    if (now_ms < next_pause_ms_) return;
    switch (kind_) {
      case Kind::kEvaluations:
        return Pause(Between(20'000, 560'000), Between(60'000, 300'000));
      case Kind::kCheckpoints:
        return Pause(Between(5'000, 150'000), Between(30'000, 120'000));
      case Kind::kSlowWrites:
        return Pause(Between(20'000, 560'000), Between(60'000, 300'000));
      case Kind::kExport:
        return Pause(550'000, 1'000'000);
      case Kind::kEnd:
        return Pause(1'000'000, 1'000'000);
      case Kind::kResize:
        period_ms_ = Between(1'000, 8'000);
        bytes_per_ms_ *= Between(0.1, 4.0);
        started_ms_ = now_ms + 100'000;
        for (std::int64_t& cpu_ms : cpu_ms_) cpu_ms = 0;
        return Pause(Between(20'000, 300'000), Between(200'000, 400'000));
      default:
        return;
    }
  }
  void Pause(std::int64_t length_ms, std::int64_t until_next_ms) {
    pause_end_ms_ = now_ms_ + length_ms;
    iteration_begin_ms_ = iteration_end_ms_ = pause_end_ms_;
    next_pause_ms_ = pause_end_ms_ + until_next_ms;
  }
  bool InCheckpoint() const { return kind_ == Kind::kCheckpoints && now_ms_ < pause_end_ms_; }
  bool HasEnded() const { return kind_ == Kind::kEnd && now_ms_ < pause_end_ms_; }
  bool Writes(int worker) const {
    return kind_ == Kind::kSlowWrites && now_ms_ < pause_end_ms_ && worker == 0;
  }
  bool CannotUseCpu(int worker) const {
    return (HasStopped() && worker == culprit_) || Writes(worker);
  }

  // Bytes a millisecond.
  double Rate() {
    if (now_ms_ < pause_end_ms_) return 0;
    if (now_ms_ < start_ms_) return random_.Below(10) == 0 ? bytes_per_ms_ * Between(0.0, 3.0) : 0;
    if (kind_ == Kind::kNoPeriod) {
      if (now_ms_ >= gap_end_ms_) gap_end_ms_ = now_ms_ + Between(500, 90'000);
      return now_ms_ + 1'000 > gap_end_ms_ ? bytes_per_ms_ : 0;
    }
    const std::int64_t length_ms = iteration_end_ms_ - iteration_begin_ms_;
    const bool sends = 4 * (now_ms_ - iteration_begin_ms_) >= 3 * length_ms;
    const bool uploads = kind_ == Kind::kUploads && now_ms_ % 150'000 < 20'000;
    return (sends ? bytes_per_ms_ : 0) + (uploads ? 20 * bytes_per_ms_ : 0);
  }

  const Kind kind_;
  Random random_;
  double noise_ = 0, bytes_per_ms_ = 0;
  std::int64_t period_ms_ = 0, stop_ms_ = 0, start_ms_ = 0, next_pause_ms_ = 0, pause_end_ms_ = 0;
  std::int64_t iteration_begin_ms_ = 0, iteration_end_ms_ = 0, gap_end_ms_ = 0, now_ms_ = 0;
  std::int64_t started_ms_ = 0;
  int culprit_ = 0;
  bool has_stopped_shell_ = false;
  std::array<double, kWorkers> sent_ = {};
  std::array<std::int64_t, kWorkers> cpu_ms_ = {};
};

struct Outcome {
  std::optional<std::int64_t> found_ms;  // after the beginning
  std::vector<int> suspects;
  int reports = 0;  // that differ from the one before them
};

Outcome Play(Job& job, std::int64_t length_ms) {
  FakeClock clock;
  const std::int64_t begin_wall_ms = clock.WallMs();
  agent::ProgressObserver observer(
      clock, {[&job](std::int64_t, const std::string& uid) {
                return std::optional(job.Processes(ParseNumber<int>(uid).value_or(0)));
              },
              [](const std::string&) { return std::optional<bool>(); }});
  std::set<std::string> uids;
  std::vector<agent::TrafficMeter> meters;
  JobObservation seen;
  for (int worker = 0; worker < kWorkers; ++worker) {
    uids.insert(StrCat(worker));
    meters.push_back({{agent::LocalNicPort{0, 0, "eth0", "", 0}}, {kTickMs, 120'000, 0.03}});
    seen.workers.emplace_back();
    seen.workers.back().host = StrCat("n", worker);
  }
  Outcome outcome;
  for (std::int64_t now_ms = kTickMs; now_ms <= length_ms; now_ms += kTickMs) {
    clock.Advance(kTickMs);
    job.Tick(now_ms);
    for (int worker = 0; worker < kWorkers; ++worker) {
      agent::TrafficMeter& meter = meters[static_cast<std::size_t>(worker)];
      observer.AddTraffic(now_ms, StrCat(worker), job.sent(worker));
      meter.Add(now_ms, {static_cast<std::uint64_t>(job.sent(worker))});
      if (now_ms % kMeasureMs != 0) continue;
      if (const auto period = meter.Measure()) {
        observer.AddPeriod(now_ms, StrCat(worker), *period->iteration_seconds);
      }
    }
    observer.Step(now_ms, uids);
    const auto now_reported = observer.reports();
    for (int worker = 0; worker < kWorkers; ++worker) {
      const auto at = now_reported.find(StrCat(worker));
      auto& progress = seen.workers[static_cast<std::size_t>(worker)].progress;
      std::optional<api::ProgressReport> report;
      if (at != now_reported.end()) report = at->second;
      if (report && progress) progress->time_ms = report->time_ms;
      outcome.reports += progress == report ? 0 : 1;
      progress = report;
    }
    seen.now_ms = clock.WallMs();
    seen.running_ms = seen.now_ms - begin_wall_ms;
    if (outcome.found_ms) continue;
    NoProgress found = FindNoProgress(seen);
    if (!found.stall.exists()) continue;
    outcome.found_ms = now_ms;
    outcome.suspects = std::move(found.suspects);
  }
  return outcome;
}

TEST(StallRecordings, NoHealthyJobIsStalled) {
  int waited = 0, played = 0;
  for (int kind = 0; kind < static_cast<int>(Kind::kStopped); ++kind) {
    for (std::uint64_t seed = 0; seed < Rounds(std::uint64_t{45}); ++seed, ++played) {
      Job job(static_cast<Kind>(kind), 1'000 * static_cast<std::uint64_t>(kind) + seed);
      const Outcome outcome = Play(job, 900'000);
      EXPECT_FALSE(outcome.found_ms.has_value())
          << "kind " << kind << " seed " << seed << " after " << outcome.found_ms.value_or(0);
      const bool pauses = kind >= static_cast<int>(Kind::kEvaluations);
      EXPECT_TRUE(pauses || outcome.reports == 0) << "kind " << kind << " seed " << seed;
      waited += outcome.reports > 0 ? 1 : 0;
    }
  }
  EXPECT_GE(played, Rounds(390));
  EXPECT_GT(waited, MoreThan(20)) << "the long pauses were not looked at";
  RecordProperty("played", played);
  RecordProperty("waited", waited);
}

TEST(StallRecordings, AWorkerThatIsStoppedIsFoundWithinAMinute) {
  int played = 0, found = 0, named = 0;
  for (std::uint64_t seed = 0; seed < Rounds(std::uint64_t{200}); ++seed, ++played) {
    Job job(Kind::kStopped, 50'000 + seed);
    const Outcome outcome = Play(job, job.stop_ms() + 60'000);
    const bool right = outcome.found_ms && *outcome.found_ms >= job.stop_ms();
    found += right ? 1 : 0;
    named += right && outcome.suspects == std::vector<int>{job.culprit()} ? 1 : 0;
    EXPECT_TRUE(!outcome.found_ms || right) << "before it stopped, seed " << seed;
  }
  EXPECT_GE(found, played * 99 / 100) << "of " << played;
  EXPECT_EQ(named, found);
  RecordProperty("found", found);
}

TEST(StallRecordings, AWorkerThatSleepsOrIsStuckIsFoundAfterTheLimitOfThePause) {
  int played = 0, found = 0, named = 0;
  for (const Kind kind : {Kind::kDeadlock, Kind::kKernel}) {
    for (std::uint64_t seed = 0; seed < Rounds(std::uint64_t{60}); ++seed, ++played) {
      Job job(kind, 90'000 + 1'000 * static_cast<std::uint64_t>(kind) + seed);
      const Outcome outcome = Play(job, job.stop_ms() + kAutomaticLimitMs + 60'000);
      found += outcome.found_ms && *outcome.found_ms >= job.stop_ms() + 590'000 ? 1 : 0;
      named += outcome.suspects == std::vector<int>{job.culprit()} ? 1 : 0;
    }
  }
  EXPECT_GE(found, played * 99 / 100) << "of " << played;
  EXPECT_EQ(named, found);
}

}  // namespace
}  // namespace yardmaster::op
