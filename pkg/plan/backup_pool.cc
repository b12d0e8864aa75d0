#include "pkg/plan/backup_pool.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace yardmaster::plan {

namespace {

using fabric::HostId;
using placement::HostState;
using placement::Unavailability;

// GPUs of every host that preemptible gangs hold.
std::vector<int> LentGpus(const Snapshot& snapshot) {
  std::vector<int> lent(snapshot.cluster.hosts.size(), 0);
  for (const JobState& job : snapshot.jobs) {
    if (!job.assignment || !job.job.preemptible) continue;
    int rank = 0;
    for (HostId host : job.assignment->host_of_rank) {
      const int gpus = job.job.HostGpusOf(rank++);
      if (host.valid()) lent[host.index()] += gpus;
    }
  }
  return lent;
}

// In the order in which hosts are kept.
enum class Suitability { kMarked, kIdle, kLent, kBusy, kUnavailable };
constexpr Suitability kBestFirst[] = {Suitability::kMarked, Suitability::kIdle, Suitability::kLent,
                                      Suitability::kBusy, Suitability::kUnavailable};

Suitability SuitabilityOf(const HostState& host, int lent, bool lend_to_preemptible) {
  const int held = host.gpus - host.free_gpus;
  if (host.backup) return Suitability::kMarked;
  if (host.unavailable != Unavailability::kNo) return Suitability::kUnavailable;
  if (held == 0) return Suitability::kIdle;
  return lend_to_preemptible && held <= lent ? Suitability::kLent : Suitability::kBusy;
}

// Marks the best ones as backup until so many hosts are.
void Choose(const fabric::IdRange<HostId>& hosts, int count, const std::vector<int>& lent,
            bool lend_to_preemptible, Snapshot& snapshot) {
  std::vector<Suitability> suitability;
  for (HostId host : hosts) {
    suitability.push_back(SuitabilityOf(snapshot.cluster.hosts[host.index()], lent[host.index()],
                                        lend_to_preemptible));
  }
  int left = count;
  for (const Suitability wanted : kBestFirst) {
    for (int h = hosts.size(); h-- > 0 && left > 0;) {
      if (suitability[static_cast<std::size_t>(h)] != wanted) continue;
      snapshot.cluster.hosts[hosts[h].index()].backup = true;
      --left;
    }
  }
}

}  // namespace

int BackupHostsOf(const fabric::ScaleUp& scale_up, int hosts) {
  const double built = scale_up.hosts_per_domain == 0
                           ? 1.0
                           : std::min(1.0, static_cast<double>(hosts) / scale_up.hosts_per_domain);
  const auto count = static_cast<int>(std::lround(scale_up.backup_hosts_per_domain * built));
  return std::max(0, std::min(hosts - 1, count));
}

int BackupHostsOf(const fabric::BackupPolicy& policy, int hosts, int planned) {
  const double built = std::min(1.0, static_cast<double>(hosts) / std::max(1, planned));
  const auto by_count = static_cast<int>(std::lround(policy.hosts_per_segment * built));
  // A twentieth of 20 hosts is one; the tolerance absorbs the rounding of binary fractions.
  const auto by_ratio = static_cast<int>(std::ceil(policy.ratio * hosts - 1e-9));
  return std::max(0, std::min(hosts - 1, std::max(by_count, by_ratio)));
}

void ApplyBackupPolicy(Snapshot& snapshot) {
  if (!snapshot.network) return;
  const fabric::FabricSpec& spec = snapshot.network->spec();
  const fabric::BackupPolicy& policy = spec.backup;
  if (policy.which != fabric::BackupWhich::kChosen) return;
  const std::vector<int> lent = LentGpus(snapshot);
  for (fabric::SegmentId segment : snapshot.places->segments()) {
    const auto hosts = snapshot.places->hosts_of(segment);
    const int count = BackupHostsOf(policy, hosts.size(), spec.hosts_per_segment);
    if (snapshot.places->has_domains() && spec.scale_up.backup_hosts_per_domain > 0) {
      for (fabric::DomainId domain : snapshot.places->domains_of(segment)) {
        const auto members = snapshot.places->hosts_of(domain);
        Choose(members, BackupHostsOf(spec.scale_up, members.size()), lent,
               policy.lend_to_preemptible, snapshot);
      }
    }
    // What domains keep is marked by now, and counts.
    Choose(hosts, count, lent, policy.lend_to_preemptible, snapshot);
  }
}

}  // namespace yardmaster::plan
