// Releases the pods of committed gangs: each is pinned to its slot's host, told its slot and
// ungated in one patch. Pods that came without the gate get slot and tolerations only.
//
// Left alone: pods of gangs that are being stopped or whose plan is in doubt, of ranks whose host is out (they wait for their
// replacement), and everything once the hold under which the pass began has ended. A patch names
// the pod by the uid that was planned, so that a pod made again under its name waits for a pass
// that has seen it. Level triggered: what is released already is not touched. Thread safety: one
// thread calls; it writes on several. Lifetimes: everything passed in outlives it.
#pragma once

#include <cstddef>

#include "pkg/extender/ledger.h"
#include "pkg/extender/pass.h"
#include "pkg/kube/client.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

class PodRelease {
 public:
  PodRelease(kube::Client& client, state::ClusterCache& cache, const Ledger& ledger,
             std::size_t threads)
      : client_(client), cache_(cache), ledger_(ledger), threads_(threads) {}
  void Run(PassState& pass);

 private:
  kube::Client& client_;
  state::ClusterCache& cache_;
  const Ledger& ledger_;
  const std::size_t threads_;
};

}  // namespace yardmaster::extender
