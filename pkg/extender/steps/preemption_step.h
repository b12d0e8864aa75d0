// Gang preemption in the cluster: carries out the decisions to stop gangs for another one, which
// preemption_decider.h takes.
//
// A decision is one write: status.preemption of the gang W that gets room names the victims and the
// hosts kept for W. From then on the present leader carries it on from the objects alone:
//   1. victims get the condition Preempted and an event, and their pods are evicted by the eviction
//      subresource, so that the API server enforces disruption budgets and the pods get SIGTERM and
//      their grace period to write a checkpoint;
//   2. a victim none of whose pods can run any more gives its hosts back: its assignments are
//      removed, in one write, and it waits in the queue again;
//   3. W is planned onto the hosts kept for it; its commit removes the decision.
// A decision is given up when W no longer waits in full, when a victim is isolated, when a budget
// stands in the way, when the API server refuses an eviction, when victims have not ended two
// minutes after the longest grace that an eviction has (gather/leaving_pods.h), or when W does not
// fit although all victims have left. Victims that still hold their hosts then keep them, and pods
// evicted meanwhile are made again there.
//
// Never two preemptors for one place: hosts kept for W are refused to every other plan, and
// its victims are treated as gone in every other decision. A gang stops one of equal priority only
// where that has run for longer than it said (runSeconds, plan/preemption.h). Gangs with
// preemptionPolicy Never stop no gang.
//
// Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

struct EvictionOptions {
  std::size_t threads = 8;
  std::int64_t max_grace_ms = 600'000;  // gather/leaving_pods.h
};
// Before the snapshot, in this order: each moves every decision on the ledger one step on.
std::vector<Work> StopVictims(const PassFacts& facts, const EvictionOptions& options);
std::vector<Work> TakeHostsOfVictims(const PassFacts& facts);
// Gangs that hold their hosts and are no longer a victim lose the condition.
std::vector<Work> EndCancelledPreemptions(const PassFacts& facts);

// A decision that is no longer needed, or that cannot be carried out. Nothing where there is none.
Decision GiveUpPreemption(const PassFacts& facts, const NamespacedName& gang,
                          const std::string& reason, const std::string& message);
// All victims of a decision have left.
bool IsCleared(const PassFacts& facts, const api::Gang& winner);

}  // namespace yardmaster::extender
