// Writes the results of a network round into the statuses of Fabrics and Gangs, if they differ.
//
//   - A Fabric that has changed since the round began is an error, because another process may
//     lead; the next round reads it again.
//   - Of a Gang only the network part is written. If the extender wrote in between, the Gang is
//     read again and the extender's part is kept.
//   - A failed write is reported; the next round writes again.
//   - A condition of a Fabric that becomes False, or is no longer False, is a notice.
//
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
  // `others`: conditions other than NetworkPlanned.
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
