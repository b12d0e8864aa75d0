// The last step of a pass: patches the taints of promised and backup hosts (host_taints.h). A pass
// patches at most 200 Nodes; the following passes patch the rest.
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
    bool enabled = true;  // false: all taints of Yardmaster are removed
    std::size_t threads = 8;
    // 0: a host is tainted while it is promised. Else: a host is tainted only while a rank that was
    // promised it at least this long ago is not bound. Then a gang that starts in time costs no
    // write of a Node.
    std::int64_t unbound_after_ms = 0;
  };

  explicit TaintStep(Options options) : options_(options) {}
  Decision Decide(const PassFacts& facts);

 private:
  TaintNeeds NeedsOf(const PassFacts& facts, const HostTaints::Gangs& unread,
                     std::vector<Effect>& effects) const;
  // Marks the hosts that need the promise taint because a rank there is not bound in time.
  void AddOpenHosts(const PassFacts& facts, const HostTaints::Gangs& unread,
                    std::vector<Effect>& effects, TaintNeeds& needs) const;

  const Options options_;
  HostTaints taints_;
};

}  // namespace yardmaster::extender
