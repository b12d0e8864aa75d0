// The hosts that replacements of a placed job's lost hosts would use now.
//
// Problem: a job has n standbys, and which of its hosts is lost next is not known. For each place
// in which it has workers (a segment, or a domain of one) the first host there is taken as lost,
// with all ranks on it; placement::ReplaceHosts, which the extender places lost ranks with, says
// where these would go. The host that most of the job's ranks would go to is the first standby. The
// next one is that of the ranks that are left; where none is left, or these would find no host, the
// one of a second loss, when the first standby is in use.
//
// It does not know which hosts other gangs await: what a gang takes in the meantime is another
// snapshot, and the next call says another host.
//
// Complexity: O(n * places of the job) replacements of one host. Deterministic. Thread safety: pure
// function.
#pragma once

#include <string>
#include <vector>

#include "pkg/plan/snapshot.h"

namespace yardmaster::op {

struct StandbyHosts {
  std::vector<std::string> hosts;  // at most n, the first is that of most ranks
  // Why there are fewer, for people; empty: there are not.
  std::string short_of;
};

// REQUIRES: the job has an assignment. Hosts named in `refused` are not used for it.
StandbyHosts FindStandbyHosts(const plan::Snapshot& snapshot, plan::JobId id,
                              const std::vector<std::string>& refused, int n);

}  // namespace yardmaster::op
