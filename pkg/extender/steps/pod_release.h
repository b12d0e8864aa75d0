// Releases the pods of committed gangs: each gets its slot annotation, is pinned to its slot's host
// and ungated, in one patch. Pods that came without the gate get slot and tolerations only.
//
// Left alone: pods of gangs that wait for their network plan (network_wait.h), that are being
// stopped, are isolated or back off, or whose plan is not known for certain; pods of ranks whose
// host is unavailable or refused (they wait for their replacement); and pods behind a gate of
// others. A patch names the pod by the uid that was planned, so that a pod made again under its
// name waits for a pass that has seen it. Level triggered: what is released already is not touched.
//
// Ranks of gangs that have been released before go first; the others are released gang by gang, in
// the order in which they were committed. While a gang that ran lacks a rank, a quarter as many
// patches are on their way at once: its replacement takes calls of the operator and of
// kube-scheduler to the same API server. A gang that lacks one for longer than 30 s waits for
// something else, and slows nothing down.
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

  // Gangs all of whose pods have been released get the condition Released.
  static std::vector<Work> MarkReleased(const PassFacts& facts);

 private:
  bool SomeGangRecovers(const PassFacts& facts);

  const Options options_;
  NetworkWait network_wait_;
  std::map<NamespacedName, std::int64_t> recovering_since_ms_;  // gangs that lack a rank, steady
};

}  // namespace yardmaster::extender
