// Finds the TrainingJobs that one of their hosts slows down (hosts/held_back.h), and whether a
// better host is free for the ranks there.
//
// A host slows a job down if it has less than `share` of its bandwidth, or if a worker on it is
// slow (telemetry/slow_workers.h). A better host is a spare or an ordinary host of the same domain,
// else of the same segment, chosen like the replacement of a lost host. It must have at least
// `share` of its bandwidth, and the job must not avoid it. Ordinary hosts are left to gangs that
// wait for a place. If a second host of the job also has less than `share` or is slow, the job
// gains nothing by leaving one, and its ranks stay.
//
// Complexity: for each placed job that of plan::NarrowestOf; for each job that is slowed down, also
// the hosts of a segment and one replacement. Thread safety: pure function.
#pragma once

#include <map>
#include <set>
#include <string>

#include "pkg/operator/hosts/held_back.h"
#include "pkg/operator/network/pods_by_gang.h"
#include "pkg/operator/telemetry/slow_workers.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::op {

struct HeldBackFacts {
  bool gangs_wait = false;
  double share = BandwidthLossLimits().share;
  SlowHosts slow = {};
  // Hosts that a job avoids, by "namespace/name" of the job. Jobs that avoid none may be absent.
  std::map<std::string, std::set<std::string>> avoided_hosts = {};
};

HeldBackByJob HeldBackJobs(const plan::Snapshot& snapshot,
                           const state::ObjectTable<api::Gang>& gangs, const HeldBackFacts& facts);

}  // namespace yardmaster::op
