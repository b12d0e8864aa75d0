#include "pkg/operator/network/held_back_jobs.h"

#include <cmath>
#include <optional>
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

// What holds one job back.
class JobHolders {
 public:
  JobHolders(const plan::Snapshot& snapshot, plan::JobId id, const HeldBackFacts& facts,
             std::string key)
      : snapshot_(snapshot),
        id_(id),
        job_(snapshot.jobs[id.index()]),
        facts_(facts),
        key_(std::move(key)),
        narrow_(plan::NarrowestOf(snapshot, job_.assignment->host_of_rank)) {
    if (narrow_ && narrow_->residual.share >= facts_.share) narrow_ = std::nullopt;
    const auto slow = facts_.slow.find(job_.job.key);
    if (slow == facts_.slow.end()) return;
    const std::vector<HostId>& hosts = job_.assignment->host_of_rank;
    const auto rank = static_cast<std::size_t>(slow->second.rank);
    if (rank >= hosts.size() || snapshot_.places->name(hosts[rank]) != slow->second.host) return;
    slow_ = &slow->second;
    slow_host_ = hosts[rank];
  }

  // nullopt: nothing does.
  std::optional<HeldBack> Find() const {
    // Ports that are down are certain, and what people repair first.
    if (narrow_) {
      std::string stays = narrow_->next_share < facts_.share ? "another host of it has lost as much"
                          : slow_ != nullptr && slow_host_ != narrow_->host
                              ? "another host of it is slow"
                              : WhyRanksStay(narrow_->host);
      return HeldBack{snapshot_.places->name(narrow_->host), TextOf(snapshot_, narrow_->residual),
                      std::move(stays)};
    }
    if (slow_ == nullptr) return std::nullopt;
    return HeldBack{slow_->host, slow_->has,
                    slow_->stays.empty() ? WhyRanksStay(slow_host_) : slow_->stays, slow_->rank,
                    slow_->limited};
  }

 private:
  bool BetterHostIsFree(HostId left) const {
    placement::Cluster cluster = snapshot_.cluster;
    plan::Residuals residuals(snapshot_);
    const auto avoided = facts_.avoided_hosts.find(key_);
    for (const HostId host : snapshot_.places->hosts_of(snapshot_.places->segment_of(left))) {
      const bool avoids = avoided != facts_.avoided_hosts.end() &&
                          avoided->second.count(snapshot_.places->name(host)) != 0;
      if (host != left && !avoids && residuals.Of(host).share >= facts_.share) continue;
      cluster.hosts[host.index()].unavailable = placement::Unavailability::kTainted;
    }
    const std::vector<HostId>& hosts = job_.assignment->host_of_rank;
    std::vector<int> leaving;
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      if (hosts[rank] == left) leaving.push_back(static_cast<int>(rank));
    }
    fabric::BackupPolicy policy = snapshot_.network->spec().backup;
    policy.borrow_in_fabric_pod = false;
    policy.borrow_in_segment = policy.borrow_in_segment && !facts_.gangs_wait;
    const placement::GangRequest request = plan::RequestOf(job_, id_);
    return placement::ReplaceHosts(cluster, request, hosts, leaving, policy).outcome ==
           placement::Outcome::kPlaced;
  }

  // Empty: the ranks may leave the host.
  std::string WhyRanksStay(HostId host) const {
    if (!job_.lost_ranks.empty()) return "other ranks have lost their hosts";
    if (BetterHostIsFree(host)) return "";
    return facts_.gangs_wait
               ? "no spare host of its segment is free, and other gangs wait for ordinary ones"
               : "no better host of its segment is free";
  }

  const plan::Snapshot& snapshot_;
  const plan::JobId id_;
  const plan::JobState& job_;
  const HeldBackFacts& facts_;
  const std::string key_;
  std::optional<plan::NarrowHost> narrow_;  // below the share
  const SlowHost* slow_ = nullptr;
  HostId slow_host_;
};

}  // namespace

HeldBackByJob HeldBackJobs(const plan::Snapshot& snapshot,
                           const state::ObjectTable<api::Gang>& gangs, const HeldBackFacts& facts) {
  HeldBackByJob out;
  for (const plan::JobId id : snapshot.job_ids()) {
    const plan::JobState& job = snapshot.jobs[id.index()];
    const auto gang = gangs.Find(job.job.key);
    if (!job.assignment || gang == nullptr) continue;
    const api::OwnerReference& owner = gang->owner;
    if (owner.kind != api::kTrainingJobKind) continue;
    const std::string key = StrCat(job.job.key.namespace_name, "/", owner.name);
    if (auto found = JobHolders(snapshot, id, facts, key).Find()) out[key] = *std::move(found);
  }
  return out;
}

}  // namespace yardmaster::op
