// The step of a pass that takes over plans that exist already (adoption.h has the conditions):
// those of gangs whose Gang object was deleted under their running pods, and those that another
// controller made (Kueue's topology assignment): a gang whose pods all name their host is never
// planned here, it is observed, for priorities and paths, and follows when a new pod names another
// host. Thread safety: one thread. Lifetimes: everything
// passed in outlives it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/extender/ledger.h"
#include "pkg/extender/pass.h"

namespace yardmaster::extender {

class AdoptionStep {
 public:
  using Notify = std::function<void(const Notice&)>;

  AdoptionStep(Ledger& ledger, const Clock& clock, Notify notify)
      : ledger_(ledger), clock_(clock), notify_(std::move(notify)) {}
  // Before the snapshot.
  void Run(PassState& pass);

 private:
  void TakeRunning(PassState& pass, const NamespacedName& key);
  void Observe(PassState& pass, const NamespacedName& key);
  // The source of a gang's hosts.
  enum class Source { kRunningPods, kOtherController };
  void Adopt(PassState& pass, const NamespacedName& key, const std::vector<std::string>& hosts,
             Source source);

  Ledger& ledger_;
  const Clock& clock_;
  const Notify notify_;
};

}  // namespace yardmaster::extender
