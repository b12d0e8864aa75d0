// The step of a pass that numbers pods whose controller does not: those of RayClusters. It writes
// the rank of each as its label yardmaster.dev/rank, which no later pass changes.
//
// Pods get the lowest ranks that no other pod of the gang has, in the order of
// api::NumberedBefore, once none has come for a second: the pods of a new cluster are numbered
// together, a pod that is made again gets the rank that became free, and one by which the cluster
// grows gets the next one. A pod that is being deleted has given its rank up.
//
// Thread safety: one thread. Lifetimes: the gatherer outlives it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "pkg/extender/effects/effect.h"
#include "pkg/gather/gatherer.h"

namespace yardmaster::extender {

class NumberStep {
 public:
  explicit NumberStep(const gather::Gatherer& gatherer) : gatherer_(gatherer) {}

  // Before the Gangs of the pass are made; a later pass gathers the pods by their ranks.
  std::vector<Work> Plan(const PassFacts& facts);

 private:
  using Id = std::tuple<std::string, std::string, std::string>;  // namespace, gang, owner's uid
  // The pods of one gang that have no rank, and since when they have been these.
  struct Unnumbered {
    std::vector<gather::PodPtr> pods;
    std::int64_t since_ms = 0;  // steady
  };

  const gather::Gatherer& gatherer_;
  std::map<Id, Unnumbered> waiting_;
};

}  // namespace yardmaster::extender
