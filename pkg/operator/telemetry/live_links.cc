#include "pkg/operator/telemetry/live_links.h"

#include <utility>

namespace yardmaster::op {

void LiveLinks::Put(const std::string& node, std::vector<api::NicPortKey> down) {
  const MutexLock lock(mutex_);
  const auto [at, fresh] = down_.try_emplace(node);
  if (!fresh && at->second == down) return;
  at->second = std::move(down);
  ++version_;
}

void LiveLinks::Drop(const std::string& node) {
  const MutexLock lock(mutex_);
  if (down_.erase(node) > 0) ++version_;
}

std::map<std::string, std::vector<api::NicPortKey>> LiveLinks::Take() const {
  const MutexLock lock(mutex_);
  return down_;
}

void ApplyLiveLinks(const std::map<std::string, std::vector<api::NicPortKey>>& live,
                    const fabric::Network& network, std::vector<std::uint8_t>& down) {
  if (live.empty()) return;
  down.resize(static_cast<std::size_t>(network.num_cables()), 0);
  const int rails = network.spec().rails;
  const int ports = network.spec().nic_ports;
  for (const auto& [node, down_ports] : live) {
    const fabric::HostId host = network.places().FindHost(node);
    if (!host.valid()) continue;
    for (int rail = 0; rail < rails; ++rail) {
      for (int port = 0; port < ports; ++port) {
        down[network.host_cable({host, rail, port}).index()] = 0;
      }
    }
    for (const auto& [rail, port] : down_ports) {
      if (rail < 0 || rail >= rails || port < 0 || port >= ports) continue;
      down[network.host_cable({host, rail, port}).index()] = 1;
    }
  }
}

}  // namespace yardmaster::op
