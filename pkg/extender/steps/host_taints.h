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
// promise. Of pods that ask by claims alone no filter is asked: hosts with such devices have the
// taint until every rank there is bound and its claims hold them. The effect is NoSchedule, so
// nothing that runs is ever evicted; released pods tolerate both (api/pin_patch.h).
//
// A TaintNeed says of each host which of them it needs. Where every rank is bound kube-scheduler
// itself sees that the GPUs are taken, and the taint of the promise may go. A host whose rank
// another controller placed there has none: that controller may take a taint of the Node for its
// failure and stop the job, as Kueue's topology-aware scheduling does; there filter alone keeps the
// promise.
//
// Level triggered: what is wrong on a Node is mended by one patch that tests the Node's resource
// version, one that conflicts by the next pass. Taints of others are never touched. Once every Node
// is as it should be, only Nodes that have changed, or that should have other taints, are compared;
// what is found is the same as if all were. Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/plan/snapshot.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

enum class TaintNeed : char {
  kBoth,    // of a promise, and of a backup host
  kOpen,    // both, also where only some of its GPUs are promised
  kBackup,  // that of a backup host
  kNone,
};
using TaintNeeds = std::vector<TaintNeed>;  // by HostId

struct TaintChange {
  std::string node;
  nlohmann::json patch;  // RFC 6902
};

struct TaintChanges {
  std::vector<TaintChange> changes;  // by node
  int promised = 0;                  // hosts that should carry the taint of promised ones
};

class HostTaints {
 public:
  using Gangs = std::vector<std::shared_ptr<const api::Gang>>;
  // With `wanted` false every one of our taints goes. `needs`: null: every host needs both.
  // `unread`: gangs that the snapshot lacks and whose hosts are treated as promised in full.
  TaintChanges Changes(const plan::Snapshot& snapshot, const state::ClusterState& cluster,
                       bool wanted, const TaintNeeds* needs = nullptr, const Gangs& unread = {});

 private:
  // What a host's taints should be.
  struct DesiredTaint {
    int holder;   // kNoHolder: no taint of a promised host; kSeveral; or an index of
                  // DesiredTaints::values
    bool backup;  // it is kept as backup; its Node may say so already
    bool operator==(const DesiredTaint&) const = default;
  };
  struct DesiredTaints {
    std::shared_ptr<const fabric::Places> places;
    std::vector<DesiredTaint> of_host;  // by HostId
    std::vector<std::string> values;  // of the taint, by job, then by gang that the snapshot lacks
  };
  static constexpr int kNoHolder = -1;
  static constexpr int kSeveral = -2;

  static DesiredTaints DesiredTaintsOf(const plan::Snapshot& snapshot, bool wanted,
                                       const TaintNeeds* needs, const Gangs& unread);
  void CompareAll(const state::ObjectTable<api::Node>& nodes, TaintChanges& out);
  bool CompareChanged(const DesiredTaints& before, const state::ObjectTable<api::Node>& nodes,
                      TaintChanges& out);
  void Compare(const api::Node& node, fabric::HostId host, TaintChanges& out) const;
  bool IsTainted(fabric::HostId host) const {
    return desired_.of_host[host.index()].holder != kNoHolder;
  }

  DesiredTaints desired_;
  state::ObjectTable<api::Node> nodes_;  // as they were compared
  bool all_right_ = false;               // none of them had to be changed
  int promised_ = 0;  // Nodes whose hosts should carry the taint of promised ones
};

}  // namespace yardmaster::extender
