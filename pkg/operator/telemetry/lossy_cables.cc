#include "pkg/operator/telemetry/lossy_cables.h"

#include <algorithm>
#include <cstdint>
#include <map>

#include "pkg/api/names.h"
#include "pkg/api/nic_annotations.h"
#include "pkg/base/strings.h"
#include "pkg/operator/telemetry/network_faults.h"

namespace yardmaster::op {

LossyCables ReadLossyCables(const state::ObjectTable<api::Node>& nodes,
                            const fabric::Network& network,
                            const std::vector<fabric::CableId>& down) {
  const fabric::FabricSpec& spec = network.spec();
  std::map<fabric::CableId, int> per_million;
  std::vector<std::uint8_t> reported(static_cast<std::size_t>(network.num_cables()), 0);
  for (const auto& node : nodes) {
    const auto text = api::Find(node->metadata.annotations, api::kLossyPortsAnnotation);
    if (!text || text->empty()) continue;
    const fabric::HostId host = network.places().FindHost(node->metadata.name);
    if (!host.valid()) continue;
    for (const api::LossyPort& port :
         api::DecodeLossyPorts(*text, spec.rails, spec.nic_ports).ports) {
      const fabric::CableId cable = network.host_cable({host, port.key.first, port.key.second});
      if (std::binary_search(down.begin(), down.end(), cable)) continue;
      reported[cable.index()] = 1;
      per_million[cable] = port.per_million;
    }
  }
  LossyCables out;
  out.distrusted = DropFabricWideLoss(network, reported);
  if (out.distrusted > 0) return out;
  for (const auto& [cable, share] : per_million) {
    out.cables.push_back(cable);
    out.evidence.push_back(StrCat(network.shown(cable), " (", share, " frames of a million)"));
  }
  return out;
}

}  // namespace yardmaster::op
