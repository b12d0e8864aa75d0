// The hosts that a gang may be placed on now: those that it is eligible for, less
//   - hosts that one of its pods avoids (annotation yardmaster.dev/avoid-hosts). A rank whose pod
//     waits behind the gate moves off such a host; what runs there stays;
//   - hosts that kube-scheduler refuses to one of its ranks now (api/refusals.h).
// Of these, hosts that were never refused to it go first: the cause of a refusal, for example a
// volume that only one host reaches, may hold for as long as the pod lives.
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

// `job.eligible` less those hosts and `avoided`, by HostId; null: every host. `gathered` null: no
// pod avoids any.
std::shared_ptr<const std::vector<std::uint8_t>> EligibleNow(const plan::Snapshot& snapshot,
                                                             const plan::JobState& job,
                                                             const gather::GatheredGang* gathered,
                                                             const api::GangStatus& status,
                                                             std::vector<std::string> avoided = {});

// `job.eligible` less hosts that were refused to one of its ranks before; null: those are no
// others.
std::shared_ptr<const placement::HostSet> UntriedHosts(const plan::Snapshot& snapshot,
                                                       const plan::JobState& job,
                                                       const api::GangStatus& status);
// Other hosts for these ranks of a placed job, untried ones first.
placement::GangPlan ReplaceUntriedFirst(const plan::Snapshot& snapshot, plan::JobId id,
                                        const plan::JobState& job, const api::GangStatus& status,
                                        const std::vector<int>& ranks);

// Ranks of a placed job whose pod waits behind the gate while the slot's host was refused to it
// before and may be tried again: they move if there is an untried host for them.
std::vector<int> RanksOnTriedHosts(const plan::Snapshot& snapshot, const plan::JobState& job,
                                   const gather::GatheredGang& gathered,
                                   const api::GangStatus& status);
// Ranks of a placed job whose pod waits behind the gate while the slot's host is out, avoided or
// refused: they have to move.
std::vector<int> RanksToMove(const plan::Snapshot& snapshot, const plan::JobState& job,
                             const gather::GatheredGang& gathered, const api::GangStatus& status);

}  // namespace yardmaster::extender
