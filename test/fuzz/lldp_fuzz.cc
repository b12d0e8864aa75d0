// What lldpcli prints, and the table of names: for all bytes, reading ends in neighbours within
// their bounds or an error, and what becomes of them is a document that the operator can read.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "pkg/agent/ports/lldp.h"
#include "pkg/agent/ports/neighbour_names.h"
#include "pkg/config/observations.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace yardmaster;  // NOLINT: a program of one function
  const std::string text(reinterpret_cast<const char*>(data), size);
  (void)agent::ParseNeighbourNames(text, "input");
  const auto neighbours = agent::ParseLldpNeighbours(text);
  if (!neighbours.ok()) return 0;
  if (neighbours->size() > agent::kMaxLldpNeighbours) std::abort();
  agent::NeighbourNames names;
  names.ports = {{"Ethernet", 0, 4}, {"", 1, 1}};
  std::vector<agent::LocalNicPort> ports;
  for (const agent::LldpNeighbour& seen : *neighbours) {
    if (seen.interface.empty() || seen.chassis.empty() || seen.port.empty()) std::abort();
    if (seen.chassis.size() > agent::kMaxLldpText || seen.port.size() > agent::kMaxLldpText) {
      std::abort();
    }
    names.switches.emplace(seen.chassis, "p00/p00s00/tor-r0-p0");
    ports.push_back({static_cast<int>(ports.size()), 0, seen.interface, "", 0});
  }
  const auto of_ports = agent::NeighboursOfPorts("/nowhere", ports, *neighbours);
  const agent::NeighbourDocument document = agent::DocumentOf("n1", of_ports, names);
  const auto read = config::ReadNeighbours(document.text, "document");
  if (!read.ok() || read->size() != of_ports.size()) std::abort();
  const auto unnamed = std::count_if(read->begin(), read->end(),
                                     [](const auto& seen) { return seen.remote.empty(); });
  if (unnamed != document.unknown) std::abort();
  return 0;
}
