// The taints of hosts that are promised to gangs or kept as backup, so that pods that no extender
// sees, or that come while none is up, stay off them.
//
//   yardmaster.dev/promised=<namespace>.<gang>   while all GPUs of the host are promised to
//                                                committed gangs; "several" if there are more
//   yardmaster.dev/backup=chosen                 while the Fabric's policy keeps the host and no
//                                                mark of people says so already
//
// Where some GPUs are left (workers smaller than a host) a promised host has no taint: a taint
// knows no GPUs, and would close to ordinary pods what is free; there filter alone keeps the
// promise. The effect is NoSchedule, so nothing that runs is ever evicted; released pods tolerate
// both (pin_patch.h).
//
// `open` says on which hosts a promise needs its taint: those with a rank whose pod is not bound. Where
// every rank is bound kube-scheduler itself sees that the GPUs are taken, and the taint may go.
//
// Level triggered: what is wrong on a Node is mended by one patch that tests the Node's resource
// version, one that conflicts by the next pass. Taints of others are never touched. Thread safety:
// pure function.
#pragma once

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/plan/snapshot.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

struct TaintChange {
  std::string node;
  nlohmann::json patch;  // RFC 6902
};

struct TaintChanges {
  std::vector<TaintChange> changes;  // by node
  int promised = 0;                  // hosts that should carry the taint of promised ones
};

// With `wanted` false every one of our taints goes. `open`: by HostId; null: every promise needs its
// taint.
TaintChanges HostTaintChanges(const plan::Snapshot& snapshot, const state::ClusterState& world,
                              bool wanted, const std::vector<char>* open = nullptr);

}  // namespace yardmaster::extender
