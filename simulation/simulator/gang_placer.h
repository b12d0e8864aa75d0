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
#include "pkg/workload/job.h"
#include "simulation/simulator/gpu_pool.h"
#include "simulation/simulator/trace_workload.h"

namespace yardmaster::sim {

// The gang that a job is. One of at most `segment_hosts` hosts has to stand in one segment.
workload::Job GangOf(const TraceJob& traced, std::int32_t gpus_per_host,
                     std::int32_t segment_hosts);
// Hosts of the network, which outlives it, without a job.
placement::Cluster EmptyCluster(const fabric::Network& network);

class GangPlacer {
 public:
  explicit GangPlacer(const fabric::Network& network, std::int32_t segment_hosts = 0)
      : segment_hosts_(segment_hosts), cluster_(EmptyCluster(network)) {}

  // By rank, so that a stage's hosts stand together; empty: the job does not fit now. `free`: what
  // no job has. Errors: InvalidArgument for a job that would not fit the empty cluster either.
  absl::StatusOr<std::vector<TracePlace>> PlacesOf(const TraceJob& job, const GpuPool& free);

 private:
  const std::int32_t segment_hosts_;
  placement::Cluster cluster_;
};

}  // namespace yardmaster::sim
