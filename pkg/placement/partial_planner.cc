#include "pkg/placement/partial_planner.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/gpu_models.h"
#include "pkg/workload/resources.h"

namespace yardmaster::placement {

namespace {

using fabric::HostId;
using workload::TopologyLevel;
using workload::WorkerGroup;
using workload::WorkerGroups;

constexpr TopologyLevel kNearestFirst[] = {TopologyLevel::kSegment, TopologyLevel::kFabricPod,
                                           TopologyLevel::kFabric};

// Some ranks as a job of their own.
workload::Job JobOf(const workload::Job& whole, const std::vector<int>& ranks) {
  workload::Job job = whole;
  job.workers = static_cast<int>(ranks.size());
  // Pipelines reach beyond them; the whole assignment is compared.
  job.placement.pipeline.mode = workload::Enforcement::kPreferred;
  if (whole.roles.empty()) return job;
  job.roles.clear();
  job.requests = whole.RequestsOf(ranks[0]);
  job.gpus_per_worker = whole.GpusOf(ranks[0]);
  int next = 0;
  for (const int rank : ranks) {
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

// What of each group lies among the ranks, under their new numbers.
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

WorkerGroups GroupsAmong(const WorkerGroups& whole, const std::vector<int>& ranks) {
  std::vector<int> new_rank(static_cast<std::size_t>(whole.workers), -1);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    new_rank[static_cast<std::size_t>(ranks[i])] = static_cast<int>(i);
  }
  WorkerGroups out;
  out.workers = static_cast<int>(ranks.size());
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
  out.stages_of_worker.resize(ranks.size());
  for (std::size_t stage = 0; stage < out.workers_of_stage.size(); ++stage) {
    for (const int worker : out.workers_of_stage[stage]) {
      out.stages_of_worker[static_cast<std::size_t>(worker)].push_back(static_cast<int>(stage));
    }
  }
  return out;
}

// By host: 1 where the request allows it and it lies in a segment of other ranks (kSegment), in a
// fabric pod of the gang (kFabricPod), or anywhere (kFabric).
std::vector<std::uint8_t> HostsNear(const fabric::Places& places, const GangRequest& request,
                                    const std::vector<HostId>& host_of_rank,
                                    const std::vector<int>& ranks, TopologyLevel level) {
  std::set<fabric::SegmentId> segments;
  std::set<fabric::FabricPodId> pods;
  for (std::size_t rank = 0; rank < host_of_rank.size(); ++rank) {
    const HostId host = host_of_rank[rank];
    if (!host.valid()) continue;
    pods.insert(places.fabric_pod_of(host));
    const bool stays = !std::binary_search(ranks.begin(), ranks.end(), static_cast<int>(rank));
    if (stays) segments.insert(places.segment_of(host));
  }
  std::vector<std::uint8_t> near;
  for (const HostId host : places.hosts()) {
    const bool is_near =
        level == TopologyLevel::kFabric ||
        (level == TopologyLevel::kFabricPod ? pods.count(places.fabric_pod_of(host)) != 0
                                            : segments.count(places.segment_of(host)) != 0);
    near.push_back(is_near && request.Allows(host) ? 1 : 0);
  }
  return near;
}

// What is said where every place breaks a limit, before and after the limit's name.
struct BrokenLimit {
  std::string before;
  std::string after;
};

GangPlan PlanRanks(const Cluster& cluster, const GangRequest& request,
                   const std::vector<HostId>& host_of_rank, const std::vector<int>& ranks,
                   const PlannerOptions& options, const KeepsLimits& keeps_limits,
                   const BrokenLimit& text) {
  const workload::Job job = JobOf(*request.job, ranks);
  const WorkerGroups groups = GroupsAmong(*request.groups, ranks);
  GangPlan best, plan;
  std::string broken;
  const auto same_model = HostsForRanks(cluster, request, host_of_rank, ranks);
  GangRequest allowed_hosts = request;
  if (same_model) allowed_hosts.eligible = &*same_model;
  std::vector<RoleHosts> role_hosts;
  if (request.role_hosts != nullptr) role_hosts = RoleHostsAmong(*request.role_hosts, ranks);
  for (const TopologyLevel level : kNearestFirst) {
    const std::vector<std::uint8_t> near =
        HostsNear(*cluster.places, allowed_hosts, host_of_rank, ranks, level);
    PlannerOptions quick = options;
    quick.explain = options.explain && level == TopologyLevel::kFabric &&
                    best.outcome != Outcome::kPlaced && broken.empty();
    plan = PlanGang(cluster, {&job, &groups, &near, request.queue_index, &role_hosts}, quick);
    if (plan.outcome != Outcome::kPlaced) continue;
    std::vector<HostId> hosts = host_of_rank;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      hosts[static_cast<std::size_t>(ranks[i])] = plan.host_of_rank[i];
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
  plan.reasons.push_back({ReasonCode::kInvalid, TopologyLevel::kFabric,
                          static_cast<std::int64_t>(ranks.size()),
                          StrCat(text.before, broken, text.after,
                                 "suspend the job and resume it to have all of it placed again")});
  return plan;
}

}  // namespace

GangPlan GrowGang(const Cluster& cluster, const GangRequest& request,
                  const std::vector<HostId>& host_of_rank, const PlannerOptions& options,
                  const KeepsLimits& keeps_limits) {
  std::vector<HostId> hosts = host_of_rank;
  hosts.resize(static_cast<std::size_t>(request.job->workers));
  std::vector<int> added(hosts.size() - host_of_rank.size());
  std::iota(added.begin(), added.end(), static_cast<int>(host_of_rank.size()));
  const std::string workers = Count(static_cast<std::int64_t>(added.size()), "new worker");
  return PlanRanks(
      cluster, request, hosts, added, options, keeps_limits,
      {StrCat("there is room for the ", workers, ", and no way to add ",
              added.size() == 1 ? "it" : "them", " beside the present ranks keeps every limit: "),
       "; "});
}

GangPlan PlanEvacuation(const Cluster& cluster, const GangRequest& request,
                        const std::vector<HostId>& host_of_rank, const std::vector<int>& leaving,
                        const PlannerOptions& options, const KeepsLimits& keeps_limits) {
  return PlanRanks(cluster, request, host_of_rank, leaving, options, keeps_limits,
                   {"there is room elsewhere, and none that keeps every limit beside the ranks "
                    "that stay: ",
                    "; make the limit Preferred, or "});
}

}  // namespace yardmaster::placement
