// Computes the taints that keep other pods off hosts that are promised to gangs or kept as backup.
// kube-scheduler enforces them for pods that it does not show to the extender, and while no
// extender runs.
//
//   yardmaster.dev/promised=<namespace>.<gang>   all GPUs of the host are promised to committed
//                                                gangs; "several" if to more than one gang
//   yardmaster.dev/backup=chosen                 the backup policy of the Fabric reserves the host,
//                                                and no user has marked it as backup
//
// Rules for the taint of a promise:
//   - A host of which only some GPUs are promised has none, because a taint would close its free
//     GPUs, too. The extender's filter keeps that promise.
//   - kube-scheduler does not call filter for pods that request devices by claims alone. So a host
//     with such devices has the taint until every rank there is bound.
//   - A host whose rank another controller placed has none: that controller (such as Kueue's
//     topology-aware scheduling) may read a taint as a failure of the Node and stop the job.
//   - Once every rank there is bound, kube-scheduler itself accounts for the GPUs, and the caller
//     may drop the taint. The caller says by TaintNeed which taints each host needs.
//
// The effect is NoSchedule, so no running pod is evicted. Released pods tolerate both taints
// (api/pin_patch.h). Taints of others are never changed.
//
// Level triggered: one patch corrects a Node and tests the Node's resource version; after a
// conflict the next pass tries again. If the last call found nothing to change, the next compares
// only Nodes that changed and hosts whose taints should change; the result is the same as a full
// comparison.
//
// Thread safety: one thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/plan/snapshot.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

enum class TaintNeed : char {
  kBoth,    // the taint of a promise and that of a backup host
  kOpen,    // both; the promise taint even if only some of the GPUs are promised
  kBackup,  // only the taint of a backup host
  kNone,
};
using TaintNeeds = std::vector<TaintNeed>;  // by HostId

struct TaintChange {
  std::string node;
  nlohmann::json patch;  // RFC 6902
};

struct TaintChanges {
  std::vector<TaintChange> changes;  // by name of the node
  int promised = 0;                  // hosts that should carry the promise taint
};

class HostTaints {
 public:
  using Gangs = std::vector<std::shared_ptr<const api::Gang>>;
  // Returns the patches that correct the Nodes. With `wanted` false they remove all taints of
  // Yardmaster. `needs` by HostId; null: every host needs both. `unread`: gangs that are not in the
  // snapshot; their hosts are treated as promised in full.
  TaintChanges Changes(const plan::Snapshot& snapshot, const state::ClusterState& cluster,
                       bool wanted, const TaintNeeds* needs = nullptr, const Gangs& unread = {});

 private:
  // The taints that a host should have.
  struct DesiredTaint {
    int holder;   // kNoHolder: no promise taint; kSeveral; or an index of DesiredTaints::values
    bool backup;  // the host is kept as backup; the Node may carry a mark of users already
    bool operator==(const DesiredTaint&) const = default;
  };
  struct DesiredTaints {
    std::shared_ptr<const fabric::Places> places;
    std::vector<DesiredTaint> of_host;  // by HostId
    std::vector<std::string> values;    // of the taint: by job, then by gang of `unread`
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
  state::ObjectTable<api::Node> nodes_;  // as they were at the last comparison
  bool all_right_ = false;               // the last comparison found nothing to change
  int promised_ = 0;                     // Nodes that should carry the promise taint
};

}  // namespace yardmaster::extender
