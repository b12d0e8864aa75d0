#include "pkg/state/snapshot_builder.h"

#include <algorithm>
#include <set>

#include "pkg/base/strings.h"
#include "pkg/plan/backup_pool.h"

namespace yardmaster::state {

using fabric::HostId;
using placement::Unavailability;

plan::Snapshot SnapshotBuilder::Build(const ClusterState& cluster) {
  const HostChanges changes = hosts_.Update(cluster);
  std::set<NamespacedName> changed = jobs_.Update(cluster, hosts_, changes);
  const bool other_columns = capacity_.Update(hosts_, changes, jobs_.jobs());
  occupation_.Update(cluster.pods, hosts_, changes, capacity_, other_columns, jobs_, changed);
  for (auto& [key, job] : jobs_.jobs()) {
    job.AskForLimits(limits_);
  }
  limits_.Update(hosts_, changes);

  plan::Snapshot snapshot;
  snapshot.places = hosts_.places();
  snapshot.network = hosts_.network();
  snapshot.cable_down = hosts_.cable_down();
  hosts_.AppendWarnings(snapshot.warnings);
  snapshot.lost_segments = hosts_.LostSegments();
  snapshot.lost_domains = hosts_.LostDomains();
  FillHosts(snapshot);
  snapshot.ordinary_pods = occupation_.ordinary_pods(jobs_);
  const bool other_hosts = changes.renumbered || !changes.hosts.empty() ||
                           lost_segments_ != snapshot.lost_segments ||
                           lost_domains_ != snapshot.lost_domains;
  lost_segments_ = snapshot.lost_segments;
  lost_domains_ = snapshot.lost_domains;
  snapshot.jobs.reserve(jobs_.jobs().size());
  for (auto& [key, job] : jobs_.jobs()) {
    if (other_hosts || changed.count(key) != 0) FindLostRanks(job);
    snapshot.jobs.push_back(job.state);
    plan::JobState& state = snapshot.jobs.back();
    job.SetHosts(state);
    const std::string_view missing = capacity_.Missing(state.job.requests);
    if (!missing.empty() && !state.assignment) {
      state.problems.push_back(
          StrCat("its workers ask for ", missing, ", which no host has; leave it out"));
    }
  }
  plan::ApplyBackupPolicy(snapshot);
  snapshot.warnings.insert(snapshot.warnings.end(), cluster.problems.begin(),
                           cluster.problems.end());
  return snapshot;
}

void SnapshotBuilder::FillHosts(plan::Snapshot& snapshot) const {
  snapshot.cluster.places = snapshot.places;
  snapshot.cluster.hosts = hosts_.states();
  snapshot.cluster.gpu_models = hosts_.gpu_models();
  snapshot.cluster.resources = capacity_.WithHeld(occupation_.held_resources());
  for (HostId host : snapshot.places->hosts()) {
    placement::HostState& state = snapshot.cluster.hosts[host.index()];
    const api::Node* node = hosts_.node(host);
    const std::int64_t held =
        occupation_.held(host) +
        (node == nullptr ? 0 : workload::AmountOf(node->claimed, hosts_.gpu_resource()));
    if (held > state.gpus && node != nullptr) {
      snapshot.warnings.push_back(StrCat("Node ", snapshot.places->name(host), ": ",
                                         Count(held, "GPU"), " are held or promised and it has ",
                                         state.gpus));
    }
    state.free_gpus = static_cast<std::int16_t>(std::max<std::int64_t>(0, state.gpus - held));
    if (state.unavailable == Unavailability::kNo && limits_.is_tainted(host))
      state.unavailable = Unavailability::kTainted;
  }
  const auto mark = [&snapshot](fabric::IdRange<HostId> hosts, Unavailability lost) {
    for (HostId host : hosts) {
      Unavailability& why = snapshot.cluster.hosts[host.index()].unavailable;
      if (why != Unavailability::kNotReady) why = lost;
    }
  };
  for (fabric::DomainId domain : snapshot.lost_domains) {
    mark(snapshot.places->hosts_of(domain), Unavailability::kDomainLost);
  }
  for (fabric::SegmentId segment : snapshot.lost_segments) {
    mark(snapshot.places->hosts_of(segment), Unavailability::kSegmentLost);
  }
}

// A rank is lost when its host is gone or NotReady, or throws its pods out, or with its segment or
// its domain.
void SnapshotBuilder::FindLostRanks(KeptJob& job) const {
  job.state.lost_ranks.clear();
  if (!job.state.assignment) return;
  const auto& hosts = job.state.assignment->host_of_rank;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (IsInLostPlace(hosts[rank])) {
      job.state.lost_ranks.push_back(static_cast<int>(rank));
      continue;
    }
    if (!hosts_.may_lose_ranks(hosts[rank])) continue;
    const api::Node* node = hosts_.node(hosts[rank]);
    if (node == nullptr ||
        hosts_.states()[hosts[rank].index()].unavailable == Unavailability::kNotReady ||
        IsEvicted(*node, job.TolerationsOf(static_cast<int>(rank)))) {
      job.state.lost_ranks.push_back(static_cast<int>(rank));
    }
  }
}

bool SnapshotBuilder::IsInLostPlace(HostId host) const {
  if (lost_segments_.empty() && lost_domains_.empty()) return false;
  const fabric::Places& places = *hosts_.places();
  return std::binary_search(lost_segments_.begin(), lost_segments_.end(),
                            places.segment_of(host)) ||
         std::binary_search(lost_domains_.begin(), lost_domains_.end(), places.domain_of(host));
}

plan::Snapshot BuildSnapshot(const ClusterState& cluster) {
  return SnapshotBuilder().Build(cluster);
}

}  // namespace yardmaster::state
