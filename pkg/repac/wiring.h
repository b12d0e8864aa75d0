// Cables that are not where the blueprint has them, and the swaps of plugs that explain it.
//
// Ends of cables are named as in paths: a NIC port "p00s00h003:r2p1", a switch's up port
// "p0/s0/tor-r2-p1:u17" (the lower ends), a switch's down port "p0/agg-p1-17:d4" (the upper ends;
// down ports are numbered from 1 in the order of their cables). Neighbours come from LLDP or from
// the agents, seen from either side.
//
// Method: the lower ends' found neighbours are a mapping into upper ends; where the misplaced ones
// form a closed cycle, plugs were permuted, and a cycle of k ends is undone by k - 1 swaps. Open
// chains are faults without a swap. Complexity: O(n log n) in cables and neighbours. Determinism:
// results are in the order of cables, `unknown_ports` and `contradictions` by name. Thread safety:
// pure.
#pragma once

#include <string>
#include <vector>

#include "pkg/fabric/network.h"

namespace yardmaster::repac {

struct Neighbour {
  std::string local;
  std::string remote;        // empty: only the chassis is known
  std::string chassis = {};  // what LLDP calls the switch at the other end; empty: not said
};

struct WiringFault {
  std::string port;      // the lower end
  std::string expected;  // its upper end by the blueprint
  std::string found;     // what it is plugged into
};

// Exchange the plugs at these two lower ends, in the order given.
struct PlugSwap {
  std::string first;
  std::string second;
};

struct WiringReport {
  int checked = 0;  // cables with a report
  std::vector<WiringFault> faults;
  std::vector<PlugSwap> swaps;
  std::vector<std::string> unexplained;     // faulty lower ends that no swap explains
  std::vector<std::string> unknown_ports;   // reported names the blueprint does not have
  std::vector<std::string> contradictions;  // lower ends whose reports differ; the first counts
  // For PathOptions: hosts' NICs with a fault are excluded, other faulty cables avoided.
  std::vector<fabric::NicPort> nic_ports;
  std::vector<fabric::CableId> cables;
};

// The upper end of every cable, by CableId.
std::vector<std::string> UpperEnds(const fabric::Network& network);

// Reports may be missing or repeated, and may have switches as they are shown
// (FabricSpec::switch_names); the answer has their names. A report without `remote` is skipped. One
// whose local port is unknown, and an upper end's report of an unknown remote port, only add to
// `unknown_ports`.
WiringReport CheckWiring(const fabric::Network& network, const std::vector<Neighbour>& neighbours);

}  // namespace yardmaster::repac
