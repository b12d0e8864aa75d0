// The files of the public Lingjun 2023 trace, as they are published.
//
//   job.csv         job_name, kind, model, priority, gmt_job_submitted, gmt_job_running, and
//                   gmt_job_finished or gmt_job_stopped; times like 2023/7/15 02:19
//   worker.csv      job_name, worker_name, replica_type, host_ip, RES (what the worker asked for)
//   topo.csv        ip, DSW, PSW, ASW
//   model-gpus.csv  model, total_gpu
// Cells may be quoted ("..." with "" for a quote), which RES needs where it lists several
// resources; of RES the number that follows "gpu" counts, or the whole cell where it is a number; a
// worker whose RES has neither has 8 GPUs.
// Columns are found by the names in the first line, in any order; more of them do not matter.
//
// The published files have broken rows (a job that ran before it was submitted, a missing time):
// such rows are skipped and counted by reason, never an error. Errors: InvalidArgument when a file
// lacks a column or has no usable row. Thread safety: pure functions of the texts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "simulation/simulator/trace_workload.h"

namespace yardmaster::sim {

// Reason -> rows, for one or several files.
using SkippedRows = std::map<std::string, std::size_t>;

// The index of a trace's host in the network, by its ip.
using TraceHostIndex = std::map<std::string, std::int32_t, std::less<>>;

// Jobs in the order of arrival, the first at second 0. A job's GPUs are those of its workers. Jobs
// all of whose workers ran on hosts of `hosts` get their places.
absl::StatusOr<std::vector<TraceJob>> ParseTraceJobs(std::string_view job_csv,
                                                     std::string_view worker_csv,
                                                     const TraceHostIndex& hosts,
                                                     SkippedRows& skipped);

absl::StatusOr<std::vector<ModelSize>> ParseModelSizes(std::string_view model_gpus_csv,
                                                       SkippedRows& skipped);

// One host of topo.csv.
struct TraceHost {
  std::string ip;
  std::string core;
  std::string aggregation;
  std::string tor;
};
absl::StatusOr<std::vector<TraceHost>> ParseTopology(std::string_view topo_csv,
                                                     SkippedRows& skipped);

}  // namespace yardmaster::sim
