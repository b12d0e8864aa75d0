// The hosts that a gang may be placed on now: those that it is eligible for, less
//   - hosts that one of its pods avoids (annotation yardmaster.dev/avoid-hosts). A rank whose pod
//     waits behind the gate moves off such a host; what runs there stays;
//   - hosts that kube-scheduler refuses to one of its ranks now (refusals.h).
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/extender/gather/gather.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::extender {

bool Avoids(const api::Pod& pod, const std::string& host);

// `job.eligible` less those hosts, by HostId; null: every host. `gathered` null: no pod avoids any.
std::shared_ptr<const std::vector<std::uint8_t>> EligibleNow(const plan::Snapshot& snapshot,
                                                             const plan::JobState& job,
                                                             const GatheredGang* gathered,
                                                             const api::GangStatus& status);

// Ranks of a placed job whose pod waits behind the gate while the slot's host is out, avoided or
// refused: they have to move.
std::vector<int> RanksToMove(const plan::Snapshot& snapshot, const plan::JobState& job,
                             const GatheredGang& gathered, const api::GangStatus& status);

}  // namespace yardmaster::extender
