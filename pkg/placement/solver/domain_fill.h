// Assigns the pieces of a gang to the domains of one segment.
//
//   - The pieces of a unit stay in one domain if one has enough capacity: the tightest of the used
//     domains, else of the others. A unit that fits into no domain fills the widest ones.
//   - If every unit is one piece and all pieces are equal, the number of domains is minimal. Among
//     equal choices the tightest domains come first, then those with healthy hosts, then the lowest
//     ids; pieces ascend with domains.
//
// Complexity: O(pieces * domains of the segment). Deterministic. Thread safety: pure functions.
#pragma once

#include <vector>

namespace yardmaster::placement {

struct FreeDomain {
  int domain = 0;
  int room = 0;      // workers
  int degraded = 0;  // of these, each times the ports that are down at its host
};

struct DomainPiece {
  int unit = 0;
  int size = 0;  // workers
};

// Returns the minimum number of `domains` that take `workers`; one more than their number if they
// do not.
int FewestDomains(const std::vector<FreeDomain>& domains, int workers);

// Returns a domain for each piece; empty if a piece does not fit. `pieces`: by their lowest worker.
// `domains`: by id.
std::vector<int> FillDomains(const std::vector<FreeDomain>& domains,
                             const std::vector<DomainPiece>& pieces);

}  // namespace yardmaster::placement
