// What the ranks of a placed job send each other between hosts in one iteration.
//
//   data groups      a ring all-reduce over the hosts of the group: each host sends what one GPU of
//                    a ring sends, spread over the NICs of the group's GPUs in that host
//   tensor, context  the same, where such a group is wider than a host
//   pipeline         each GPU to the GPU with the same other coordinates in the next and in the
//                    previous stage (half of its bytes each way; with a virtual pipeline also from
//                    the last stage to the first)
//   expert groups    all to all, in equal parts, arriving on the sender's rail
// What stays inside a host is left out.
//
// The profile's bytes are what one GPU sends. What a profile does not know is estimated from a
// model (traffic_model.h), or where none is described, for a dense transformer of 10^9 parameters
// per tensor and pipeline shard: L layers of width 128 L (so parameters = 12 * 128^2 * L^3),
// sequences of 4,096 tokens, max(8, 4 pp) micro-batches of one sequence per data rank, two bytes a
// value, 6 FLOP per parameter and token, 2 * 10^14 FLOP/s a GPU.
//
// Complexity: O(GPUs * log GPUs), all to all apart. Deterministic. Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/workload/job.h"
#include "pkg/workload/traffic_model.h"

namespace yardmaster::workload {

enum class TrafficKind { kData, kTensor, kPipeline, kExpert };

// One direction between two NICs, all kinds added up.
struct Connection {
  int from_rank = 0;  // a worker on the host; the lowest that uses the NIC
  int to_rank = 0;
  fabric::HostId from_host;
  fabric::HostId to_host;
  int from_rail = 0;
  int to_rail = 0;
  double bytes = 0;  // per iteration
};

// The job's profile with estimates for what is unknown. A measured profile is taken at its word.
Profile CompleteProfile(const Job& job);
// As above, with estimates for this model. REQUIRES: ValidateModel accepts it.
Profile CompleteProfile(const Job& job, const Model& model);

// Sorted by (from host, from rail, to host, to rail). `rails` is the number of NICs of a host; GPU
// i of a host uses rail i mod rails, and workers on one host take its GPUs in rank order. Ranks
// without a host send nothing.
std::vector<Connection> ConnectionsOf(const Job& job,
                                      const std::vector<fabric::HostId>& host_of_rank, int rails);

}  // namespace yardmaster::workload
