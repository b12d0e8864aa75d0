// The best levels on given paths, by the evaluator's simulation. Jobs fall into groups that share a
// link; of each group the weak orders of at most K classes are searched, filled from the highest
// class down.
//
// The work of a class does not depend on those below it, so the rest is skipped where even its
// bound (rate_bound.h) does not exceed the best found. That does not hold for flows in the
// background, which run below every class: in groups that have one nothing is skipped until the
// best reaches the group's own bound.
// REQUIRES: groups of at most 63 jobs.
// Complexity: the weak orders of the largest group, most of them skipped. Deterministic: ties go to
// what was tried first. Thread safety: single threaded.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"
#include "pkg/crux/search/group_evaluator.h"
#include "pkg/crux/search/search_state.h"
#include "simulation/policies/rate_bound.h"

namespace yardmaster::crux {

// Remembers each group's best levels while the paths of other groups change.
class LevelSearch {
 public:
  // What is passed must outlive this.
  LevelSearch(const Problem& problem, std::int32_t levels, GroupEvaluator& evaluator,
              RateBound& bound)
      : problem_(problem), levels_(levels), evaluator_(evaluator), bound_(bound) {}

  // Writes the best levels of `jobs` on the state's paths into the state; returns their FLOP/s.
  double Best(std::span<const ContendingJobId> jobs, SearchState& state);

 private:
  struct Entry {
    double rate = 0;
    std::vector<std::int32_t> levels;
  };
  const Problem& problem_;
  const std::int32_t levels_;
  GroupEvaluator& evaluator_;
  RateBound& bound_;
  std::map<std::vector<std::int32_t>, Entry> known_;
};

}  // namespace yardmaster::crux
