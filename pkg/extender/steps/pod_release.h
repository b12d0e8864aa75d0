// Releases the pods of committed gangs. One patch gives a pod its slot annotation, pins it to its
// slot's host and removes the gate. Pods that were created without the gate get the slot annotation
// and tolerations only.
//
// Not released:
//   - pods of gangs that wait for their network plan (network_wait.h), that are being stopped, are
//     isolated or back off, or whose last write may still take effect;
//   - pods of ranks whose host is unavailable or refused: the rank is moved first;
//   - pods that a gate of another controller holds.
//
// A patch names the uid of the pod that was planned, so a new pod of the same name waits for a pass
// that has seen it. Level triggered: released pods are not patched again.
//
// Order: first the gangs that were released in full before, then the others in the order of their
// commits. For 30 s after a running gang lost a rank, only a quarter of the patches run at a time:
// the replacement needs calls of the operator and kube-scheduler to the same API server.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "pkg/extender/effects/effect.h"
#include "pkg/extender/steps/network_wait.h"

namespace yardmaster::extender {

class PodRelease {
 public:
  struct Options {
    std::size_t threads = 8;
    std::int64_t network_wait_ms = 0;  // network_wait.h
  };

  explicit PodRelease(Options options)
      : options_(options), network_wait_(options.network_wait_ms) {}
  Decision Decide(const PassFacts& facts);

  // Sets the condition Released of gangs whose pods have all been released.
  static std::vector<Work> MarkReleased(const PassFacts& facts);

 private:
  bool SomeGangRecovers(const PassFacts& facts);

  const Options options_;
  NetworkWait network_wait_;
  std::map<NamespacedName, std::int64_t>
      recovering_since_ms_;  // gangs that lack a rank; steady clock
};

}  // namespace yardmaster::extender
