// The last step of a pass: writes the taints of promised and backup hosts (host_taints.h), of at most
// 200 Nodes; the rest follows in the next passes.
// Thread safety: one thread calls; it writes on several. Lifetimes: everything passed in outlives
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pkg/extender/steps/host_taints.h"
#include "pkg/extender/steps/pass_step.h"

namespace yardmaster::extender {

class TaintStep : PassStep {
 public:
  struct Options {
    bool enabled = true;  // else every taint of ours is removed
    std::size_t threads = 8;
    // 0: a host is tainted as long as it is promised. Else only while a rank that was promised it so
    // long ago is not bound: a gang that starts in time costs no write of a Node.
    std::int64_t unbound_after_ms = 0;
  };

  TaintStep(const StepTools& tools, Options options) : PassStep(tools), options_(options) {}
  void Run(PassState& pass);

 private:
  // By HostId: whether a promise there needs its taint now.
  std::vector<char> OpenHosts(PassState& pass, const HostTaints::Gangs& unread) const;

  const Options options_;
  HostTaints taints_;
};

}  // namespace yardmaster::extender
