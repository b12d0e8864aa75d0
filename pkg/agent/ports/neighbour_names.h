// From neighbours in LLDP's words to the names of the Fabric's ports, and the document of the Node
// annotation yardmaster.dev/neighbours (docs/paths.md).
//
// A table says which switch a chassis is, and by which rule a port id becomes the number of a down
// port, which counts from 1 in the order of the switch's cables:
//
//   switches:
//   - {chassis: leaf-a1, name: p00/p00s00/tor-r0-p0}     # system name or chassis id
//   ports:
//   - {prefix: Ethernet, first: 0, step: 4}              # Ethernet0 is d1, Ethernet4 is d2
//
// The first rule whose prefix is followed by digits alone and whose number fits decides. The
// document says of each port what LLDP calls the switch (`chassis`), so that `fabric names` can
// make the Fabric's switchNames of it, and the other end (`remote`) where the table knows it: the
// operator takes an unknown name at the other end for a misplaced plug. An interface with more than
// one neighbour is left out.
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

  // "p00/p00s00/tor-r0-p0:d2"; nullopt: not known.
  std::optional<std::string> NameOf(const LldpNeighbour& neighbour) const;
};

// Errors: InvalidArgument naming every wrong field; a chassis given twice is one.
absl::StatusOr<NeighbourNames> ParseNeighbourNames(std::string_view yaml, std::string_view file);

// A NIC port and what it is plugged into.
struct PortNeighbour {
  LocalNicPort port;
  LldpNeighbour neighbour;
};

// Of the ports that have exactly one neighbour, in the order of `ports`. A port of an RDMA device
// is known by the network interface of its first GID, or by the device's only one.
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
