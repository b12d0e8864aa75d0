#include "pkg/placement/role_proof.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>
#include <vector>

#include "pkg/placement/alike_planner.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::placement {

namespace {

using fabric::HostId;
using workload::Job;
using workload::ResourceAmount;
using workload::ResourceList;
using workload::Role;
using workload::WorkerGroup;
using workload::WorkerGroups;

// Ranks from `first` up to `end`.
struct Ranks {
  int first = 0;
  int end = 0;
  int count() const { return end - first; }
};

Ranks RanksOf(const Job& job, std::size_t role) {
  const int end = role + 1 < job.roles.size() ? job.roles[role + 1].first_rank : job.workers;
  return {job.roles[role].first_rank, std::min(end, job.workers)};
}

// The groups between these workers, which are numbered from 0.
std::vector<WorkerGroup> Among(const Ranks& ranks, const std::vector<WorkerGroup>& groups) {
  std::map<std::vector<int>, std::int64_t> counts;
  for (const WorkerGroup& group : groups) {
    std::vector<int> workers;
    for (const int worker : group.workers) {
      if (worker >= ranks.first && worker < ranks.end) workers.push_back(worker - ranks.first);
    }
    if (workers.size() > 1) counts[std::move(workers)] += group.count;
  }
  std::vector<WorkerGroup> out;
  for (auto& [workers, count] : counts) out.push_back({workers, count});
  return out;
}

WorkerGroups Among(const Ranks& ranks, const WorkerGroups& groups) {
  WorkerGroups out;
  out.workers = ranks.count();
  out.tensor = Among(ranks, groups.tensor);
  out.context = Among(ranks, groups.context);
  out.expert = Among(ranks, groups.expert);
  out.data = Among(ranks, groups.data);
  out.stages_of_worker.assign(groups.stages_of_worker.begin() + ranks.first,
                              groups.stages_of_worker.begin() + ranks.end);
  out.workers_of_stage.resize(groups.workers_of_stage.size());
  for (std::size_t stage = 0; stage < groups.workers_of_stage.size(); ++stage) {
    for (const int worker : groups.workers_of_stage[stage]) {
      if (worker < ranks.first || worker >= ranks.end) continue;
      out.workers_of_stage[stage].push_back(worker - ranks.first);
    }
  }
  return out;
}

// A job of alike workers. Pipelines are groups of `job.parallelism`, which these workers do not
// follow, so they have no limit: the problem is only easier without it.
Job AlikeWorkers(const Job& job, int workers, int gpus, ResourceList requests) {
  Job out = job;
  out.workers = workers;
  out.gpus_per_worker = std::max(gpus, 1);
  out.counts_gpus = job.counts_gpus && gpus > 0;
  out.requests = std::move(requests);
  out.roles.clear();
  out.placement.pipeline = {workload::TopologyLevel::kFabric, workload::Enforcement::kPreferred};
  return out;
}

// Every worker asks for the least that any role asks for.
Job SmallestShape(const Job& job) {
  int gpus = job.GpusOf(0);
  ResourceList least;
  for (const ResourceAmount& entry : job.roles[0].requests) {
    std::int64_t amount = entry.amount;
    for (const Role& role : job.roles) {
      amount = std::min(amount, workload::AmountOf(role.requests, entry.name));
    }
    workload::SetAmount(least, entry.name, amount);
  }
  for (const Role& role : job.roles) gpus = std::min(gpus, job.GpusOf(role.first_rank));
  return AlikeWorkers(job, job.workers, gpus, std::move(least));
}

// Whether the workers ask together for more of something than there is.
bool AskForMoreThanThereIs(const Cluster& empty, const GangRequest& request) {
  const Job& job = *request.job;
  // In floating point: amounts go up to 2^60. What is a whole number below 2^53 is exact.
  const std::size_t columns = empty.resources.columns();
  std::vector<double> rest(columns + 1, 0);  // the last: GPUs
  for (HostId host : empty.places->hosts()) {
    const HostState& state = empty.hosts[host.index()];
    if (state.backup || !request.Allows(host)) continue;
    rest[columns] += state.gpus;
    for (std::size_t c = 0; c < columns; ++c) {
      rest[c] += static_cast<double>(empty.resources.free[host.index() * columns + c]);
    }
  }
  for (std::size_t role = 0; role < job.roles.size(); ++role) {
    const Ranks ranks = RanksOf(job, role);
    if (ranks.count() <= 0) continue;
    rest[columns] -= 1.0 * ranks.count() * job.HostGpusOf(ranks.first);
    for (std::size_t c = 0; c < columns; ++c) {
      const std::int64_t each =
          workload::AmountOf(job.roles[role].requests, (*empty.resources.names)[c]);
      rest[c] -= static_cast<double>(ranks.count()) * static_cast<double>(each);
    }
  }
  return std::any_of(rest.begin(), rest.end(), [](double left) { return left < 0; });
}

}  // namespace

bool RolesNeverFit(const Cluster& empty, const GangRequest& request,
                   const PlannerOptions& options) {
  if (AskForMoreThanThereIs(empty, request)) return true;
  PlannerOptions quick = options;
  quick.explain = false;
  const std::vector<RoleHosts> any_hosts = {{0, nullptr}};
  const std::vector<RoleHosts>& hosts =
      request.role_hosts == nullptr ? any_hosts : *request.role_hosts;
  const auto never = [&](const Job& job, const WorkerGroups& groups,
                         const std::vector<RoleHosts>& role_hosts) {
    GangRequest part = request;
    part.job = &job;
    part.groups = &groups;
    part.role_hosts = &role_hosts;
    return PlanAlike(empty, part, quick).outcome == Outcome::kNever;
  };
  const Job& job = *request.job;
  if (never(SmallestShape(job), *request.groups, hosts)) return true;
  for (std::size_t role = 0; role < job.roles.size(); ++role) {
    const Ranks ranks = RanksOf(job, role);
    if (ranks.count() <= 0) continue;
    const Job alone =
        AlikeWorkers(job, ranks.count(), job.GpusOf(ranks.first), job.roles[role].requests);
    std::vector<int> numbers(static_cast<std::size_t>(ranks.count()));
    std::iota(numbers.begin(), numbers.end(), ranks.first);
    if (never(alone, Among(ranks, *request.groups), RoleHostsAmong(hosts, numbers))) return true;
  }
  return false;
}

}  // namespace yardmaster::placement
