// The step of a pass that rebuilds the plans of gangs whose Gang object was deleted under their
// running pods; adoption.h says what is believed. Thread safety: one thread. Lifetimes: everything
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
  void Adopt(PassState& pass, const NameKey& key, const std::vector<std::string>& hosts);

  Ledger& ledger_;
  const Clock& clock_;
  const Notify notify_;
};

}  // namespace yardmaster::extender
