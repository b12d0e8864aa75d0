// The step of a pass for pods that were released under a plan which no longer holds: a release
// patch that arrived late, or whose answer was lost, after the rank had moved or the gang had given
// its hosts back.
//
// Such a pod is pinned to a host that is not its slot's, and the node affinity of a pod without
// gates cannot change. If it waits, filter always refuses it. If it is bound, because
// kube-scheduler asked a replica that did not know the new plan yet, it holds a host that is
// promised to another gang or to none, and its gang is not planned. So the pod is evicted: its
// controller makes it again behind the gate.
//
// Only pods that this software released are evicted (annotation yardmaster.dev/slot), never those
// that nothing would make again, those whose host another controller chose, or those of gangs
// without any plan so far, which adoption_step.h rebuilds. Of pods that are on a node no more than
// `max_bound` are evicted within `window_ms`: a status that was edited by mistake does not stop the
// cluster's jobs. Refused evictions, for example those that a disruption budget forbids, back off;
// the next try begins behind the pod that was refused last.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

// The host that a released pod is on or is pinned to. nullopt: it is not released, or filter alone
// leads it to its slot.
std::optional<std::string> ReleasedTo(const api::Pod& pod);

class StaleReleaseStep {
 public:
  struct Options {
    std::size_t max_bound = 32;
    std::int64_t window_ms = 600'000;
  };

  explicit StaleReleaseStep(Options options) : options_(options) {}
  // After the steps that give hosts back and those that stop gangs.
  std::vector<Work> Plan(const PassFacts& facts);

 private:
  // What a gang was looked at as.
  struct Looked {
    std::shared_ptr<const gather::GatheredGang> pods;
    std::shared_ptr<const api::Gang> gang;
    bool operator==(const Looked&) const = default;
  };

  // A pod that is released for another host than its slot's.
  struct Stale {
    gather::PodPtr pod;
    int rank = 0;
    std::string host;
  };

  // Of a gang, beginning with the one whose turn it is.
  std::vector<Stale> StalePods(const Looked& looked) const;
  Decision Decide(const PassFacts& facts, const NamespacedName& key, const Looked& looked);
  Decision Report(const PassFacts& facts, const NamespacedName& key, const api::Gang& gang,
                  const std::vector<Stale>& evicted, const EffectOutcomes& outcomes);
  // How many more pods that are on a node may be evicted now.
  std::size_t BoundLeft(std::int64_t now_ms);

  const Options options_;
  std::map<NamespacedName, Looked> in_place_;  // gangs that need no other look while they are these
  std::deque<std::int64_t> recalled_ms_;       // steady, of pods on nodes, within the window
  // By gang: uid of the pod whose eviction was refused last.
  std::map<NamespacedName, std::string> refused_;
};

}  // namespace yardmaster::extender
