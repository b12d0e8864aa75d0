// Holds the release of a placed gang back until its pods carry the network plan of its present
// places, so that a process finds its level, traffic class and paths when it starts.
//
// The operator writes them on pods behind the gate and says for which plan of the gang they are
// (api/network_generation.h); with the same patch it opens the gates of a gang that is whole. The
// pods that are still behind the gate wait for each other. After `limit_ms` in which no further pod
// of the gang got its plan, released or not, they are released without, and an event says so. As
// the operator writes gang by gang, pods of other gangs count, too: as many as waited when the gang
// began to wait. So no gang is late because others stand before it, and a gang whose plan never
// comes is held for a bounded time. The limit counts from what this process has seen: under a new
// leader it begins again.
//
// No gang waits without a Fabric, or with all of its workers on one host: there is no plan to wait
// for. Thread safety: one thread.
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

  // Pods behind the gate that would be released in this pass, by gang.
  using PodsOfGangs = std::map<NamespacedName, std::vector<gather::PodPtr>>;
  // The gangs that are not to be released. What is said of them comes to `effects`. O(pods).
  std::set<NamespacedName> Held(const PassFacts& facts, const PodsOfGangs& pods,
                                std::vector<Effect>& effects);

 private:
  struct Waiting {
    std::string uid;  // of the Gang
    std::int64_t plan_generation = 0;
    std::int64_t since_ms = 0;  // the last progress
    int missing = 0;            // pods without their plan
    int planned = 0;    // pods with it, released or not; the most that were seen at one time
    bool late = false;  // and that was said
    // What `written_` is when all pods that waited when this gang began to wait have their plan.
    std::int64_t turn = 0;
  };

  // The gangs that wait now, with the pods that lack their plan; counts in `written_` those that
  // got it since the last call.
  std::map<NamespacedName, Waiting> TakeStock(const PassFacts& facts, const PodsOfGangs& pods);
  bool IsHeld(const PassFacts& facts, const api::Gang& gang, Waiting& waiting,
              std::vector<Effect>& effects) const;

  const std::int64_t limit_ms_;
  std::map<NamespacedName, Waiting> waiting_;
  std::int64_t written_ = 0;  // pods of which this process saw that they got their plan
};

}  // namespace yardmaster::extender
