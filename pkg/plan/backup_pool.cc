#include "pkg/plan/backup_pool.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using placement::HostOut;
using placement::HostState;

// GPUs of every host that preemptible gangs hold.
std::vector<int> LentGpus(const Snapshot& snapshot) {
  std::vector<int> lent(snapshot.cluster.hosts.size(), 0);
  for (const JobState& job : snapshot.jobs) {
    if (!job.assignment || !job.job.preemptible) continue;
    for (HostId host : job.assignment->host_of_rank) {
      if (host.valid()) lent[host.index()] += job.job.gpus_per_worker;
    }
  }
  return lent;
}

}  // namespace

int BackupHostsOf(const fabric::BackupPolicy& policy, int hosts, int planned) {
  const double built = std::min(1.0, static_cast<double>(hosts) / std::max(1, planned));
  const auto by_count = static_cast<int>(std::lround(policy.hosts_per_segment * built));
  // A ratio of a twentieth of 20 hosts is one, whatever binary fractions make of it.
  const auto by_ratio = static_cast<int>(std::ceil(policy.ratio * hosts - 1e-9));
  return std::max(0, std::min(hosts - 1, std::max(by_count, by_ratio)));
}

void ApplyBackupPolicy(Snapshot& snapshot) {
  if (!snapshot.network) return;
  const fabric::FabricSpec& spec = snapshot.network->spec();
  const fabric::BackupPolicy& policy = spec.backup;
  if (policy.which != fabric::BackupWhich::kChosen) return;
  const std::vector<int> lent = LentGpus(snapshot);
  auto rank_of = [&](HostId id) {
    const HostState& host = snapshot.cluster.hosts[id.index()];
    const int held = host.gpus - host.free_gpus;
    int rank = 3;
    if (host.backup) {
      rank = 0;
    } else if (host.out != HostOut::kNo) {
      rank = 4;
    } else if (held == 0) {
      rank = 1;
    } else if (policy.lend_to_preemptible && held <= lent[id.index()]) {
      rank = 2;
    }
    return std::tuple(rank, -id.value);
  };
  for (fabric::SegmentId segment : snapshot.places->segments()) {
    std::vector<HostId> hosts;
    for (HostId host : snapshot.places->hosts_of(segment)) hosts.push_back(host);
    const int count = static_cast<int>(hosts.size());
    const int keep = BackupHostsOf(policy, count, spec.hosts_per_segment);
    std::sort(hosts.begin(), hosts.end(),
              [&](HostId a, HostId b) { return rank_of(a) < rank_of(b); });
    for (int i = 0; i < keep; ++i) {
      snapshot.cluster.hosts[hosts[static_cast<std::size_t>(i)].index()].backup = true;
    }
  }
}

}  // namespace yardmaster::plan
