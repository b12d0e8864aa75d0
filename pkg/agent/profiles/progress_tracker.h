// How long a worker has made no progress, by the bytes that its NICs send or by what its process
// reports of its iterations.
//
// Problem. Given counters of sent bytes at uneven times, find the last time at which traffic of an
// iteration was sent, and the longest time without such traffic, checkpoints and evaluations
// included. Some traffic goes on in a job that hangs (heartbeats, probes).
//
// Method. Bytes are counted by seconds, and the highest second of every ten is kept, of the last
// fifteen tens with progress. A second is progress if it has more than kCeased of the median of
// them: the mean second of an iteration has far more, heartbeats have far less, and single uploads
// at a higher rate do not move a median. What is quiet is not kept, so quiet does not become usual.
//
// A worker is armed when its iterations are known: a period was measured (traffic_meter.h) within
// ten minutes before its last progress, or it has reported kMinReports times itself. A job that
// never had a period, starts, warms up or has left its loop is not armed, the last where its
// processes have ended or it has sent without a period for ten minutes. Nor is one whose counters
// are not read, until they are again.
//
// What was sent in a gap in the readings is progress if its mean would be; else the pause goes on,
// for the counters are those of the whole time. Counters that go backwards (a driver was loaded
// again) say nothing of the time since the last reading: where that is short the pause goes on,
// else it is not known, and what is quiet counts from then on.
//
// When it fails: traffic that goes on at kCeased of the job's own hides that it has ceased. A job
// that sends nothing over the counted ports is never armed. One that leaves its loop and is quiet
// from then on, while its processes still run, is the same as one that hangs: to evaluate or to
// upload without traffic is a pause, and a process that reports its iterations may report the steps
// of that, too. Who knows that the processes are others, or have ended, calls Restart.
//
// Thread safety: none; one thread owns it. Determinism: depends on the calls alone. Complexity:
// constant for each call.
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
  std::int64_t quiet_ms = 0;  // since the last progress, or what is not known
  // Mean of an iteration, or of the time from one report to the next; 0: not known.
  std::int64_t iteration_ms = 0;
  // Between two times of progress since the worker was first armed.
  std::int64_t longest_pause_ms = 0;
  bool progress_known = true;  // nothing that is not known has been since the last progress
};

class ProgressTracker {
 public:
  // `sent_bytes`: of all NIC ports, ever.
  void AddTraffic(std::int64_t steady_ms, double sent_bytes);
  // The traffic of the last kPeriodWindowMs shows this period.
  void AddPeriod(std::int64_t steady_ms, double iteration_seconds);
  // The process says that iterations have ended. From the first time on traffic does not count.
  void AddReport(std::int64_t steady_ms);
  // The present pause is known not to be the job's own: it does not count among the longest.
  void DiscountPause() { discounted_ = true; }
  // The worker's processes are others than before, or have ended: it is armed when its iterations
  // are known again.
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
  std::int64_t unknown_ms_ = 0;  // the end of the last time of which nothing is known
  std::int64_t longest_pause_ms_ = 0;
  bool discounted_ = false;
};

}  // namespace yardmaster::agent
