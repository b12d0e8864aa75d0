// Which TrainingJobs are held back by one of their hosts (hosts/held_back.h), and whether a better
// host is free for the ranks there.
//
// A job is held back by a host that has less than `share` of its bandwidth, or that is slow
// (telemetry/slow_workers.h). A better host is a spare or an ordinary one of the same domain, or
// else segment, as the replacement of a lost host would find it, that has at least `share` and that
// the job does not avoid. Ordinary hosts are left to gangs that wait for a place. Where a second
// host of the job has less than `share` or is slow, too, it gains nothing by leaving one.
//
// Complexity: for each placed job as plan::NarrowestOf, and for each one that is held back the
// hosts of a segment and one replacement. Thread safety: pure function.
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
  // By "namespace/name" of the job; those without one are left out.
  std::map<std::string, std::set<std::string>> avoided_hosts = {};
};

HeldBackByJob HeldBackJobs(const plan::Snapshot& snapshot, const GangsByKey& gangs,
                           const HeldBackFacts& facts);

}  // namespace yardmaster::op
