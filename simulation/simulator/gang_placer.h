// The places of a trace's jobs by the planner of the cluster (placement::PlanGang), in place of
// those that gpu_pool.h draws.
//
// A job is a gang: of whole hosts, or of one worker where it is smaller than a host. Its pipeline
// stages are those of its profile; all placement limits are the defaults. What the extender has
// beside the planner is not there: backup hosts, priorities, preemption, reservations.
// Deterministic. Thread safety: single threaded. Lifetimes: the network outlives it.
#pragma once

#include <vector>

#include "pkg/base/status.h"
#include "pkg/fabric/network.h"
#include "pkg/placement/cluster.h"
#include "simulation/simulator/gpu_pool.h"
#include "simulation/simulator/trace_workload.h"

namespace yardmaster::sim {

class GangPlacer {
 public:
  explicit GangPlacer(const fabric::Network& network);

  // By rank, so that a stage's hosts stand together; empty: the job does not fit now. `free`: what
  // no job has. Errors: InvalidArgument for a job that would not fit the empty cluster either.
  absl::StatusOr<std::vector<TracePlace>> PlacesOf(const TraceJob& job, const GpuPool& free);

 private:
  placement::Cluster cluster_;
};

}  // namespace yardmaster::sim
