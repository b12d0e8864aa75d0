// Delays the release of a placed gang until its pods carry the network plan of its present place,
// so that a process finds its priority level, traffic class and paths when it starts.
//
// The operator writes the plan on gated pods, with the generation of the gang's plan
// (api/network_generation.h). The same patch opens the gates of a complete gang.
//
//   - All pods of a gang that are still gated wait for each other.
//   - After `limit_ms` without progress the gang is released without its plan, and an event says
//     so.
//   - Progress is: a pod of the gang, gated or released, got its plan. The operator writes gang by
//     gang, so pods of other gangs that get theirs count, too, up to the number of pods that lacked
//     a plan when the gang began to wait. So a gang is not late because others are served first,
//     and a gang whose plan never comes waits for a bounded time.
//   - The limit counts from what this process has seen; a new leader starts it again.
//   - A gang does not wait if there is no Fabric or if all of its workers are on one host, because
//     there is no plan to wait for.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

class NetworkWait {
 public:
  // `limit_ms` 0: no gang waits.
  explicit NetworkWait(std::int64_t limit_ms) : limit_ms_(limit_ms) {}

  // Gated pods that this pass would release, by gang.
  using PodsOfGangs = std::map<NamespacedName, std::vector<gather::PodPtr>>;
  // Returns the gangs that must not be released in this pass. Adds events and wake-ups to
  // `effects`. O(pods).
  std::set<NamespacedName> Held(const PassFacts& facts, const PodsOfGangs& pods,
                                std::vector<Effect>& effects);

 private:
  struct Waiting {
    std::string uid;  // of the Gang
    std::int64_t plan_generation = 0;
    std::int64_t since_ms = 0;  // steady clock: the last progress
    int missing = 0;            // gated pods without their plan
    int planned = 0;            // pods with their plan, gated or released; the maximum seen
    bool late = false;          // the limit passed, and the event was written
    // The value of `written_` at which all pods that lacked a plan when this gang began to wait
    // have one.
    std::int64_t turn = 0;
  };

  // Returns the gangs with gated pods that lack their plan. Adds to `written_` the pods that got
  // one since the last call.
  std::map<NamespacedName, Waiting> TakeStock(const PassFacts& facts, const PodsOfGangs& pods);
  bool IsHeld(const PassFacts& facts, const api::Gang& gang, Waiting& waiting,
              std::vector<Effect>& effects) const;

  const std::int64_t limit_ms_;
  std::map<NamespacedName, Waiting> waiting_;
  std::int64_t written_ = 0;  // pods that this process saw get their plan
};

}  // namespace yardmaster::extender
