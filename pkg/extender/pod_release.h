// Releases the pods of committed gangs: each is pinned to its slot's host, told its slot and
// ungated in one patch. Pods that came without the gate get slot and tolerations only.
//
// Left alone: pods of gangs that are being stopped, and of ranks whose host is out (they wait for
// their replacement). Level triggered: what is released already is not touched. Thread safety: one
// thread calls; it writes on several. Lifetimes: everything passed in outlives it.
#pragma once

#include <cstddef>

#include "pkg/extender/pass.h"
#include "pkg/kube/client.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

class PodRelease {
 public:
  PodRelease(kube::Client& client, state::ClusterCache& cache, std::size_t threads)
      : client_(client), cache_(cache), threads_(threads) {}
  void Run(PassState& pass);

 private:
  kube::Client& client_;
  state::ClusterCache& cache_;
  const std::size_t threads_;
};

}  // namespace yardmaster::extender
