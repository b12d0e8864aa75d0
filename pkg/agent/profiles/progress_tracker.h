// Measures how long a worker has made no progress, from the bytes that its NICs send or from the
// iterations that its process reports.
//
// Problem: given counters of sent bytes at uneven times, find the last time at which traffic of an
// iteration was sent, and the longest time without such traffic, including checkpoints and
// evaluations. A hanging job still sends some traffic (heartbeats, probes).
//
// Method: bytes are counted per second. Of every ten seconds with progress the highest second is
// kept, for the last fifteen tens. A second is progress if it has more than kCeased of their
// median: the mean second of an iteration has far more, heartbeats have far less, and single
// uploads at a higher rate do not change a median. Quiet seconds are not kept, so that quiet does
// not become usual.
//
// Armed: a worker is armed while its iterations are known: a period was measured (traffic_meter.h)
// within ten minutes before its last progress, or the worker has reported kMinReports times itself.
// A job is not armed if it never had a period, starts, warms up, or has left its loop, which shows
// when its processes have ended or when it has sent for ten minutes without a period. A worker
// whose counters are not read is not armed until they are read again.
//
// Gaps: traffic in a gap between readings is progress if its mean would be; otherwise the pause
// goes on, because the counters cover the whole time. If counters decrease (a driver was reloaded),
// the time since the last reading is unknown: after a short gap the pause goes on, otherwise a
// pause is counted from then on.
//
// Limits: traffic that continues at kCeased of the job's own hides that it has stopped. A job that
// sends nothing over the counted ports is never armed. A job that leaves its loop and is quiet
// while its processes run looks like one that hangs: to evaluate or upload without traffic is a
// pause, and a process that reports iterations may report those steps, too. A caller that knows
// that the processes have changed or ended calls Restart.
//
// Thread safety: one thread. Determinism: depends only on the calls. Complexity: constant per call.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>

namespace yardmaster::agent {

inline constexpr double kCeased = 0.02;
inline constexpr int kMinReports = 5;
inline constexpr std::int64_t kPeriodWindowMs = 120'000;

struct ProgressFacts {
  bool armed = false;
  std::int64_t quiet_ms = 0;  // since the last progress, or since the last unknown time
  // Mean time of an iteration, or between reports; 0: not known.
  std::int64_t iteration_ms = 0;
  // Longest time between two times of progress since the worker was first armed.
  std::int64_t longest_pause_ms = 0;
  bool progress_known = true;  // false: some time since the last progress is unknown
};

class ProgressTracker {
 public:
  // `sent_bytes`: total of all NIC ports.
  void AddTraffic(std::int64_t steady_ms, double sent_bytes);
  // Adds a period that the traffic of the last kPeriodWindowMs shows.
  void AddPeriod(std::int64_t steady_ms, double iteration_seconds);
  // The process reports that iterations have ended. From the first report on traffic is ignored.
  void AddReport(std::int64_t steady_ms);
  // Excludes the present pause from the longest pause: the job itself did not cause it.
  void DiscountPause() { discounted_ = true; }
  // The worker's processes have changed or ended: it is armed once its iterations are known again.
  void Restart(std::int64_t steady_ms);

  ProgressFacts At(std::int64_t steady_ms) const;

 private:
  void EndSecond(std::int64_t steady_ms, double bytes_per_second);
  void Advance(std::int64_t steady_ms, std::int64_t begin_ms);
  void Resume(std::int64_t steady_ms, double sent_bytes);
  std::int64_t QuietSinceMs() const { return std::max(progress_ms_, unknown_ms_); }
  double Threshold() const;

  // Traffic: the second and the ten seconds that are under way.
  std::optional<std::int64_t> read_ms_;
  std::int64_t second_begin_ms_ = 0;
  double second_begin_bytes_ = 0;
  double read_bytes_ = 0;
  std::int64_t ten_begin_ms_ = 0;
  double ten_highest_ = 0;
  std::deque<double> highest_;

  bool reports_itself_ = false;
  int reports_ = 0;
  double report_gap_ms_ = 0;

  std::optional<std::int64_t> restart_ms_;
  std::optional<std::int64_t> period_ms_;  // when one was measured last
  double iteration_ms_ = 0;
  std::int64_t progress_ms_ = 0;
  std::int64_t unknown_ms_ = 0;  // the end of the last unknown time
  std::int64_t longest_pause_ms_ = 0;
  bool discounted_ = false;
};

}  // namespace yardmaster::agent
