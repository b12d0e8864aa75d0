// Upper bound of the work that jobs can do in a window with any levels: it lets
// searches skip whole families of schedules without simulating them.
//
// In a window of W seconds that begins where every job may begin to communicate, job j (compute
// c, communication start s) finishes the compute it is in, (1 - s) c, and then K_j more computes,
// the last perhaps in part. Before a compute begins, the communication of the iteration
// before it is over, so at least K_j communications lie in the window:
//   maximise  sum_j flop_j ((1 - s_j) + K_j)   such that   sum_j K_j seconds_{j,l} <= W on each
//   link and 0 <= K_j <= what j does alone.
// s_j is the start of the job's first flow. A flow that runs in every n-th iteration has run more
// than K_j/n - 1 times by then, one in the background more than K_j/n - 2 times, since it has to be
// done only when it runs again: those terms stand on the left side too.
// A linear program in as many variables as jobs, solved by the simplex method on a dense table. The
// simplex takes the largest gain first, which could run in a circle on a degenerate program; it
// stops after a bounded number of pivots, with what nothing exceeds: every variable at its most.
// The bound holds exactly for the simulator's model; it ignores phases, so it is not always
// reached.
//
// Complexity: O(pivots * links shared * jobs), pivots are few. Deterministic.
// Thread safety: single threaded (scratch space).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "pkg/crux/intensity.h"
#include "pkg/crux/problem.h"

namespace yardmaster::crux {

// Jobs that go before those asked about, and what they get done together: they keep the links busy
// at least as long as the cheapest way to do that much.
struct Served {
  std::vector<ContendingJobId> jobs;
  double flop_rate = 0;
};

// max value . x such that rows . x <= limit, 0 <= x <= most; all numbers >= 0, which makes x = 0
// feasible. Returns the maximum, or value . most where `max_pivots` are not enough.
struct LinearProgram {
  std::vector<double> value;
  std::vector<double> most;
  std::vector<std::vector<double>> rows;
  std::vector<double> limit;
};
double Maximise(const LinearProgram& program, std::size_t max_pivots);

class RateBound {
 public:
  // `problem` must outlive this. REQUIRES: window_seconds > 0.
  RateBound(const Problem& problem, double window_seconds);

  // FLOP/s of `jobs` on the paths given (per job of the whole problem), at most.
  double Of(std::span<const ContendingJobId> jobs, const Paths& paths,
            std::span<const Served> served = {});

 private:
  // `seconds` of a link for each iteration of the job in a column, but for `spared_seconds` in all.
  struct Use {
    std::int32_t link;
    std::size_t column;
    double seconds;
    double spared_seconds;
  };

  // Whole and part iterations that a job begins after the one it is in, alone.
  double Alone(const ContendingJob& job, std::span<const std::int32_t> paths);
  // Adds to left_[link] what the served jobs use at least, below zero.
  void Serve(const Served& served, const Paths& paths);
  // Of flows that run seldom, or in the background; `most` iterations of the job are possible.
  void AddSeldomUses(const ContendingJob& job, std::span<const std::int32_t> paths,
                     std::size_t column, double most, std::vector<Use>& uses) const;
  // A row for each link that could get too full.
  void AddRows(std::vector<Use>& uses, LinearProgram& program) const;

  const Problem& problem_;
  const double window_seconds_;
  LoadCounter counter_;
  std::vector<double> left_;  // seconds of the window, per link
  std::vector<std::int32_t> touched_;
};

}  // namespace yardmaster::crux
