// The step of a pass for pods that were released under a plan which no longer holds: a release patch
// that arrived late, or whose answer was lost, after the rank had moved or the gang had given its
// hosts back.
//
// Such a pod is pinned to a host that is not its slot's, and the node affinity of a pod without gates
// cannot change. If it waits, filter refuses it for ever. If it is bound, because kube-scheduler asked
// a replica that did not know the new plan yet, it holds a host that is promised to others or to
// nobody, and its gang is not planned. So the pod is evicted: its controller makes it again behind
// the gate.
//
// Only pods that this software released are evicted (annotation yardmaster.dev/slot), never those
// that nothing would make again, those whose host another controller chose, or those of gangs
// without any plan so far, which adoption_step.h rebuilds. Thread safety: one thread. Lifetimes:
// everything passed in outlives it.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "pkg/extender/ledger.h"
#include "pkg/extender/pass.h"
#include "pkg/kube/client.h"

namespace yardmaster::extender {

// The host that a released pod is on or is pinned to. Nothing: it is not released, or filter alone
// leads it to its slot.
std::optional<std::string> ReleasedTo(const api::Pod& pod);

class StaleReleaseStep {
 public:
  using Notify = std::function<void(const Notice&)>;

  StaleReleaseStep(kube::Client& client, const Ledger& ledger, Notify notify)
      : client_(client), ledger_(ledger), notify_(std::move(notify)) {}
  // After the steps that give hosts back and those that stop gangs.
  void Run(PassState& pass);

 private:
  void RunOne(PassState& pass, const api::Gang& gang, const GatheredGang& gathered);
  void Recall(PassState& pass, const api::Gang& gang, const GangMember& member,
              const std::string& host);

  kube::Client& client_;
  const Ledger& ledger_;
  const Notify notify_;
};

}  // namespace yardmaster::extender
