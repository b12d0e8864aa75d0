// What a schedule is worth: the utilisation of a window of the simulator.
//
// The window begins at the instant at which every job may begin to communicate (the worked examples
// of the Crux paper are drawn so). Utilisation is the FLOP done, counting flop_per_iteration /
// compute_seconds while a job computes (with jitter: for each iteration that ended), over the FLOP
// possible without any waiting.
//
// Rings move as one (crux/streams.h). Evaluate runs the event-driven Simulator;
// crux::ScheduleEvaluator answers the same question for a handful of jobs many times over and was
// written independently, so that tests hold one against the other.
// Thread safety: pure.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/crux/problem.h"
#include "simulation/simulator/simulator.h"

namespace yardmaster::sim {

inline constexpr double kDefaultIterations = 100;

struct EvaluateOptions {
  double window_seconds = 0;  // 0: kDefaultIterations of the slowest job
  SimulatorOptions simulator;
};

struct Evaluation {
  double utilisation = 0;
  double window_seconds = 0;
  std::vector<JobTotals> jobs;
  std::int64_t events = 0;
};

// Iterations of the slowest job alone, on the paths given (on its best ones where there are none).
double DefaultWindow(const crux::Problem& problem, const crux::Solution* solution);

// REQUIRES: problem passed crux::Validate and solution is aligned with it.
absl::StatusOr<Evaluation> Evaluate(const crux::Problem& problem, const crux::Solution& solution,
                                    const EvaluateOptions& options = {});

// The job as the simulator takes it: a flow for each of its streams, in their order.
SimulatedJob SpecOf(const crux::ContendingJob& job, const crux::JobDecision& decision,
                    JobStart start);

}  // namespace yardmaster::sim
