// Finds cables that are not plugged as the blueprint says, and the swaps of plugs that correct
// them.
//
// Names of cable ends are as in paths: a NIC port "p00s00h003:r2p1" or a switch's up port
// "p0/s0/tor-r2-p1:u17" (lower ends); a switch's down port "p0/agg-p1-17:d4" (upper ends; down
// ports are numbered from 1 in the order of their cables). Neighbours come from LLDP or from the
// agents, as seen from either end.
//
// Method: the observed neighbours map lower ends to upper ends. If misplaced ones form a closed
// cycle, plugs were permuted, and k - 1 swaps correct a cycle of k ends. Open chains are faults
// without a swap.
//
// Complexity: O(n log n) in cables and neighbours. Determinism: results are in the order of cables,
// `unknown_ports` and `contradictions` by name. Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "pkg/fabric/network.h"

namespace yardmaster::repac {

struct Neighbour {
  std::string local;
  std::string remote;        // empty: only the chassis was reported
  std::string chassis = {};  // LLDP's name of the switch at the other end; empty: not reported
};

struct WiringFault {
  std::string port;      // the lower end
  std::string expected;  // its upper end in the blueprint
  std::string found;     // the observed upper end
};

// An exchange of the plugs at two lower ends. Swaps are made in the given order.
struct PlugSwap {
  std::string first;
  std::string second;
};

struct WiringReport {
  int checked = 0;  // cables with a report
  std::vector<WiringFault> faults;
  std::vector<PlugSwap> swaps;
  std::vector<std::string> unexplained;     // faulty lower ends that no swap explains
  std::vector<std::string> unknown_ports;   // reported names that the blueprint does not have
  std::vector<std::string> contradictions;  // lower ends whose reports differ; the first is used
  // For PathOptions: NICs of hosts with a fault are excluded, other faulty cables avoided.
  std::vector<fabric::NicPort> nic_ports;
  std::vector<fabric::CableId> cables;
};

// Returns the upper end of every cable, by CableId.
std::vector<std::string> UpperEnds(const fabric::Network& network);

// Reports may be missing or repeated, and may name switches as they are shown
// (FabricSpec::switch_names); the result has the names in paths. A report without `remote` is
// skipped. A report with an unknown local port, and one of an upper end with an unknown remote
// port, only add to `unknown_ports`.
WiringReport CheckWiring(const fabric::Network& network, const std::vector<Neighbour>& neighbours);

}  // namespace yardmaster::repac
