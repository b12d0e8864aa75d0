// The simulator's answer for a handful of jobs, made for being asked thousands of times: no event
// queue (the next event is found by scanning), and rates are looked up by the set of flows that are
// under way. Same model as Simulator; written independently, so that tests hold one against the
// other. Asked for more than kMaxFlows flows it falls back on Simulator.
//
// Complexity: O(jobs + flows) per event. Deterministic. Thread safety: single threaded.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "pkg/crux/judge.h"
#include "pkg/crux/problem.h"
#include "pkg/crux/rate_bound.h"

namespace yardmaster::sim {

class PhaseJudge final : public crux::Judge {
 public:
  static constexpr std::size_t kMaxFlows = 64;

  // About as many as take five seconds.
  static constexpr std::int64_t kDefaultMaxEvents = 100'000'000;

  // `problem` must outlive this. It tires after `max_events` in all.
  PhaseJudge(const crux::Problem& problem, double window_seconds,
             std::int64_t max_events = kDefaultMaxEvents);

  double FlopRate(std::span<const std::int32_t> jobs, const crux::Paths& paths,
                  std::span<const std::int32_t> levels) override;
  double RateBound(std::span<const std::int32_t> jobs, const crux::Paths& paths,
                   std::span<const crux::Served> served) override {
    return bound_.Of(jobs, paths, served);
  }
  bool exhausted() const override { return events_ > max_events_; }
  std::int64_t events() const { return events_; }

 private:
  struct Flow {
    std::int32_t job;  // place in jobs_
    double bytes;
    double remaining;
    double rate;
  };
  struct Bottleneck {
    std::uint64_t users;
    double bytes_per_second;
    double left;
  };
  // Flows of a job that start together, as a set.
  struct Batch {
    double start;  // fraction of compute
    std::int32_t every;
    std::uint64_t flows;
  };
  struct Job {
    double compute;
    double flop_per_second;
    std::uint64_t flows;         // as a set
    std::uint64_t background;    // of them
    std::vector<Batch> batches;  // by start
    std::size_t next;            // batch
    double ready_at;             // when that starts; infinite where there is none
    double compute_ends;         // infinite while it does not compute
    double compute_began;
    double computed;
    std::int64_t iteration;  // from 1
  };

  void Load(std::span<const std::int32_t> jobs, const crux::Paths& paths,
            std::span<const std::int32_t> levels);
  void LoadLinks(std::span<const std::int32_t> jobs, const crux::Paths& paths);
  Job LoadJob(const crux::Job& job);
  static void BeginIteration(Job& job, double now, double computed_share);
  static void AwaitBatch(Job& job, double now);
  // Starts what is due; whether that was something.
  bool StartBatch(Job& job, double now, double together);
  bool IterationIsDone(const Job& job) const;
  double NextEvent(double now) const;
  void Advance(double now, double next);
  void Settle(double now);
  const double* RatesOfActive();
  void DivideActive();
  void DivideLevel(std::uint64_t flows);
  double Simulated(std::span<const std::int32_t> jobs, const crux::Paths& paths,
                   std::span<const std::int32_t> levels);

  const crux::Problem& problem_;
  const double window_seconds_;
  crux::RateBound bound_;
  const std::int64_t max_events_;
  std::int64_t events_ = 0;
  std::vector<Job> jobs_;
  std::vector<Flow> flows_;
  std::vector<std::uint64_t> level_flows_;  // highest level first
  // Links as the set of flows that use them; of those with the same users only the slowest counts.
  std::vector<Bottleneck> links_;
  std::vector<std::pair<std::int32_t, std::uint64_t>> uses_;  // scratch
  std::uint64_t active_ = 0;
  // Where the rates of a set of flows begin in rates_; the table for small sets, the map for
  // others.
  std::vector<std::int32_t> table_;
  std::unordered_map<std::uint64_t, std::int32_t> map_;  // only looked up, never walked
  std::vector<double> rates_;
};

}  // namespace yardmaster::sim
