// Moves of running jobs in a replay: those that plan::ProposeMoves proposes for its jobs, each with
// the places that the planner of the cluster gives it (gang_placer.h).
//
// The first job of the queue is the gang that waits. A move costs what it costs in a cluster: the
// restart, and on average half of the time between two checkpoints; a job is moved once it has run
// for a while. Deterministic. Thread safety: single threaded. Lifetimes: the network outlives it.
#pragma once

#include <cstddef>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/crux/problem.h"
#include "pkg/fabric/network.h"
#include "pkg/plan/rebalance/rebalance.h"
#include "simulation/simulator/gpu_pool.h"
#include "simulation/simulator/running_speed.h"
#include "simulation/simulator/trace_workload.h"

namespace yardmaster::sim {

struct TraceMoves {
  bool on = false;
  double restart_seconds = 300;
  double checkpoint_interval_seconds = 1800;
  double least_run_seconds = 600;
  plan::RebalanceOptions options;

  double lost_seconds() const { return restart_seconds + checkpoint_interval_seconds / 2; }
};

// What runs, and the first job of the queue.
struct MoverInput {
  const std::vector<TraceJob>* trace = nullptr;
  const std::vector<RunningJob>* running = nullptr;
  const std::vector<crux::ContendingJob>* traffic = nullptr;  // beside `running`
  std::vector<double> ran_seconds;                            // beside `running`
  const TraceJob* waiting = nullptr;                          // null: none waits
  const GpuPool* pool = nullptr;
  std::int32_t segment_hosts = 0;  // GangOf (gang_placer.h)
};

struct TraceMove {
  std::size_t running = 0;  // index
  std::vector<TracePlace> to;
};

// In the order in which they are made. Errors: those of plan::ProposeMoves.
absl::StatusOr<std::vector<TraceMove>> MovesOf(const fabric::Network& network,
                                               const MoverInput& input, const TraceMoves& moves);

}  // namespace yardmaster::sim
