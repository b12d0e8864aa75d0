#include "pkg/placement/growth.h"

#include <cstdint>
#include <set>
#include <string>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/placement/gang_planner.h"
#include "pkg/placement/hosts_near.h"

namespace yardmaster::placement {

namespace {

using fabric::HostId;
using workload::TopologyLevel;

// The ranks that are added, as a gang of their own. With one pipeline stage they are data replicas
// whose groups lie among themselves; with more stages the ranks of all groups shift, and only the
// whole assignment can be judged.
workload::Job NewRanks(const workload::Job& grown, int count) {
  workload::Job job = grown;
  job.workers = count;
  const int first = grown.workers - count;
  job.requests = grown.RequestsOf(first);
  job.roles.clear();
  for (int rank = first; rank < grown.workers && !grown.roles.empty(); ++rank) {
    const workload::ResourceList& requests = grown.RequestsOf(rank);
    const int gpus = grown.GpusOf(rank);
    if (job.roles.empty() || job.roles.back().requests != requests ||
        job.roles.back().gpus != gpus) {
      job.roles.push_back({rank - first, requests, gpus});
    }
    workload::RaiseAmounts(job.requests, requests);
  }
  if (job.roles.size() == 1) job.roles.clear();
  workload::Parallelism& p = job.parallelism;
  if (!job.gpus_differ()) job.gpus_per_worker = grown.GpusOf(first);
  const std::int64_t world = job.gpus();
  const std::int64_t replica = std::int64_t{1} * p.tensor * p.context;
  const bool whole_replicas = p.pipeline == 1 && world % replica == 0;
  if (whole_replicas && (world / replica) % p.expert == 0) {
    p.data = static_cast<int>(world / replica);
    return job;
  }
  p = workload::Parallelism{};
  p.data = static_cast<int>(world);
  job.placement = {};
  return job;
}

// The hosts of the places of that level in which the gang has a rank.
std::vector<std::uint8_t> HostsNear(const fabric::Places& places, const GangRequest& request,
                                    const std::vector<HostId>& host_of_rank, TopologyLevel level) {
  std::set<fabric::SegmentId> segments;
  std::set<fabric::FabricPodId> pods;
  for (HostId host : host_of_rank) {
    if (!host.valid()) continue;
    segments.insert(places.segment_of(host));
    pods.insert(places.fabric_pod_of(host));
  }
  return HostsNear(places, request, segments, pods, level);
}

}  // namespace

GangPlan GrowGang(const Cluster& cluster, const GangRequest& request,
                  const std::vector<HostId>& host_of_rank, const PlannerOptions& options,
                  const std::function<absl::Status(const std::vector<HostId>&)>& keeps_limits) {
  const int added = request.job->workers - static_cast<int>(host_of_rank.size());
  const workload::Job job = NewRanks(*request.job, added);
  const workload::WorkerGroups groups = workload::GroupsOf(job);
  GangPlan plan;
  std::string broken;
  for (const TopologyLevel level : kNearestFirst) {
    const std::vector<std::uint8_t> near = HostsNear(*cluster.places, request, host_of_rank, level);
    PlannerOptions quick = options;
    quick.explain = options.explain && level == TopologyLevel::kFabric;
    plan = PlanGang(cluster, {&job, &groups, &near, request.queue_index}, quick);
    if (plan.outcome != Outcome::kPlaced) continue;
    std::vector<HostId> hosts = host_of_rank;
    hosts.insert(hosts.end(), plan.host_of_rank.begin(), plan.host_of_rank.end());
    const absl::Status allowed = keeps_limits(hosts);
    if (allowed.ok()) {
      plan.objective = plan.bound = Evaluate(*cluster.places, *request.groups, hosts);
      plan.optimal = false;
      plan.reasons.clear();
      plan.host_of_rank = std::move(hosts);
      return plan;
    }
    broken = MessageOf(allowed);
  }
  if (plan.outcome == Outcome::kPlaced || !broken.empty()) {
    plan = {};
    plan.outcome = Outcome::kNotNow;
    plan.reasons.push_back(
        {ReasonCode::kInvalid, TopologyLevel::kFabric, added,
         StrCat("there is room for the ", Count(added, "new worker"), ", and no way to add ",
                added == 1 ? "it" : "them", " beside the present ranks keeps every limit: ", broken,
                "; suspend the job and resume it to have it placed anew as a whole")});
  }
  plan.host_of_rank.clear();
  return plan;
}

}  // namespace yardmaster::placement
