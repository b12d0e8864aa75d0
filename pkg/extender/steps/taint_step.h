// The last step of a pass: the taints of promised and backup hosts (host_taints.h), of at most 200
// Nodes; the rest follows in the next passes.
//
// Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "pkg/extender/effects/effect.h"
#include "pkg/extender/steps/host_taints.h"

namespace yardmaster::extender {

class TaintStep {
 public:
  struct Options {
    bool enabled = true;  // else every taint of ours is removed
    std::size_t threads = 8;
    // 0: a host is tainted as long as it is promised. Else only while a rank that was promised it
    // so long ago is not bound: a gang that starts in time costs no write of a Node.
    std::int64_t unbound_after_ms = 0;
  };

  explicit TaintStep(Options options) : options_(options) {}
  Decision Decide(const PassFacts& facts);

 private:
  TaintNeeds NeedsOf(const PassFacts& facts, const HostTaints::Gangs& unread,
                     std::vector<Effect>& effects) const;
  // Hosts with a rank whose pod is not bound in time need the taint of the promise.
  void AddOpenHosts(const PassFacts& facts, const HostTaints::Gangs& unread,
                    std::vector<Effect>& effects, TaintNeeds& needs) const;

  const Options options_;
  HostTaints taints_;
};

}  // namespace yardmaster::extender
