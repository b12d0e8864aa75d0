// How fast the jobs that run at one instant of a replay are, given what a policy decided for them.
//
// A job that shares no link runs as if alone. Jobs that share links, directly or through others,
// form a group; the share of its time that each computes is measured in a window of the flow
// simulator (trace_speed.h) over the group. What was measured is remembered while the group, its
// paths and the order of its levels stay the same.
// Deterministic. Thread safety: single threaded. Lifetimes: values.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "pkg/crux/intensity.h"
#include "pkg/crux/problem.h"
#include "simulation/simulator/gpu_pool.h"
#include "simulation/simulator/trace_flows.h"

namespace yardmaster::sim {

struct RunningJob {
  std::size_t index = 0;  // into the trace
  std::vector<HostGpus> places;
  TraceJobFlows hops;  // its flows are those of the problem's job
  crux::JobDecision decision;
  double phase = 0;            // of an iteration, where a window begins
  double left_seconds = 0;     // of compute
  double stalled_seconds = 0;  // to be waited before it goes on
  double share = 0;            // computed seconds per second
  double lone_share = 1;
  double ring_bytes_per_gpu = 0;  // sent in an iteration, by each GPU of a whole host
  double network_bytes = 0;       // of an iteration, on flows that have a choice of paths
};

class RunningSpeeds {
 public:
  // The first `network_links` of the links are those of the network, the others of hosts. A window
  // lasts so many iterations of the slowest job of a group. `offsets_hold`: jobs begin it where the
  // policy put them, else anywhere in their iteration.
  RunningSpeeds(const std::vector<crux::Link>& links, std::int32_t network_links,
                double window_iterations, bool offsets_hold);

  // Sets the share of each of `running`, which stand beside problem.jobs. Returns the groups of
  // more than one job.
  std::vector<std::vector<crux::ContendingJobId>> Measure(const crux::Problem& problem,
                                                          const crux::Solution& solution,
                                                          std::vector<RunningJob>& running);
  // Load of the fullest link that two jobs share, in the last measurement.
  double shared_load() const { return shared_load_; }
  // The jobs that share a link of the network with another, in the last measurement.
  const std::vector<crux::ContendingJobId>& met_in_network() const { return met_in_network_; }

 private:
  using Loads = std::vector<std::vector<crux::LinkSeconds>>;  // by job

  std::vector<double> Simulate(const crux::Problem& problem, const std::vector<RunningJob>& running,
                               const std::vector<crux::ContendingJobId>& group,
                               double window_seconds) const;

  std::vector<crux::ContendingJobId> JobsThatMeetInNetwork(const Loads& loads) const;

  const std::int32_t network_links_;
  const double window_iterations_;
  const bool offsets_hold_;
  std::vector<double> gbps_;  // by link
  double shared_load_ = 0;
  std::vector<crux::ContendingJobId> met_in_network_;
  std::map<std::vector<std::int64_t>, std::vector<double>> measured_;  // shares, by group
};

}  // namespace yardmaster::sim
