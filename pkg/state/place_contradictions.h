// Places that Nodes name and the Fabric has no room for: more fabric pods, segments or hosts than
// its size says. Such Nodes are still used; a warning names the label that is probably wrong.
//
// Complexity: O(hosts). Deterministic. Thread safety: pure function.
#pragma once

#include <string>
#include <vector>

#include "pkg/fabric/places.h"
#include "pkg/fabric/spec.h"

namespace yardmaster::state {

// One line for each, at most 8: the Node, its label, and what to do. Of too many places the lines
// name those with the fewest hosts.
std::vector<std::string> PlaceContradictions(const fabric::Places& places,
                                             const fabric::FabricSpec& spec);

}  // namespace yardmaster::state
