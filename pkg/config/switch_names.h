// What the operators of a network call its switches, read from a YAML or JSON file: the Fabric's
// spec.switchNames, or the agents' table for LLDP (chart value agent.lldp), of which `switches`
// counts.
//
//   switchNames: {p00/p00s00/tor-r0-p0: leaf-a1}
//   switches:
//   - {chassis: leaf-a1, name: p00/p00s00/tor-r0-p0}
//
// And made from what agents see (LearnSwitchNames): a ToR is called what most of the ports that the
// Fabric has at it say. Switches above the ToRs are seen by no agent.
//
// Determinism: learned names depend on the reports alone, not on their order. Thread safety: pure
// functions.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/fabric/network.h"
#include "pkg/repac/wiring.h"

namespace yardmaster::config {

// By the Fabric's name of the switch, as fabric::FabricSpec::switch_names.
using SwitchNames = std::map<std::string, std::string>;

// Errors: InvalidArgument of the form "file: switches[0].name: ...", one line per error.
absl::StatusOr<SwitchNames> ReadSwitchNames(std::string_view text, std::string_view file);

struct LearnedNames {
  SwitchNames names;
  std::vector<std::string> problems;  // ToRs that are left out, each a sentence
  int tors = 0;                       // that the Fabric has
};

// Reports of ports that the Fabric does not have, and reports without a chassis, are skipped. A ToR
// is left out where not more than half of its reports agree, where another ToR has the same name,
// and where the Fabric would refuse the name beside those that it has (a ToR's learned name goes
// before the Fabric's). Complexity: O(reports * log ToRs), and O(switchNames * log switchNames) for
// each refusal that follows from another.
LearnedNames LearnSwitchNames(const fabric::Network& network,
                              const std::vector<repac::Neighbour>& reports);

}  // namespace yardmaster::config
