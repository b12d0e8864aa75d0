// How fast jobs that share links progress, measured in a window of a fluid simulation of rings.
//
// Model: as in simulator.h a job repeats compute and communication, and links serve levels strictly
// and share max-min fairly inside a level. What differs is what flows: a ring. Its hops pass on
// what they receive, so they all move at one rate, and a hop spread over several connections puts a
// part of that rate on each of their links. (Hops as flows of their own would let a fast hop take
// bandwidth in a burst that its ring has no use for, and under strict levels stop others with it.)
// What happens within a small part of the shortest compute time happens together.
//
// Links that cannot limit are left out first: of those with the same users only the ones that some
// user fills most. Deterministic. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

namespace yardmaster::sim {

struct RingSpec {
  double bytes = 0;                 // moved past every hop in one iteration
  std::vector<std::int32_t> links;  // each once
  std::vector<double> uses;         // what of the ring's rate each link carries
};

struct RingJob {
  double compute_seconds = 0;
  double communication_start = 1;
  std::int32_t level = 0;
  double offset_seconds = 0;  // the job waits so long before it starts
  bool ready = false;         // it starts where its rings may start
  std::vector<RingSpec> rings;
};

// Renumbers the links to those that can limit and returns their bandwidth.
std::vector<double> KeepLimitingLinks(const std::vector<double>& link_gbps,
                                      std::vector<RingJob>& jobs);

struct RingTotals {
  double compute_seconds = 0;
  std::int64_t iterations = 0;
};
// What each job has done after `seconds`. `instants`: per shortest compute time; fewer are faster.
// Levels on shared links synchronise jobs, so the share of a single job may depend on one instant,
// while the mean does not.
inline constexpr double kInstants = 200;
std::vector<RingTotals> RunRings(const std::vector<double>& link_gbps,
                                 const std::vector<RingJob>& jobs, double seconds,
                                 double instants = kInstants);

// Per job the share of time that it computes, over a window that begins after a quarter of its
// length. Never 0: a window without progress means less than one iteration.
std::vector<double> ComputeShares(const std::vector<double>& link_gbps, std::vector<RingJob> jobs,
                                  double window_seconds);

}  // namespace yardmaster::sim
