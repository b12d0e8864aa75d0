// The step of a pass that moves released pods that kube-scheduler cannot bind to the host of their
// slot: the host has no CPU left, a host port is in use, another scheduler was faster, or the host
// failed after the release.
//
// A released pod is pinned, and the node affinity of a pod without gates cannot change. So the step
// replaces it:
//   1. It writes the refusal to the Gang (status.refusals).
//   2. It evicts the pod. The eviction names the pod's version, so it fails if the pod was bound
//      meanwhile. A Job does not count the pod as failed (effects/effect_writer.h).
//   3. The controller creates the pod again behind the gate, and the rank moves as off a lost host.
//
// A pod is not evicted
//   - unless another host fits, because the pod may still be bound where it waits;
//   - if it has no controller, because it would not be created again;
//   - while another pod of the gang is still terminating on the host.
//
// Back-off: the step waits 3 s (30 s for a pod that was created without the gate) before it moves a
// pod, and twice as long after each refusal of the rank, up to 5 min. It does not try a host again
// for that rank before its refusal ends, nor while an untried host exists.
//
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

// A released pod that kube-scheduler cannot bind, and the host of its slot.
struct StuckPod {
  gather::PodPtr pod;
  int rank = 0;
  std::string host;
};

class UnschedulableStep {
 public:
  // Runs after the placements of the pass.
  std::vector<Work> Plan(const PassFacts& facts);

 private:
  // When an unschedulable pod is checked next.
  struct Seen {
    std::int64_t next_ms = 0;  // steady clock
    std::int64_t wait_ms = 0;
    std::uint64_t round = 0;
  };

  Decision Decide(const PassFacts& facts, plan::JobId job);
  std::vector<StuckPod> StuckPods(const PassFacts& facts, const api::Gang& gang,
                                  std::vector<Effect>& effects);
  bool IsDue(const PassFacts& facts, const api::Gang& gang, const gather::GangMember& member,
             std::vector<Effect>& effects);

  std::uint64_t round_ = 0;
  std::map<std::string, Seen> seen_;  // by the pod's uid
};

}  // namespace yardmaster::extender
