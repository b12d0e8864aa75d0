// Where labels of Nodes contradict the Fabric: they name more fabric pods, segments or hosts than
// its size says, or domains that lie in several segments (each part is a domain), or have more
// hosts than it says or, where it says nothing, another size than most domains. Such Nodes are
// still used; a warning names the label that is probably wrong. And where the Fabric names switches
// that it does not have.
//
// Complexity: O(hosts); UnknownSwitches O(switches * log names). Deterministic. Thread safety: pure
// function.
#pragma once

#include <string>
#include <vector>

#include "pkg/fabric/network.h"
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
// Of the switches that the Fabric names in switchNames and absentSwitches, those that its network
// does not have, each a line, at most 8 and one with the number of the others. A switch below which
// no host has a place is not there either.
std::vector<std::string> UnknownSwitches(const fabric::Network& network);

}  // namespace yardmaster::state
