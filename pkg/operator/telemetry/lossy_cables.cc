#include "pkg/operator/telemetry/lossy_cables.h"

#include <algorithm>
#include <map>

#include "pkg/api/names.h"
#include "pkg/api/nic_annotations.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

bool WereDropped(const api::Fabric& fabric) {
  const auto* clean = api::FindCondition(fabric.status.conditions, kLinksCleanCondition);
  return clean != nullptr && clean->status == api::ConditionStatus::kUnknown;
}

// So many ports and no more are believed to lose packets.
int MostBelieved(const fabric::Network& network, bool distrusted) {
  const int most = std::max(7, network.num_host_cables() / 10);
  return distrusted ? most / 2 : most;
}

}  // namespace

LossyCables ReadLossyCables(const api::Fabric& fabric, const state::ObjectTable<api::Node>& nodes,
                            const fabric::Network& network,
                            const std::vector<fabric::CableId>& down) {
  const fabric::FabricSpec& spec = network.spec();
  std::map<fabric::CableId, int> per_million;
  for (const auto& node : nodes) {
    const auto text = api::Find(node->metadata.annotations, api::kLossyPortsAnnotation);
    if (!text || text->empty()) continue;
    const fabric::HostId host = network.places().FindHost(node->metadata.name);
    if (!host.valid()) continue;
    for (const api::LossyPort& port :
         api::DecodeLossyPorts(*text, spec.rails, spec.nic_ports).ports) {
      const fabric::CableId cable = network.host_cable({host, port.key.first, port.key.second});
      if (std::binary_search(down.begin(), down.end(), cable)) continue;
      per_million[cable] = port.per_million;
    }
  }
  LossyCables out;
  const int reported = static_cast<int>(per_million.size());
  if (reported > MostBelieved(network, WereDropped(fabric))) {
    out.distrusted = reported;
    return out;
  }
  for (const auto& [cable, share] : per_million) {
    out.cables.push_back(cable);
    out.evidence.push_back(StrCat(network.shown(cable), " (", share, " frames of a million)"));
  }
  return out;
}

}  // namespace yardmaster::op
