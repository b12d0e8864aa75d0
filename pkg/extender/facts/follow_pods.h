// Gangs whose pods follow (api::GangPods): which of them may get a place although they have no pod,
// and for how long they keep it until the first one comes.
//
// The Gang alone does not say that its pods will come: its TrainingJob does. It must be the one
// that the Gang was made for, want pods now, and want as many as the Gang says; what changes after
// that is written into the Gang by the operator first.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/extender/facts/pass_facts.h"

namespace yardmaster::extender {

// The operator has that long from the commit: for the network plan, a new leader, and the first
// pods. Then the gang gives its hosts back and queues behind the others.
inline constexpr std::int64_t kPodsComeMs = 120'000;

// Without a place. It has no pod at all: the names of those that go are still taken.
bool MayBePlacedFirst(const PassFacts& facts, const api::Gang& gang);
// It has its hosts, and its pods have never been there all together since it got them.
bool PodsAreToCome(const api::Gang& gang);
// Hosts that its job avoids, which its pods are yet to say. Of other gangs none.
std::vector<std::string> AvoidedByJob(const PassFacts& facts, const api::Gang& gang);

}  // namespace yardmaster::extender
