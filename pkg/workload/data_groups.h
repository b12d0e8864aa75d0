// Data groups as workers: the smallest sets of workers that no communication of one iteration
// leaves, but for the exchange of gradients. A framework that bears the loss of replicas (TorchFT,
// FT-HSDP) goes on while one of them restarts.
//
// GPUs belong to one replica when they have the same place in the data axis, whatever their place
// in tensor, context and pipeline. Experts are spread over `expert` consecutive places of that
// axis, which exchange tokens in every layer: such places are one replica. A worker that has GPUs
// of several replicas ends with all of them, so replicas that share a worker are one data group.
//
// Thread safety: pure function.
#pragma once

#include <vector>

#include "pkg/workload/parallelism.h"

namespace yardmaster::workload {

// The data group of each worker, numbered from 0 by the first worker of each. Empty: there are
// fewer than two. O(world log workers). REQUIRES: valid parallelism for workers * gpus_per_worker
// GPUs.
std::vector<int> DataGroupOfWorker(const Parallelism& p, int workers, int gpus_per_worker);

// `ranks` (ascending) and all others of their data groups, ascending. Numbers that `group_of_rank`
// does not have stay as they are. O(ranks + workers).
std::vector<int> WithDataGroups(const std::vector<int>& ranks,
                                const std::vector<int>& group_of_rank);

}  // namespace yardmaster::workload
