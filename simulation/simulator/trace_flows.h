// What the GPUs of a job send in one iteration, as flows over the links of its hosts and of the
// network.
//
// Between hosts: each pipeline stage runs rings over its hosts, one per GPU of the host that has
// fewest of them; channel i of a hop goes from the i-th of the job's GPUs of one host through the
// NIC nearest to it to the i-th of the next. Where no path joins the two NICs (rails that only meet
// inside hosts) it stays on its rail and the far host passes it on. Only the part in the network is
// a choice. Hops that share no link (two whole hosts below one ToR, NVLink) are all alike, and the
// channels of one NIC stand for all of them.
// Inside hosts: a ring over the job's GPUs of each host. Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/crux/problem.h"
#include "pkg/fabric/network.h"
#include "simulation/simulator/gpu_pool.h"
#include "simulation/simulator/host_links.h"
#include "simulation/simulator/trace_speed.h"
#include "simulation/simulator/trace_workload.h"

namespace yardmaster::sim {

struct FlowOptions {
  int max_paths = 64;  // candidates per flow
  // Flows of a hop that has a choice, each with a path and an equal part of the bytes; a NIC of
  // several ports is only filled by as many.
  int connections = 1;
  double load = 1;  // multiplies all bytes
};

struct TraceJobFlows {
  std::vector<crux::Flow> flows;      // the hops
  std::vector<std::int32_t> ring_of;  // of each flow
  std::vector<double> bytes;          // of each ring, past every hop
};

TraceJobFlows FlowsOf(const fabric::Network& network, const HostLinks& links,
                      const std::vector<HostGpus>& places, const JobProfile& profile,
                      const FlowOptions& options);

// Splits every flow that has a choice into `connections` flows with equal parts of its bytes, each
// on a path drawn at random.
TraceJobFlows Hashed(const TraceJobFlows& job, std::int32_t connections, Random& random);

// The rings on the chosen paths.
std::vector<RingSpec> RingsOf(const TraceJobFlows& job, const std::vector<std::int32_t>& paths);

}  // namespace yardmaster::sim
