#include "pkg/plan/testing/snapshots.h"

#include <algorithm>

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/backup_pool.h"

namespace yardmaster::plan {

Snapshot MakeSnapshot(const fabric::FabricSpec& spec) {
  Snapshot snapshot;
  snapshot.places = std::make_shared<const fabric::Places>(fabric::PlacesOf(spec));
  snapshot.network = std::make_shared<const fabric::Network>(
      fabric::Network::Build(spec, snapshot.places).value());
  snapshot.cluster.places = snapshot.places;
  snapshot.cluster.hosts.resize(static_cast<std::size_t>(snapshot.places->num_hosts()));
  for (fabric::SegmentId segment : snapshot.places->segments()) {
    const auto hosts = snapshot.places->hosts_of(segment);
    for (int i = 0; i < spec.backup.hosts_per_segment; ++i) {
      snapshot.cluster.hosts[hosts[hosts.size() - 1 - i].index()].backup = true;
    }
  }
  return snapshot;
}

JobState& AddJob(Snapshot& snapshot, const std::string& name, int hosts) {
  workload::Parallelism p;
  p.tensor = 8;
  p.data = hosts;
  return AddJob(snapshot, name, p, 8);
}

JobState& AddJob(Snapshot& snapshot, const std::string& name,
                 const workload::Parallelism& parallelism, int gpus_per_worker) {
  JobState state;
  state.job.key = {"default", name};
  state.job.parallelism = parallelism;
  state.job.parallelism_given = true;
  state.job.gpus_per_worker = gpus_per_worker;
  state.job.workers = static_cast<int>(parallelism.world() / gpus_per_worker);
  state.groups = std::make_shared<const workload::WorkerGroups>(
      workload::GroupsOf(parallelism, state.job.workers, gpus_per_worker));
  snapshot.jobs.push_back(std::move(state));
  return snapshot.jobs.back();
}

void Place(Snapshot& snapshot, JobId job, const std::vector<fabric::HostId>& host_of_rank) {
  JobState& state = snapshot.jobs[job.index()];
  state.assignment = Assignment{host_of_rank};
  for (fabric::HostId host : host_of_rank) {
    snapshot.cluster.hosts[host.index()].free_gpus -=
        static_cast<std::int16_t>(state.job.gpus_per_worker);
  }
}

const JobPlan& Of(const Plan& plan, JobId job) {
  return *std::find_if(plan.jobs.begin(), plan.jobs.end(),
                       [&](const JobPlan& p) { return p.job == job; });
}

std::vector<fabric::HostId> HostsOfSegment(const Snapshot& snapshot, int segment, int first,
                                           int count) {
  std::vector<fabric::HostId> hosts;
  for (int i = 0; i < count; ++i) {
    hosts.push_back(snapshot.places->hosts_of(fabric::SegmentId(segment))[first + i]);
  }
  return hosts;
}

std::vector<fabric::HostId> Joined(std::vector<fabric::HostId> a,
                                   const std::vector<fabric::HostId>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

std::vector<int> PoolOf(Snapshot snapshot) {
  ApplyBackupPolicy(snapshot);
  std::vector<int> pool;
  for (std::size_t h = 0; h < snapshot.cluster.hosts.size(); ++h) {
    if (snapshot.cluster.hosts[h].backup) pool.push_back(static_cast<int>(h));
  }
  return pool;
}

}  // namespace yardmaster::plan
