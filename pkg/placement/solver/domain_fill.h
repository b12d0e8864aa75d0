// Assigns pieces of a gang to the domains of one segment.
//
// Each unit of pieces stays in one domain if one takes it: the tightest of those in use, else a new
// one. A unit that fits into no domain fills the widest ones. If no unit has several pieces and all
// pieces are equal, the number of domains is minimal: among equals the tightest, then those with
// healthy hosts, then the lowest ids; pieces ascend with domains.
//
// Complexity: O(pieces * domains of the segment). Deterministic. Thread safety: pure functions.
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

// Returns the fewest of `domains` that take `workers`; one more than their number if they do not.
int FewestDomains(const std::vector<FreeDomain>& domains, int workers);

// Returns a domain for each piece; empty if some piece finds none. `pieces` by their lowest worker,
// `domains` by id.
std::vector<int> FillDomains(const std::vector<FreeDomain>& domains,
                             const std::vector<DomainPiece>& pieces);

}  // namespace yardmaster::placement
