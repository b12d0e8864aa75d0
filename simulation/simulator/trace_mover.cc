#include "simulation/simulator/trace_mover.h"

#include <memory>
#include <string>
#include <utility>

#include "pkg/base/strings.h"
#include "simulation/simulator/gang_placer.h"

namespace yardmaster::sim {
namespace {

plan::JobState StateOf(const TraceJob& traced, std::size_t number, int gpus_per_host,
                       std::int32_t segment_hosts) {
  plan::JobState state;
  state.job = GangOf(traced, gpus_per_host, segment_hosts);
  state.job.key.name = StrCat(1'000'000 + number);
  state.groups = std::make_shared<const workload::WorkerGroups>(GroupsOf(state.job));
  return state;
}

}  // namespace

absl::StatusOr<std::vector<TraceMove>> MovesOf(const fabric::Network& network,
                                               const MoverInput& input, const TraceMoves& moves) {
  plan::Snapshot snapshot;
  // They outlive the snapshot.
  snapshot.network = std::shared_ptr<const fabric::Network>(std::shared_ptr<void>(), &network);
  snapshot.places =
      std::shared_ptr<const fabric::Places>(std::shared_ptr<void>(), &network.places());
  snapshot.cluster = EmptyCluster(network);
  for (std::size_t h = 0; h < snapshot.cluster.hosts.size(); ++h) {
    snapshot.cluster.hosts[h].free_gpus =
        static_cast<std::int16_t>(input.pool->FreeOn(static_cast<std::int32_t>(h)));
  }
  const int gpus_per_host = network.spec().gpus_per_host;
  std::vector<plan::MoveTerms> terms;
  for (std::size_t r = 0; r < input.running->size(); ++r) {
    const RunningJob& running = (*input.running)[r];
    const crux::ContendingJob& traffic = (*input.traffic)[r];
    plan::JobState state =
        StateOf((*input.trace)[running.index], r, gpus_per_host, input.segment_hosts);
    state.job.profile.flop_per_iteration = traffic.flop_per_iteration;
    state.job.profile.compute_seconds = traffic.compute_seconds;
    state.job.profile.communication_start = traffic.communication_start;
    state.job.profile.data_bytes = running.ring_bytes_per_gpu;
    state.assignment.emplace();
    for (const HostGpus& place : running.places) {
      state.assignment->host_of_rank.emplace_back(place.host);
    }
    snapshot.jobs.push_back(std::move(state));
    terms.push_back({input.ran_seconds[r] >= moves.least_run_seconds, moves.lost_seconds()});
  }
  if (input.waiting != nullptr) {
    snapshot.jobs.push_back(
        StateOf(*input.waiting, snapshot.jobs.size(), gpus_per_host, input.segment_hosts));
    terms.emplace_back();
  }
  YM_ASSIGN_OR_RETURN(const plan::Rebalancing answer,
                      plan::ProposeMoves(snapshot, terms, moves.options));
  std::vector<TraceMove> out;
  for (const plan::Move& move : answer.moves) {
    TraceMove moved{static_cast<std::size_t>(move.job.value), {}};
    const std::vector<HostGpus>& places = (*input.running)[moved.running].places;
    for (std::size_t rank = 0; rank < move.to.size(); ++rank) {
      moved.to.push_back(
          {move.to[rank].value, static_cast<std::int32_t>(places[rank].gpus.size())});
    }
    out.push_back(std::move(moved));
  }
  return out;
}

}  // namespace yardmaster::sim
