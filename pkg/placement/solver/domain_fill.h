// Pieces of a gang into the domains of one segment.
//
// Each unit of pieces stays in one domain where one takes it: the tightest of those that are in use
// already, else a new one. A unit that no domain takes fills the widest ones. Where no unit has
// several pieces and pieces are equal, the domains are the fewest: of equally many the tightest,
// then those with healthy hosts, then the lowest, and pieces ascend with domains. Complexity:
// O(pieces * domains of the segment). Deterministic. Thread safety: pure functions.
#pragma once

#include <vector>

namespace yardmaster::placement {

struct FreeDomain {
  int domain = 0;
  int room = 0;      // workers
  int degraded = 0;  // of them, each by the ports down of its host
};

struct DomainPiece {
  int unit = 0;
  int size = 0;  // workers
};

// The fewest of `domains` that take so many workers; one more than there are where they do not.
int FewestDomains(const std::vector<FreeDomain>& domains, int workers);

// A domain for each piece; empty where one finds none. `pieces` by their lowest worker, `domains`
// by id.
std::vector<int> FillDomains(const std::vector<FreeDomain>& domains,
                             const std::vector<DomainPiece>& pieces);

}  // namespace yardmaster::placement
