// The step of a pass for released pods that kube-scheduler cannot bind: the host of their slot has
// no CPU left, a host port is taken, another scheduler was faster, the host died after the release.
//
// A released pod is pinned, and the node affinity of a pod without gates cannot change. So the pod
// is replaced: the refusal is written to the Gang (status.refusals), then the pod is evicted, its
// controller makes it again behind the gate, and its rank moves as one moves off a lost host.
// Nothing is evicted unless another host fits, because the pod may still be bound where it waits;
// nor a pod without a controller, which nothing would make again; nor while another pod of the gang
// is still leaving the host. The eviction names the pod's version: it fails when the pod was bound
// meanwhile. A Job does not count the pod as failed (effects/effect_writer.h).
//
// Back-off: a rank waits twice as long after every refusal, and a host is not tried again for that
// rank before its refusal ends, nor while there is one that was not tried. Thread safety: one
// thread.
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
  // After the placements of the pass.
  std::vector<Work> Plan(const PassFacts& facts);

 private:
  // When a pod that is unschedulable is looked at next.
  struct Seen {
    std::int64_t next_ms = 0;  // steady
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
