// Computes the hosts on which a gang may be placed now: its eligible hosts, except
//   - hosts that one of its pods avoids (annotation yardmaster.dev/avoid-hosts). A rank whose pod
//     is still gated moves off such a host; running pods stay;
//   - hosts that kube-scheduler currently refuses to one of its ranks (api/refusals.h).
//
// Among the remaining hosts, those that were never refused to the gang come first. The cause of a
// refusal, for example a volume that only one host reaches, may last as long as the pod.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/gather/gather.h"
#include "pkg/placement/outcome.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::extender {

bool Avoids(const api::Pod& pod, const std::string& host);

// Returns `job.eligible` without those hosts and without `avoided`, by HostId; null: every host.
// `gathered` null: no pod avoids a host.
std::shared_ptr<const std::vector<std::uint8_t>> EligibleNow(const plan::Snapshot& snapshot,
                                                             const plan::JobState& job,
                                                             const gather::GatheredGang* gathered,
                                                             const api::GangStatus& status,
                                                             std::vector<std::string> avoided = {});

// Returns `job.eligible` without the hosts that were refused to one of its ranks earlier. Null if
// that removes none.
std::shared_ptr<const placement::HostSet> UntriedHosts(const plan::Snapshot& snapshot,
                                                       const plan::JobState& job,
                                                       const api::GangStatus& status);
// Plans other hosts for these ranks of a placed job, first among the untried hosts, then among all.
placement::GangPlan ReplaceUntriedFirst(const plan::Snapshot& snapshot, plan::JobId id,
                                        const plan::JobState& job, const api::GangStatus& status,
                                        const std::vector<int>& ranks);

// Returns the ranks of a placed job whose pod is gated and whose slot's host was refused to them
// earlier and may be tried again. They move if an untried host exists for them.
std::vector<int> RanksOnTriedHosts(const plan::Snapshot& snapshot, const plan::JobState& job,
                                   const gather::GatheredGang& gathered,
                                   const api::GangStatus& status);
// Returns the ranks of a placed job whose pod is gated and whose slot's host is unavailable,
// avoided or refused. They have to move.
std::vector<int> RanksToMove(const plan::Snapshot& snapshot, const plan::JobState& job,
                             const gather::GatheredGang& gathered, const api::GangStatus& status);

}  // namespace yardmaster::extender
