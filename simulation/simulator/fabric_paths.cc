#include "simulation/simulator/fabric_paths.h"

#include <algorithm>
#include <set>
#include <utility>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/fabric/walk.h"

namespace yardmaster::sim {
namespace {

using fabric::LinkId;
using fabric::Network;

using Links = std::vector<std::int32_t>;

// The path that takes member pick(hop, size of the group) of each ECMP group; empty where it ends
// nowhere.
template <typename Pick>
Links PathBy(const Network& network, LinkId first, const fabric::NicPort& to, Pick pick) {
  Links path{first.value};
  const bool arrived = fabric::Walk(network, first, [&](fabric::SwitchId at, LinkId) {
    const std::vector<LinkId> group = network.next_hops(at, to);
    if (group.empty()) return LinkId();
    const LinkId link = group[pick(path.size() - 1, group.size())];
    path.push_back(link.value);
    return link;
  });
  return arrived ? path : Links();
}

// All paths, in the order of the groups' members, the last group's fastest.
void AddAll(const Network& network, LinkId first, const fabric::NicPort& to, crux::PathList& out) {
  std::vector<std::size_t> members;  // taken, by hop
  std::vector<std::size_t> sizes;
  do {
    sizes.clear();
    const Links path = PathBy(network, first, to, [&](std::size_t hop, std::size_t size) {
      sizes.push_back(size);
      if (hop == members.size()) members.push_back(0);
      return members[hop];
    });
    if (!path.empty()) out.Add(path);
    while (!members.empty() && members.back() + 1 == sizes[members.size() - 1]) members.pop_back();
    if (!members.empty()) ++members.back();
  } while (!members.empty());
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
    const LinkId first = Network::up(network.host_cable(leaves));
    const int share = std::max(1, limit / ports);
    // Equal paths: the product of the groups' sizes.
    double ways = 1;
    Links drawn = PathBy(network, first, arrives, [&](std::size_t, std::size_t size) {
      ways *= static_cast<double>(size);
      return random.Below(size);
    });
    if (drawn.empty()) continue;
    if (ways <= share) {
      AddAll(network, first, arrives, out);
      continue;
    }
    std::set<Links> paths{std::move(drawn)};
    while (static_cast<int>(paths.size()) < share) {
      paths.insert(PathBy(network, first, arrives,
                          [&](std::size_t, std::size_t size) { return random.Below(size); }));
    }
    for (const Links& path : paths) out.Add(path);
  }
  return out;
}

}  // namespace yardmaster::sim
