// Translates LLDP neighbours into names of the Fabric's ports, and builds the document of the Node
// annotation yardmaster.dev/neighbours (docs/paths.md).
//
// A table maps a chassis to a switch, and port ids to numbers of down ports, which count from 1 in
// the order of the switch's cables:
//
//   switches:
//   - {chassis: leaf-a1, name: p00/p00s00/tor-r0-p0}     # system name or chassis id
//   ports:
//   - {prefix: Ethernet, first: 0, step: 4}              # Ethernet0 is d1, Ethernet4 is d2
//
// The first rule whose prefix is followed only by digits and whose number fits is used. For each
// port the document has LLDP's name of the switch (`chassis`), from which `fabric names` can build
// the Fabric's switchNames, and the other end (`remote`) if the table knows it: the operator treats
// an unknown `remote` as a misplaced plug. An interface with more than one neighbour is omitted.
//
// Thread safety: values and pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/agent/ports/lldp.h"
#include "pkg/agent/ports/local_nic_port.h"

namespace yardmaster::agent {

struct NeighbourNames {
  struct PortRule {
    std::string prefix;
    int first = 1;  // the number in the id of the first down port
    int step = 1;
  };
  std::map<std::string, std::string> switches;  // by chassis
  std::vector<PortRule> ports;

  // For example "p00/p00s00/tor-r0-p0:d2"; nullopt: not known.
  std::optional<std::string> NameOf(const LldpNeighbour& neighbour) const;
};

// Errors: InvalidArgument naming every wrong field; a chassis given twice is one.
absl::StatusOr<NeighbourNames> ParseNeighbourNames(std::string_view yaml, std::string_view file);

// A NIC port and what it is plugged into.
struct PortNeighbour {
  LocalNicPort port;
  LldpNeighbour neighbour;
};

// Returns the ports with exactly one neighbour, in the order of `ports`. A port of an RDMA device
// is identified by the network interface of its first GID, or by the only interface of the device.
std::vector<PortNeighbour> NeighboursOfPorts(const std::string& sysfs_root,
                                             const std::vector<LocalNicPort>& ports,
                                             const std::vector<LldpNeighbour>& neighbours);

struct NeighbourDocument {
  std::string text;  // JSON
  int unknown = 0;   // ports whose neighbour the table does not know; 0 without a table
};

// `node`: the host's name in the Fabric.
NeighbourDocument DocumentOf(const std::string& node, const std::vector<PortNeighbour>& neighbours,
                             const std::optional<NeighbourNames>& names);

}  // namespace yardmaster::agent
