#include "pkg/placement/departure.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/hosts_near.h"
#include "pkg/workload/resources.h"

namespace yardmaster::placement {

namespace {

using fabric::HostId;
using workload::TopologyLevel;
using workload::WorkerGroup;
using workload::WorkerGroups;

// The leaving ranks as a job of their own.
workload::Job JobOf(const workload::Job& whole, const std::vector<int>& leaving) {
  workload::Job job = whole;
  job.workers = static_cast<int>(leaving.size());
  // Pipelines reach beyond them; the whole assignment is judged.
  job.placement.pipeline.mode = workload::Enforcement::kPreferred;
  if (whole.roles.empty()) return job;
  job.roles.clear();
  job.requests = whole.RequestsOf(leaving[0]);
  job.gpus_per_worker = whole.GpusOf(leaving[0]);
  int next = 0;
  for (const int rank : leaving) {
    const workload::ResourceList& requests = whole.RequestsOf(rank);
    const int gpus = whole.GpusOf(rank);
    if (job.roles.empty() || job.roles.back().requests != requests ||
        job.roles.back().gpus != gpus) {
      job.roles.push_back({next, requests, gpus});
    }
    workload::RaiseAmounts(job.requests, requests);
    job.gpus_per_worker = std::max(job.gpus_per_worker, gpus);
    ++next;
  }
  if (job.roles.size() == 1) job.roles.clear();
  return job;
}

// What is left of each group among the leaving ranks, under their new numbers.
std::vector<WorkerGroup> Among(const std::vector<WorkerGroup>& family,
                               const std::vector<int>& new_rank) {
  std::map<std::vector<int>, std::int64_t> counts;
  for (const WorkerGroup& group : family) {
    std::vector<int> workers;
    for (const int worker : group.workers) {
      if (new_rank[static_cast<std::size_t>(worker)] >= 0) {
        workers.push_back(new_rank[static_cast<std::size_t>(worker)]);
      }
    }
    if (workers.size() > 1) counts[std::move(workers)] += group.count;
  }
  std::vector<WorkerGroup> out;
  for (const auto& [workers, count] : counts) out.push_back({workers, count});
  return out;
}

WorkerGroups GroupsAmong(const WorkerGroups& whole, const std::vector<int>& leaving) {
  std::vector<int> new_rank(static_cast<std::size_t>(whole.workers), -1);
  for (std::size_t i = 0; i < leaving.size(); ++i) {
    new_rank[static_cast<std::size_t>(leaving[i])] = static_cast<int>(i);
  }
  WorkerGroups out;
  out.workers = static_cast<int>(leaving.size());
  out.tensor = Among(whole.tensor, new_rank);
  out.context = Among(whole.context, new_rank);
  out.expert = Among(whole.expert, new_rank);
  out.data = Among(whole.data, new_rank);
  // Stages that none of them is in are left out, the others keep their order.
  for (const std::vector<int>& workers : whole.workers_of_stage) {
    std::vector<int> mine;
    for (const int worker : workers) {
      const int rank = new_rank[static_cast<std::size_t>(worker)];
      if (rank >= 0) mine.push_back(rank);
    }
    if (!mine.empty()) out.workers_of_stage.push_back(std::move(mine));
  }
  out.stages_of_worker.resize(leaving.size());
  for (std::size_t stage = 0; stage < out.workers_of_stage.size(); ++stage) {
    for (const int worker : out.workers_of_stage[stage]) {
      out.stages_of_worker[static_cast<std::size_t>(worker)].push_back(static_cast<int>(stage));
    }
  }
  return out;
}

// Allowed hosts in the places of that level where the gang has ranks: in segments of those that stay, in
// fabric pods of all.
std::vector<std::uint8_t> HostsNear(const fabric::Places& places, const GangRequest& request,
                                    const std::vector<HostId>& host_of_rank,
                                    const std::vector<int>& leaving, TopologyLevel level) {
  std::set<fabric::SegmentId> segments;
  std::set<fabric::FabricPodId> pods;
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank) {
    const HostId host = host_of_rank[rank];
    if (!host.valid()) continue;
    pods.insert(places.fabric_pod_of(host));
    const bool leaves = std::binary_search(leaving.begin(), leaving.end(), static_cast<int>(rank));
    if (!leaves) segments.insert(places.segment_of(host));
  }
  return HostsNear(places, request, segments, pods, level);
}

}  // namespace

GangPlan PlanDeparture(
    const Cluster& cluster, const GangRequest& request, const std::vector<HostId>& host_of_rank,
    const std::vector<int>& leaving, const PlannerOptions& options,
    const std::function<absl::Status(const std::vector<HostId>&)>& keeps_limits) {
  const workload::Job job = JobOf(*request.job, leaving);
  const WorkerGroups groups = GroupsAmong(*request.groups, leaving);
  GangPlan best, plan;
  std::string broken;
  for (const TopologyLevel level : kNearestFirst) {
    const std::vector<std::uint8_t> near =
        HostsNear(*cluster.places, request, host_of_rank, leaving, level);
    PlannerOptions quick = options;
    quick.explain = options.explain && level == TopologyLevel::kFabric &&
                    best.outcome != Outcome::kPlaced && broken.empty();
    plan = PlanGang(cluster, {&job, &groups, &near, request.queue_index}, quick);
    if (plan.outcome != Outcome::kPlaced) continue;
    std::vector<HostId> hosts = host_of_rank;
    for (std::size_t i = 0; i < leaving.size(); ++i) {
      hosts[static_cast<std::size_t>(leaving[i])] = plan.host_of_rank[i];
    }
    const absl::Status allowed = keeps_limits(hosts);
    if (!allowed.ok()) {
      broken = MessageOf(allowed);
      continue;
    }
    plan.objective = Evaluate(*cluster.places, *request.groups, hosts);
    if (best.outcome == Outcome::kPlaced && best.objective <= plan.objective) continue;
    plan.bound = plan.objective;
    plan.optimal = false;
    plan.reasons.clear();
    plan.host_of_rank = std::move(hosts);
    best = std::move(plan);
  }
  if (best.outcome == Outcome::kPlaced) return best;
  plan.host_of_rank.clear();
  if (broken.empty()) return plan;
  plan = {};
  plan.reasons.push_back(
      {ReasonCode::kInvalid, TopologyLevel::kFabric, static_cast<std::int64_t>(leaving.size()),
       StrCat(
           "there is room elsewhere, and none that keeps every limit beside the ranks that stay: ",
           broken,
           "; make the limit Preferred, or suspend the job and resume it to have it placed anew "
           "as a whole")});
  return plan;
}

}  // namespace yardmaster::placement
