// A replay of jobs on a cluster that places them, under one way to choose among places that are
// equal in the objective. The rates that the network gives the jobs are predicted after every 12th
// arrival or departure. Deterministic. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/fabric/spec.h"
#include "simulation/simulator/trace_workload.h"

namespace yardmaster::bench {

// contention_bench.cc says what each does.
enum class Way { kPacking, kContention, kDrawn, kOracle, kShareOracle, kMoved };
// Whether a job that is placed takes one of the places that random preferences lead to.
inline bool Draws(Way way) {
  return way == Way::kDrawn || way == Way::kOracle || way == Way::kShareOracle;
}

// The prediction at one instant; for kMoved, where the load is above 0.7, after jobs moved.
struct Sample {
  double seconds = 0;  // when
  double load = 0;     // share of time that the fullest uplink is busy, before jobs moved
  double share = 0;    // of the ideal rate, times GPUs, summed over jobs
  double gpus = 0;
  double flop_rate = 0;  // of all jobs
  double lone_flop_rate = 0;
};

// Numbers of jobs. All but `placed` are counted only where Draws(way).
struct Choices {
  int placed = 0;
  int spanning = 0;  // of several segments
  int several = 0;   // of them
  int other = 0;     // of them: not at the place that packing prefers
};

struct Figures {
  double busiest = 0;     // load of the busiest segment over the mean load
  double unevenness = 0;  // root mean square over mean
  double share = 0;       // of the ideal rate
  double split = 0;       // GPUs in gangs with a data group in more than one segment
  double waited = 0;      // seconds per job
};

struct ContentionReplay {
  Figures figures;
  Choices choices;
  std::vector<Sample> samples;
};

// `load` multiplies the bytes of every job; `draws`: random preferences for each job, where
// Draws(way) or kMoved.
ContentionReplay ReplayContention(const fabric::FabricSpec& spec,
                                  const std::vector<sim::TraceJob>& jobs, std::uint64_t seed,
                                  Way way, double load, int draws);

}  // namespace yardmaster::bench
