// Finds the fewest splits when equal components are divided over segments.
//
// Problem: a segment with capacity for c pieces holds c div n whole components of n pieces. The
// remainders of several segments can hold more components: a group of b segments, filled one after
// another like a tape, splits components b - 1 times. (The graph of components and segments of any
// placement has at least segments + components - 1 edges in each connected part, so nothing splits
// less often.) Given the remainders, which disjoint groups gain `gain` components with the fewest
// splits?
//
// With a limit of stages a segment may take part in few components only, and each remainder has a
// limit. In a group that gains one component each member takes part in one. A group that gains more
// is a tape, whose inner members take part in two. Other groups are not tried, and `proved` is
// false if one of them might be better.
//
// Complexity: this is bin covering, NP-hard. Greedy rules are compared with a lower bound; if they
// differ, branch and bound follows, which is cut after `max_steps`. Deterministic. Thread safety:
// pure function.
#pragma once

#include <cstdint>
#include <vector>

namespace yardmaster::placement {

struct Splits {
  bool possible = false;
  bool proved = true;  // it is proved that `splits` is minimal, or that it is impossible
  int splits = 0;
  int lower = 0;                         // lower bound of the splits
  std::vector<std::vector<int>> groups;  // indices into `remainders`
};

// `remainders` descend and are less than n. `limits`: for each remainder, the number of components
// in which its segment may still take part, at least one; empty: any number.
Splits MinSplits(const std::vector<int>& remainders, int n, int gain, std::int64_t max_steps,
                 const std::vector<int>& limits = {});

}  // namespace yardmaster::placement
