#include "pkg/operator/network/held_back_jobs.h"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"
#include "pkg/base/strings.h"
#include "pkg/placement/replacement.h"
#include "pkg/plan/residual_bandwidth.h"

namespace yardmaster::op {

namespace {

using fabric::HostId;

// "50 % of its bandwidth (4 of 8 ports of rail 3 are down), so that the job communicates 2 times
// as long".
std::string TextOf(const plan::Snapshot& snapshot, const plan::ResidualBandwidth& residual) {
  std::string text = plan::ShareText(snapshot, residual);
  if (residual.share <= 0) return text;
  return StrCat(text, ", so that the job communicates ",
                static_cast<double>(std::lround(10 / residual.share)) / 10, " times as long");
}

bool BetterHostIsFree(const plan::Snapshot& snapshot, plan::JobId id,
                      const plan::NarrowHost& narrow, bool gangs_wait, double share) {
  const plan::JobState& job = snapshot.jobs[id.index()];
  placement::Cluster cluster = snapshot.cluster;
  plan::Residuals residuals(snapshot);
  for (const HostId host : snapshot.places->hosts_of(snapshot.places->segment_of(narrow.host))) {
    if (residuals.Of(host).share >= share) continue;
    cluster.hosts[host.index()].unavailable = placement::Unavailability::kTainted;
  }
  const std::vector<HostId>& hosts = job.assignment->host_of_rank;
  std::vector<int> leaving;
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    if (hosts[rank] == narrow.host) leaving.push_back(static_cast<int>(rank));
  }
  fabric::BackupPolicy policy = snapshot.network->spec().backup;
  policy.borrow_in_fabric_pod = false;
  policy.borrow_in_segment = policy.borrow_in_segment && !gangs_wait;
  const placement::GangRequest request = plan::RequestOf(job, id);
  return placement::ReplaceHosts(cluster, request, hosts, leaving, policy).outcome ==
         placement::Outcome::kPlaced;
}

// Empty: the ranks may leave the host.
std::string WhyRanksStay(const plan::Snapshot& snapshot, plan::JobId id,
                         const plan::NarrowHost& narrow, bool gangs_wait, double share) {
  if (!snapshot.jobs[id.index()].lost_ranks.empty()) return "other ranks have lost their hosts";
  if (narrow.next_share < share) return "another host of it has lost as much";
  if (BetterHostIsFree(snapshot, id, narrow, gangs_wait, share)) return "";
  return gangs_wait ? "no spare host of its segment is free, and other gangs wait for ordinary ones"
                    : "no better host of its segment is free";
}

}  // namespace

HeldBackByJob HeldBackJobs(const plan::Snapshot& snapshot, const GangsByKey& gangs, bool gangs_wait,
                           double share) {
  HeldBackByJob out;
  for (const plan::JobId id : snapshot.job_ids()) {
    const plan::JobState& job = snapshot.jobs[id.index()];
    const auto gang = gangs.find(job.job.key);
    if (!job.assignment || gang == gangs.end()) continue;
    const api::OwnerReference& owner = gang->second->owner;
    if (owner.kind != api::kTrainingJobKind) continue;
    const auto narrow = plan::NarrowestOf(snapshot, job.assignment->host_of_rank);
    if (!narrow || narrow->residual.share >= share) continue;
    out[StrCat(job.job.key.namespace_name, "/", owner.name)] = {
        snapshot.places->name(narrow->host), TextOf(snapshot, narrow->residual),
        WhyRanksStay(snapshot, id, *narrow, gangs_wait, share)};
  }
  return out;
}

}  // namespace yardmaster::op
