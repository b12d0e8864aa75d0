// The combinatorial core of splitting equal components over segments.
//
// A segment with room for c pieces holds c div n whole components of n pieces; what remains of
// several segments can hold more, each such group of b segments filled one after another like a
// tape, which splits components b - 1 times. (Any placement's graph of components and segments has
// at least segments + components - 1 edges in each connected part, so nothing splits less often.)
// Given the remainders, the question is: which disjoint groups gain `gain` components with the
// fewest splits?
//
// Where a segment may take part in a few components only (a limit of stages), a remainder has a
// limit of those left. In a group that gains one component each member takes part in one; a group
// that gains more is a tape whose inner members take part in two. Nothing else is tried, and
// `proved` is false where something else might do better.
//
// Bin covering, NP-hard; solved by greedy rules against a lower bound, and by branch and bound
// where they disagree, cut after `max_steps`. Deterministic. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <vector>

namespace yardmaster::placement {

struct Splits {
  bool possible = false;
  bool proved = true;  // that it is impossible, or that `splits` are the fewest
  int splits = 0;
  int lower = 0;                         // no fewer are possible
  std::vector<std::vector<int>> groups;  // indices into `remainders`
};

// `remainders` descend and are below n. `limits`, by remainder: components that its segment may
// still take part in, at least one; empty: any number.
Splits MinSplits(const std::vector<int>& remainders, int n, int gain, std::int64_t max_steps,
                 const std::vector<int>& limits = {});

}  // namespace yardmaster::placement
