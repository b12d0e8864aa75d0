// What the steps of a pass work with. Each step is a class with this base, so that it names only what it
// needs besides.
//
// Lifetimes: everything passed in outlives the steps. Thread safety: that of each step.
#pragma once

#include "pkg/base/clock.h"
#include "pkg/extender/ledger/ledger.h"
#include "pkg/extender/ledger/pass.h"
#include "pkg/kube/client.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

struct StepTools {
  kube::Client& client;
  state::ClusterCache& cache;
  Ledger& ledger;
  const Clock& clock;
  const Notify& notify;
};

class PassStep {
 protected:
  explicit PassStep(const StepTools& tools)
      : client_(tools.client),
        cache_(tools.cache),
        ledger_(tools.ledger),
        clock_(tools.clock),
        notify_(tools.notify) {}

  kube::Client& client_;
  state::ClusterCache& cache_;
  Ledger& ledger_;
  const Clock& clock_;
  const Notify& notify_;
};

}  // namespace yardmaster::extender
