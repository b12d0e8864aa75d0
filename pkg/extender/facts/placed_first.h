// Decides which gangs may get a place before they have pods (api::GangPods::kFollow).
// gather/pods_to_come.h has how long they keep it until the pods come.
//
//   - A gang of a TrainingJob: its TrainingJob must be the one that the Gang was made for, must
//     want pods now, and must want as many as the Gang says. The operator writes later changes into
//     the Gang first.
//   - A gang of a suspended job of another controller (api/suspended_wait.h): the Gang's spec says
//     it. The operator writes kFollow only while such a job waits; if it cannot revoke that in
//     time, the limit of gather/pods_to_come.h applies.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/extender/facts/pass_facts.h"

namespace yardmaster::extender {

// True if the gang may get a place now. REQUIRES: it has no place. It must have no pod, because the
// names of terminating pods are still in use. For a suspended job of another controller finished
// pods do not count, because its next pods have other names.
bool MayBePlacedFirst(const PassFacts& facts, const api::Gang& gang);
// Returns the hosts that the TrainingJob of a gang with kFollow avoids now. Its pods, which will
// carry the annotation, may not exist yet. Empty for other gangs.
std::vector<std::string> AvoidedByJob(const PassFacts& facts, const api::Gang& gang);

}  // namespace yardmaster::extender
