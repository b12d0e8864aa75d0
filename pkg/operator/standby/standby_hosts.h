// Finds the hosts that replacements of a placed job's lost hosts would use now.
//
// Problem: a job has n standbys, and it is not known which of its hosts will be lost next. For each
// place with workers of the job (a segment, or a domain of one), the first host there is assumed
// lost, with all its ranks. placement::ReplaceHosts, which the extender uses for lost ranks,
// determines where they would go. The host to which most of the job's ranks would go is the first
// standby. The next one is that of the remaining ranks. If no ranks remain, or they would find no
// host, it is the one of a second loss while the first standby is in use.
//
// The function does not know which hosts other gangs wait for. If a gang takes such a host, the
// next call, on a newer snapshot, returns another one.
//
// Complexity: O(n * places of the job) replacements of one host. Deterministic. Thread safety: pure
// function.
#pragma once

#include <string>
#include <vector>

#include "pkg/plan/snapshot.h"

namespace yardmaster::op {

struct StandbyHosts {
  std::vector<std::string> hosts;  // at most n; the first is that of most ranks
  // Why there are fewer than n, as text; empty: there are n.
  std::string short_of;
};

// REQUIRES: the job has an assignment. Hosts in `refused` are not used.
StandbyHosts FindStandbyHosts(const plan::Snapshot& snapshot, plan::JobId id,
                              const std::vector<std::string>& refused, int n);

}  // namespace yardmaster::op
