// Replays jobs over time on a fabric under one policy.
//
// Jobs wait first in, first out for GPUs. Which they get is drawn (gpu_pool.h), or chosen by the
// planner of the cluster (gang_placer.h). A job whose places are given takes those if their GPUs
// are free when its turn comes, else others. At every arrival and
// end the policy decides again (crux from the present plan, as the operator calls it; the others
// from nothing). Policies that choose no paths keep for each flow the one that was drawn
// when its job started, as a hash would. Between two such instants every job progresses at a
// constant speed: that of a window of the flow simulator over the jobs that share links with it,
// remembered while they, their paths and their levels stay the same. Jobs begin that window
// anywhere in their iteration, but under CASSINI where it puts them. Traffic: trace_flows.h.
//
// Deterministic in (network, jobs, options) for any order of `jobs`. REQUIRES: ids are unique.
// Errors: InvalidArgument for a job that no cluster of this size can hold. Thread safety: pure
// function (apart from `progress`).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "pkg/base/status.h"
#include "pkg/fabric/network.h"
#include "simulation/policies/baselines.h"
#include "simulation/policies/policies.h"
#include "simulation/simulator/host_links.h"
#include "simulation/simulator/trace_mover.h"
#include "simulation/simulator/trace_workload.h"

namespace yardmaster::sim {

struct TraceOptions {
  crux::Policy policy = crux::Policy::kCrux;
  std::int32_t levels = 8;
  std::vector<std::int32_t> reserved_levels;  // of them, not handed out
  // Further options of the policy, by default the production configuration; its seed, levels and
  // state are set by the replay.
  crux::Options decide;
  // Crux, too, decides from nothing at every arrival and end.
  bool decide_from_nothing = false;
  // Crux is told when jobs end (crux::PresentState::remaining_seconds).
  bool knows_ends = false;
  // How long a running job waits when the policy gives it other paths, or another level.
  double path_stall_seconds = 0;
  double level_stall_seconds = 0;
  std::uint64_t seed = 1;
  // Connections between two GPUs, each with an equal part of the bytes. A hash spreads them; a
  // policy that chooses paths chooses one for all that leave by the same port.
  std::int32_t connections = 8;
  // Policies that choose no paths get those of crux, instead of what a hash draws.
  bool paths_of_crux = false;
  // When TACCL* is applied.
  crux::TacclReading taccl = crux::TacclReading::kGlobal;
  // Every policy gets the paths that a hash draws, also one that would choose them: levels alone.
  bool hashed_paths = false;
  // Places are chosen by the planner, and the two that follow mean nothing.
  bool planner_places = false;
  // With planner_places: jobs of at most so many hosts have to stand in one segment.
  std::int32_t segment_hosts = 0;
  // Whether running jobs are moved, at every arrival and end. REQUIRES: planner_places.
  TraceMoves moves;
  double scatter = 0.3;           // probability that the next host is anywhere, not the next free
  double fragmented = 0;          // probability that a job gets half hosts where there are any
  std::optional<HostSpec> host;   // empty: HostSpecOf the network
  double window_iterations = 12;  // of the slowest job of a group
  int max_paths = 64;             // candidates per flow
  double load = 1;                // multiplies the bytes of every job
  std::function<void(std::size_t finished, std::size_t all)> progress;
};

struct TraceJobResult {
  std::string id;
  std::int32_t gpus = 0;
  double start_seconds = 0;
  double finish_seconds = 0;
  double utilisation = 0;             // share of its time it computed
  double slowdown = 1;                // against being alone on its paths of least load
  bool contended = false;             // it shared a link with another job at some time
  bool contended_in_network = false;  // and that link was not inside a host
  // Share of its running time that contention cost it: 1 - 1 / slowdown.
  double lost_share = 0;
  bool in_place = false;  // on the hosts that the trace gives
};

inline constexpr double kSlowedShare = 0.01;
inline constexpr std::int32_t kWideHosts = 16;

struct TraceResult {
  std::vector<TraceJobResult> jobs;  // as given
  double utilisation = 0;            // FLOP done over FLOP possible on the GPUs that were in use
  double lone_utilisation = 0;       // what that would be if every job always ran as if alone
  double mean_completion_seconds = 0;
  double mean_slowdown = 1;
  double worst_slowdown = 1;
  double contended_jobs = 0;          // share that ever shared a link with another job, at any load
  double contended_gpus = 0;          // share
  double network_contended_jobs = 0;  // share that met another job outside of hosts
  // Bytes of flows that have a choice of paths, over those that would be sent in the same time if
  // every job always ran as if alone: how well the network's own links are used.
  double network_share = 1;
  // Share of jobs and GPUs that lost more than kSlowedShare of their work to contention.
  double slowed_jobs = 0;
  double slowed_gpus = 0;
  // Time-weighted mean, over the time that jobs ran, of the load of the fullest link that two jobs
  // share: seconds of traffic per second if every job ran as if alone.
  double shared_load = 0;
  // How often a running job got other paths, or another level.
  std::int64_t path_moves = 0;
  std::int64_t level_moves = 0;
  std::int64_t job_moves = 0;
  double moved_gpu_seconds = 0;  // what they cost
  double mean_wait_seconds = 0;
  double mean_wide_wait_seconds = 0;  // of jobs of kWideHosts and more
  std::int32_t peak_jobs = 0;
  std::int32_t peak_gpus = 0;
};

absl::StatusOr<TraceResult> RunTrace(const fabric::Network& network,
                                     const std::vector<TraceJob>& jobs,
                                     const TraceOptions& options);

}  // namespace yardmaster::sim
