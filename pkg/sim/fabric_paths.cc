#include "pkg/sim/fabric_paths.h"

#include <algorithm>
#include <set>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::sim {
namespace {

using fabric::LinkId;
using fabric::Network;

// Depth first through the ECMP groups.
void Follow(const Network& network, fabric::SwitchId at, const fabric::NicPort& to,
            std::vector<std::int32_t>& path, crux::PathList& out) {
  for (const LinkId link : network.next_hops(at, to)) {
    path.push_back(link.value);
    const fabric::SwitchId next = network.far_end(link);
    if (next.valid()) {
      Follow(network, next, to, path, out);
    } else {
      out.Add(path);
    }
    path.pop_back();
  }
}

// One walk as a hash would take it. Returns how many equal ones there are (the product of the group
// sizes), 0 where it ends nowhere.
double Walk(const Network& network, fabric::SwitchId at, const fabric::NicPort& to, Random& random,
            std::vector<std::int32_t>& path) {
  double ways = 1;
  for (fabric::SwitchId next = at; next.valid();) {
    const std::vector<LinkId> group = network.next_hops(next, to);
    if (group.empty()) return 0;
    ways *= static_cast<double>(group.size());
    const LinkId link = group[random.Below(group.size())];
    path.push_back(link.value);
    next = network.far_end(link);
  }
  return ways;
}

}  // namespace

std::vector<crux::Link> LinksOf(const Network& network) {
  std::vector<crux::Link> links;
  links.reserve(static_cast<std::size_t>(network.num_links()));
  for (int l = 0; l < network.num_links(); ++l) {
    // Names are for people; inside a simulation the number does.
    links.push_back({StrCat("l", l), network.gbps(LinkId(l))});
  }
  return links;
}

crux::PathList PathsBetween(const Network& network, const Nic& from, const Nic& to, int limit) {
  crux::PathList out;
  if (from.host == to.host) return out;
  const int ports = network.spec().nic_ports;
  Random random((static_cast<std::uint64_t>(from.host.value) << 32) + to.host.value * 256 +
                from.rail * 16 + to.rail);
  for (int port = 0; port < ports; ++port) {
    const fabric::NicPort leaves{from.host, from.rail, port};
    const fabric::NicPort arrives{to.host, to.rail, port};
    const std::vector<std::int32_t> start{Network::up(network.host_cable(leaves)).value};
    const fabric::SwitchId tor = network.tor(leaves);
    const int share = std::max(1, limit / ports);
    std::vector<std::int32_t> path = start;
    const double ways = Walk(network, tor, arrives, random, path);
    if (ways == 0) continue;
    if (ways <= share) {
      path = start;
      Follow(network, tor, arrives, path, out);
      continue;
    }
    std::set<std::vector<std::int32_t>> walks{path};
    while (static_cast<int>(walks.size()) < share) {
      path = start;
      Walk(network, tor, arrives, random, path);
      walks.insert(path);
    }
    for (const auto& walk : walks) out.Add(walk);
  }
  return out;
}

}  // namespace yardmaster::sim
