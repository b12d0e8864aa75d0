// Places that Nodes name and the Fabric has no room for: more fabric pods, segments or hosts than
// its size says; and domains that contradict it or each other: in several segments (each part is a
// domain), of more hosts than it says or, where it says nothing, of another size than most. Such
// Nodes are still used; a warning names the label that is probably wrong.
//
// Complexity: O(hosts). Deterministic. Thread safety: pure function.
#pragma once

#include <string>
#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/fabric/spec.h"

namespace yardmaster::state {

// One line for each place, at most 8, and one for each kind of contradiction between domains, with
// the first of them and their number: the Node, its label, and what to do. Of too many places the
// lines name those with the fewest hosts.
std::vector<std::string> PlaceContradictions(const fabric::Places& places,
                                             const fabric::FabricSpec& spec);
// Those between domains alone.
std::vector<std::string> DomainContradictions(const fabric::Places& places,
                                              const fabric::FabricSpec& spec);

}  // namespace yardmaster::state
