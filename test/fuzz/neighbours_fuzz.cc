// What hosts report of their neighbours (LLDP) and of the paths of their packets, and what
// operators call their switches: for all bytes, reading ends in a value or an error, and what was
// read is compared with a blueprint without harm.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "pkg/config/observations.h"
#include "pkg/config/switch_names.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/repac/wiring.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

fabric::Network SmallNetwork() {
  const fabric::FabricSpec spec = fabric::SmallHpn(1, 2, 4);
  const auto places = std::make_shared<const fabric::Places>(fabric::PlacesOf(spec));
  return *fabric::Network::Build(spec, places);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fabric::Network network = SmallNetwork();
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (const auto neighbours = config::ReadNeighbours(text, "input"); neighbours.ok()) {
    const repac::WiringReport report = repac::CheckWiring(network, *neighbours);
    for (const fabric::CableId cable : report.cables) {
      if (!cable.valid() || cable.value >= network.num_cables()) std::abort();
    }
    fabric::FabricSpec named = network.spec();
    named.switch_names = config::LearnSwitchNames(network, *neighbours).names;
    for (const auto& [own, shown] : named.switch_names) {
      if (!network.FindSwitch(own).valid() || shown.empty()) std::abort();
    }
    if (!fabric::Problems(named).empty()) std::abort();
  }
  if (const auto names = config::ReadSwitchNames(text, "input"); names.ok()) {
    fabric::FabricSpec spec = network.spec();
    spec.switch_names = *names;
    if (fabric::Problems(spec).empty()) {
      for (const auto& [own, shown] : *names) {
        if (fabric::OwnName(spec, fabric::ShownName(spec, own)) != own) std::abort();
      }
    }
  }
  if (const auto paths = config::ReadObservedPaths(network, text, "input"); paths.ok()) {
    for (const repac::ObservedPath& path : *paths) {
      if (!path.src.host.valid() || !path.dst.host.valid()) std::abort();
    }
  }
  return 0;
}
