// ScheduleEvaluator simulates how much work a few jobs do on shared links with given paths and
// levels, for searches that compare many schedules.
//
// Model: that of simulator/simulator.h, with rings that move as one (streams.h).
//
//   - A job repeats compute and communication. Its streams start when their part of the compute is
//     done. An iteration ends when its compute and its streams are done.
//   - A background stream is waited for only before it runs again.
//   - Links serve levels strictly, the background below them, and share max-min fairly within a
//     level.
//   - The window starts at the time at which every job may start to communicate.
//   - There is no event queue: the next event is found by scanning, and rates are looked up by the
//     set of active streams.
//   - If the jobs have more than kMaxStreams streams, those of each job are merged
//     (Merging::kJobs).
//
// Work is counted in events and taken from a budget. A result after the budget is exhausted is
// invalid and must be discarded.
//
// Complexity: O(jobs + streams) per event. Deterministic. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/crux/problem.h"
#include "pkg/crux/streams.h"

namespace yardmaster::crux {

// The remaining work in simulated events, shared by all searches of one decision. Searches also
// charge the ranking and making of plans. The last charge may exceed the rest.
struct EventBudget {
  std::int64_t left = 0;
  std::int64_t spent = 0;
  bool exhausted() const { return left <= 0; }
  void Spend(std::int64_t events) {
    left -= events;
    spent += events;
  }
};

// Returns the seconds that `iterations` of the slowest of `jobs` take, each job alone on the paths
// of SelectAlone.
double WindowOf(const Problem& problem, std::span<const ContendingJobId> jobs, double iterations);

class ScheduleEvaluator {
 public:
  static constexpr std::size_t kMaxStreams = 64;
  // Whether `jobs` can be simulated together: they have at most kMaxStreams streams in all, merged
  // by Merging::kJobs.
  static bool Fits(const Problem& problem, std::span<const ContendingJobId> jobs);

  // `problem` and `budget` must outlive this. REQUIRES: window_seconds > 0.
  ScheduleEvaluator(const Problem& problem, double window_seconds, EventBudget& budget)
      : problem_(problem), window_seconds_(window_seconds), budget_(budget) {}

  // FLOP/s that `jobs` (sorted indices) achieve together when only they run, with the paths and
  // levels given per job of the whole problem. A function of its arguments unless the budget runs
  // out. REQUIRES: Fits(problem, jobs).
  double FlopRate(std::span<const ContendingJobId> jobs, const Paths& paths,
                  std::span<const std::int32_t> levels);
  // Returns the rate of each job in the last result, in their order.
  const std::vector<double>& job_rates() const { return job_rates_; }

  // Whether the budget is exhausted; later results are invalid.
  bool exhausted() const { return budget_.exhausted(); }
  double window_seconds() const { return window_seconds_; }

 private:
  struct Moving {  // a stream
    double bytes;
    double remaining;
    double rate;
  };
  struct Bottleneck {
    std::uint64_t users;
    std::vector<std::pair<int, double>> uses;  // (stream, use), by stream
    double bytes_per_second;
    double left;
  };
  // Streams of a job that start together, as a set.
  struct Batch {
    double start;  // fraction of compute
    std::int32_t every;
    std::uint64_t streams;
  };
  struct JobRun {
    double compute;
    double flop_per_second;
    std::uint64_t streams;       // as a set
    std::uint64_t background;    // of them
    std::vector<Batch> batches;  // by start
    std::size_t next;            // batch
    double ready_at;             // when that starts; infinite where there is none
    double compute_ends;         // infinite while it does not compute
    double compute_began;
    double computed;
    std::int64_t iteration;  // from 1
  };

  void Load(std::span<const ContendingJobId> jobs, const Paths& paths,
            std::span<const std::int32_t> levels);
  JobRun LoadJob(const ContendingJob& job, const std::vector<Stream>& streams);
  void LoadLinks(std::span<const std::vector<Stream>> streams);
  static void BeginIteration(JobRun& job, double now, double computed_share);
  static void AwaitBatch(JobRun& job, double now);
  // Starts what is due; whether that was something.
  bool StartBatch(JobRun& job, double now, double together);
  bool IterationIsDone(const JobRun& job) const;
  double NextEvent(double now) const;
  void Advance(double now, double next);
  void UpdateRates(double now);
  const double* RatesOfActive();
  void DivideActive();
  void DivideLevel(std::uint64_t streams);

  const Problem& problem_;
  const double window_seconds_;
  EventBudget& budget_;
  std::vector<JobRun> jobs_;
  std::vector<Moving> streams_;
  std::vector<std::uint64_t> level_streams_;  // highest level first
  std::vector<Bottleneck> links_;             // those that can limit
  std::uint64_t active_ = 0;
  std::vector<double> job_rates_;
  // Where the rates of a set of streams begin in rates_; the table for small sets, the map for
  // others.
  std::vector<std::int32_t> table_;
  std::unordered_map<std::uint64_t, std::int32_t> map_;  // only looked up, never walked
  std::vector<double> rates_;
};

}  // namespace yardmaster::crux
