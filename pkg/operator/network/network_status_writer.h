// Writes what a network round found into the statuses of Fabrics and Gangs, and only what differs.
// A Fabric that has changed since the round began is an error: another process may lead, and the
// next round looks again.
//
// Of a Gang the network part alone is written; where the extender wrote in between, the Gang is
// read again and its part kept. What cannot be written is reported, and written by the next round.
// A condition of a Fabric that becomes False, or is no longer False, is a notice.
// Thread safety: one thread. Lifetimes: everything passed in outlives the object.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "pkg/api/condition.h"
#include "pkg/api/fabric.h"
#include "pkg/api/gang.h"
#include "pkg/base/clock.h"
#include "pkg/kube/client.h"
#include "pkg/operator/network/network_round.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::op {

class NetworkStatusWriter {
 public:
  // `on_notice` may be empty.
  NetworkStatusWriter(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
                      std::function<void(const NetworkNotice&)> on_notice)
      : client_(client), cache_(cache), clock_(clock), on_notice_(std::move(on_notice)) {}

  void WriteFabric(const api::Fabric& fabric, const api::FabricStatus& status, RoundReport& report);
  // `others`: conditions besides NetworkPlanned.
  void WriteGang(const api::Gang& gang, const api::NetworkStatus& network,
                 const std::vector<api::Condition>& others, RoundReport& report);

 private:
  void NotifyConditionChanges(const api::Fabric& fabric, const api::FabricStatus& status) const;

  kube::Client& client_;
  state::ClusterCache& cache_;
  const Clock& clock_;
  const std::function<void(const NetworkNotice&)> on_notice_;
};

}  // namespace yardmaster::op
