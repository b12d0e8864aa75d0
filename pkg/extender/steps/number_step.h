// The step of a pass that numbers pods whose controller does not: those of RayClusters. It writes
// the rank of each pod as its label yardmaster.dev/rank. No later pass changes the label.
//
// The step numbers the pods of a gang once no new one has come for a second. They get the lowest
// ranks that no other pod of the gang has, in the order of api::NumberedBefore. So the pods of a
// new cluster are numbered together, a replacement gets the rank that became free, and a pod by
// which the cluster grows gets the next rank. A pod that is being deleted no longer occupies its
// rank.
//
// Thread safety: one thread. Lifetimes: the gatherer outlives the step.
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

  // Runs before the Gangs of the pass are made. A later pass gathers the pods by their ranks.
  std::vector<Work> Plan(const PassFacts& facts);

 private:
  using Id = std::tuple<std::string, std::string, std::string>;  // namespace, gang, owner's uid
  // The pods of one gang without a rank, and since when this set has not changed.
  struct Unnumbered {
    std::vector<gather::PodPtr> pods;
    std::int64_t since_ms = 0;  // steady clock
  };

  const gather::Gatherer& gatherer_;
  std::map<Id, Unnumbered> waiting_;
};

}  // namespace yardmaster::extender
