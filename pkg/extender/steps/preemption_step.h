// Stops gangs for another gang, as preemption_decider.h decided.
//
// A decision is one write: status.preemption of the waiting gang W names the victims and the hosts
// kept for W. The leader carries it on from the objects alone:
//   1. It writes the condition Preempted and an event for each victim, and evicts their pods by the
//      eviction subresource. So the API server enforces disruption budgets, and the pods get
//      SIGTERM and their grace period to write a checkpoint.
//   2. Once no pod of a victim can run, it removes the victim's assignments in one write. The
//      victim waits in the queue again.
//   3. It plans W onto the hosts kept for it. The commit of W removes the decision.
//
// A decision is given up when
//   - W no longer waits with all its pods, or a victim is isolated;
//   - a disruption budget forbids an eviction;
//   - victims have not ended two minutes after the longest grace period (`max_grace_ms`);
//   - W does not fit although all victims have left.
// Victims that still hold their hosts keep them, and their controllers create evicted pods again.
//
// Invariant: two gangs never preempt for one place. Hosts kept for W are unavailable to every other
// plan, and every other decision treats the victims of W as gone. Which gangs may be victims:
// plan/preemption.h. Gangs with preemptionPolicy Never stop no gang.
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
  std::int64_t max_grace_ms = 600'000;  // longest grace period of a victim (gather/leaving_pods.h)
};
// These run before the snapshot, in this order. Each advances every decision by one step.
std::vector<Work> StopVictims(const PassFacts& facts, const EvictionOptions& options);
std::vector<Work> TakeHostsOfVictims(const PassFacts& facts);
// Sets the condition Preempted to False for gangs that hold hosts and are no longer victims.
std::vector<Work> EndCancelledPreemptions(const PassFacts& facts);

// Ends a decision that is no longer needed or cannot be carried out. Does nothing if `gang` has
// none.
Decision GiveUpPreemption(const PassFacts& facts, const NamespacedName& gang,
                          const std::string& reason, const std::string& message);
// True if all victims of the decision have given their hosts back.
bool IsCleared(const PassFacts& facts, const api::Gang& winner);

}  // namespace yardmaster::extender
