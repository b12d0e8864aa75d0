// Simulates how much work a few jobs get done on shared links with given paths and levels, for
// searches that compare many schedules.
//
// Model: that of simulator/simulator.h, with rings that move as one (streams.h). A job repeats
// compute and communication; its streams start when their part of the compute is done; an iteration
// ends when its compute and its streams are done; a stream in the background is waited for only
// before it runs again. Links serve levels strictly, the background below them, and share max-min
// fairly inside a level. The window begins at the instant at which every job may begin to
// communicate. There is no event queue: the next event is found by scanning, and rates are looked
// up by the set of streams that are under way.
//
// Work is counted in events and taken from a budget. An answer given after the budget ran out is
// invalid and has to be discarded.
// Where the jobs have more than kMaxStreams streams, those of each job are merged (Merging::kJobs).
//
// Complexity: O(jobs + streams) per event. Deterministic. Thread safety: single threaded.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/crux/problem.h"
#include "pkg/crux/streams.h"

namespace yardmaster::crux {

// Work that may still be done, in simulated events; shared by all searches of one decision.
// Searches also charge it for ranking and making plans. The last charge may exceed what is left.
struct EventBudget {
  std::int64_t left = 0;
  std::int64_t spent = 0;
  bool exhausted() const { return left <= 0; }
  void Spend(std::int64_t events) {
    left -= events;
    spent += events;
  }
};

// The seconds that `iterations` of the slowest of `jobs` take, each job alone on the paths of
// SelectAlone.
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
  // What each of them achieved in the last answer, in their order.
  const std::vector<double>& job_rates() const { return job_rates_; }

  // The budget is used up; results since then are invalid.
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
