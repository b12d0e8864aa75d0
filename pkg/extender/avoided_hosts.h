// Hosts that a gang's pods are not to be placed on (annotation yardmaster.dev/avoid-hosts). They are
// left out of every plan for the gang, and a rank whose pod waits behind the gate moves off one. What
// runs there stays.
//
// Thread safety: pure functions.
#pragma once

#include <memory>
#include <vector>

#include "pkg/api/pod.h"
#include "pkg/extender/gather.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::extender {

bool Avoids(const api::Pod& pod, const std::string& host);

// The hosts that the job may use, by HostId, without those that any of its pods avoids. Null: every
// host.
std::shared_ptr<const std::vector<std::uint8_t>> WithoutAvoided(const plan::Snapshot& snapshot,
                                                                const plan::JobState& job,
                                                                const GatheredGang& gathered);

}  // namespace yardmaster::extender
