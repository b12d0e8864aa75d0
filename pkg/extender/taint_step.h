// The last step of a pass: writes the taints of promised and backup hosts (host_taints.h), of at most
// `changes_per_pass` Nodes.
// Thread safety: one thread calls; it writes on several. Lifetimes: everything passed in outlives
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pkg/extender/host_taints.h"
#include "pkg/extender/ledger.h"
#include "pkg/extender/pass.h"
#include "pkg/kube/client.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::extender {

class TaintStep {
 public:
  struct Options {
    bool enabled = true;                 // else every taint of ours is removed
    std::size_t changes_per_pass = 200;  // the rest follows in the next ones
    std::size_t threads = 8;
    // 0: a host is tainted as long as it is promised. Else only while a rank that was promised it so
    // long ago is not bound: a gang that starts in time costs no write of a Node.
    std::int64_t unbound_after_ms = 0;
  };

  TaintStep(kube::Client& client, state::ClusterCache& cache, const Ledger& ledger, Options options)
      : client_(client), cache_(cache), ledger_(ledger), options_(options) {}
  void Run(PassState& pass);

 private:
  // By HostId: whether a promise there needs its taint now.
  std::vector<char> OpenHosts(PassState& pass, const HostTaints::Gangs& unread) const;

  kube::Client& client_;
  state::ClusterCache& cache_;
  const Ledger& ledger_;
  const Options options_;
  HostTaints taints_;
};

}  // namespace yardmaster::extender
