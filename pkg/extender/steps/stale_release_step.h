// The step of a pass that evicts pods that were released under a plan that no longer holds: a
// release patch arrived late, or its response was lost, after the rank had moved or the gang had
// given its hosts back.
//
// Such a pod is pinned to a host that is not its slot's, and the node affinity of a pod without
// gates cannot change. If it is pending, filter refuses it for ever. If kube-scheduler has bound
// it, by the answer of a replica that did not know the new plan, it holds a host that is promised
// to another gang or to none, and its own gang is not planned. So the step evicts it, and its
// controller creates it again behind the gate.
//
// Evicted are only pods that Yardmaster released (annotation yardmaster.dev/slot). Not evicted:
//   - pods without a controller, which would not be created again;
//   - pods whose host another controller chose;
//   - pods of gangs that have never had a plan, which adoption_step.h rebuilds;
//   - more than `max_bound` bound pods within `window_ms`, so that a wrong edit of a status does
//     not stop all jobs of a cluster.
// Refused evictions, for example by a disruption budget, back off; the next try starts after the
// pod that was refused last.
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

// Returns the host that a released pod is bound or pinned to. nullopt if the pod is not released,
// or if only filter leads it to its slot.
std::optional<std::string> ReleasedTo(const api::Pod& pod);

class StaleReleaseStep {
 public:
  struct Options {
    std::size_t max_bound = 32;  // evictions of bound pods within the window
    std::int64_t window_ms = 600'000;
  };

  explicit StaleReleaseStep(Options options) : options_(options) {}
  // Runs after the steps that give hosts back and those that stop gangs.
  std::vector<Work> Plan(const PassFacts& facts);

 private:
  // The versions of a gang that were checked.
  struct Checked {
    std::shared_ptr<const gather::GatheredGang> pods;
    std::shared_ptr<const api::Gang> gang;
    bool operator==(const Checked&) const = default;
  };

  // A pod that was released for a host that is not its slot's.
  struct Stale {
    gather::PodPtr pod;
    int rank = 0;
    std::string host;
  };

  // Returns the stale pods of a gang, starting after the one whose eviction was refused last.
  std::vector<Stale> StalePods(const Checked& checked) const;
  Decision Decide(const PassFacts& facts, const NamespacedName& key, const Checked& checked);
  Decision Report(const PassFacts& facts, const NamespacedName& key, const api::Gang& gang,
                  const std::vector<Stale>& evicted, const EffectOutcomes& outcomes);
  // Returns how many more bound pods may be evicted now.
  std::size_t BoundLeft(std::int64_t now_ms);

  const Options options_;
  std::map<NamespacedName, Checked> in_place_;  // gangs without stale pods, as they were checked
  std::deque<std::int64_t> evicted_ms_;  // evictions of bound pods within the window; steady clock
  // By gang: uid of the pod whose eviction was refused last.
  std::map<NamespacedName, std::string> refused_;
};

}  // namespace yardmaster::extender
