#include "simulation/simulator/gang_placer.h"

#include <algorithm>
#include <memory>

#include "pkg/base/strings.h"
#include "pkg/placement/gang_planner.h"

namespace yardmaster::sim {

// Tensor parallelism fills a worker: groups inside of one do not matter to the planner.
workload::Job GangOf(const TraceJob& traced, std::int32_t gpus_per_host,
                     std::int32_t segment_hosts) {
  workload::Job gang;
  gang.key = {"trace", traced.id};
  gang.gpus_per_worker = std::min(traced.gpus, gpus_per_host);
  gang.workers = (traced.gpus + gpus_per_host - 1) / gpus_per_host;
  gang.parallelism.tensor = gang.gpus_per_worker;
  gang.parallelism.pipeline = StagesOf(traced, gang.workers);
  gang.parallelism.data = gang.workers / gang.parallelism.pipeline;
  gang.parallelism_given = true;
  if (gang.workers <= segment_hosts) {
    gang.placement.pipeline = {workload::TopologyLevel::kSegment, workload::Enforcement::kRequired};
    gang.placement.data = gang.placement.pipeline;
  }
  return gang;
}

placement::Cluster EmptyCluster(const fabric::Network& network) {
  placement::Cluster cluster;
  cluster.places =
      std::shared_ptr<const fabric::Places>(std::shared_ptr<void>(), &network.places());
  cluster.hosts.resize(static_cast<std::size_t>(network.places().num_hosts()));
  for (placement::HostState& host : cluster.hosts) {
    host.gpus = host.free_gpus = static_cast<std::int16_t>(network.spec().gpus_per_host);
  }
  return cluster;
}

absl::StatusOr<std::vector<TracePlace>> GangPlacer::PlacesOf(const TraceJob& job,
                                                             const GpuPool& free) {
  for (std::size_t h = 0; h < cluster_.hosts.size(); ++h) {
    cluster_.hosts[h].free_gpus =
        static_cast<std::int16_t>(free.FreeOn(static_cast<std::int32_t>(h)));
  }
  const workload::Job gang = GangOf(job, cluster_.hosts.front().gpus, segment_hosts_);
  const workload::WorkerGroups groups =
      workload::GroupsOf(gang.parallelism, gang.workers, gang.gpus_per_worker);
  placement::GangRequest request;
  request.job = &gang;
  request.groups = &groups;
  placement::PlannerOptions options;
  options.explain = false;
  const placement::GangPlan plan = placement::PlanGang(cluster_, request, options);
  if (plan.outcome == placement::Outcome::kNever) {
    return FieldError(job.id, placement::Sentence(plan),
                      "use a larger fabric, or leave the job out");
  }
  std::vector<TracePlace> places;
  std::int32_t left = job.gpus;
  for (const fabric::HostId host : plan.host_of_rank) {
    places.push_back({host.value, std::min(left, gang.gpus_per_worker)});
    left -= places.back().gpus;
  }
  return places;
}

}  // namespace yardmaster::sim
