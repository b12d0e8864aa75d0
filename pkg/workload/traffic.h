// What the ranks of a placed job send each other between hosts in one iteration.
//
//   data groups      a ring all-reduce over the hosts of the group: each host sends what one GPU of
//                    a ring sends, spread over the NICs of the group's GPUs in that host. Gradients
//                    of experts the same, among the GPUs of the group that hold the same experts
//   tensor groups    the same, where such a group is wider than a host
//   context groups   keys and values: each GPU to the next one of its group
//   pipeline         each GPU to the GPU with the same other coordinates in the next and in the
//                    previous stage (half of its bytes each way; with a virtual pipeline also from
//                    the last stage to the first, once less per micro-batch)
//   expert groups    all to all, in equal parts, arriving on the sender's rail
// What stays inside a host is left out, and what stays inside a domain: hosts that share a scale-up
// network do not use their NICs for it. A ring enters and leaves a domain once, spread over the
// NICs of all its GPUs there.
//
// The profile's bytes are what one GPU sends. What a profile does not know is estimated from the
// job's model (traffic_model.h), and the time it computes for 2 * 10^14 FLOP/s a GPU.
//
// Complexity: O(GPUs * log GPUs), all to all apart. Deterministic. Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/workload/job.h"

namespace yardmaster::workload {

// One direction between two NICs, all kinds added up.
struct TrafficDemand {
  int from_rank = 0;  // a worker on from_host that sends from the NIC
  int to_rank = 0;    // a worker on to_host that receives these bytes
  fabric::HostId from_host;
  fabric::HostId to_host;
  int from_rail = 0;
  int to_rail = 0;
  double bytes = 0;  // per iteration
};

// The job's profile with estimates for what is unknown. The bytes of a measured profile are used
// unchanged. REQUIRES: no Problems with the job's model.
Profile CompleteProfile(const Job& job);

// Sorted by (from host, from rail, to host, to rail). `rails` is the number of NICs of a host; GPU
// i of a host uses rail i mod rails, and workers on one host take its GPUs in rank order. Ranks
// without a host send nothing. `places` are those of the hosts; null: no two share a domain.
std::vector<TrafficDemand> ConnectionsOf(const Job& job,
                                         const std::vector<fabric::HostId>& host_of_rank, int rails,
                                         const fabric::Places* places = nullptr);

}  // namespace yardmaster::workload
