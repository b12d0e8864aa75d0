// Gangs whose pods follow (api::GangPods): which of them may get a place although they have no pod.
// For how long they keep it until the pods come is gather/pods_to_come.h.
//
// The Gang alone does not say that its pods will come: its TrainingJob does. It must be the one
// that the Gang was made for, want pods now, and want as many as the Gang says; what changes after
// that is written into the Gang by the operator first. Of jobs of other controllers that wait
// suspended (api/suspended_wait.h) it is the operator that says it, by the Gang's spec: it writes
// Follow only while such a job waits, and what it cannot take back in time is bounded here.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/extender/facts/pass_facts.h"

namespace yardmaster::extender {

// Without a place. It has no pod at all: the names of those that go are still taken. Pods of other
// controllers have names of their own, and those that have finished do not count.
bool MayBePlacedFirst(const PassFacts& facts, const api::Gang& gang);
// Hosts that its job avoids, which its pods are yet to say. Of other gangs none.
std::vector<std::string> AvoidedByJob(const PassFacts& facts, const api::Gang& gang);

}  // namespace yardmaster::extender
