#include "pkg/plan/residual_bandwidth.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "pkg/base/strings.h"

namespace yardmaster::plan {

using fabric::HostId;
using fabric::Network;
using fabric::SwitchId;

namespace {

// What differs by less is not narrower.
constexpr double kSame = 1e-9;

bool IsUp(const std::vector<std::uint8_t>& cable_down, fabric::CableId cable) {
  return cable_down.empty() || cable_down[cable.index()] == 0;
}

bool AllUp(const Snapshot& snapshot) {
  return std::all_of(snapshot.cable_down.begin(), snapshot.cable_down.end(),
                     [](std::uint8_t down) { return down == 0; });
}

int UplinksUp(const Snapshot& snapshot, SwitchId tor) {
  const Network& network = *snapshot.network;
  int up = 0;
  for (int port = 0; port < network.num_up_ports(tor); ++port) {
    up += IsUp(snapshot.cable_down, network.up_cable(tor, port)) ? 1 : 0;
  }
  return up;
}

ResidualBandwidth ResidualOfNic(const Snapshot& snapshot, HostId host, int rail) {
  const Network& network = *snapshot.network;
  const int ports = network.spec().nic_ports;
  ResidualBandwidth out{0, rail, 0};
  for (int port = 0; port < ports; ++port) {
    const fabric::NicPort nic{host, rail, port};
    if (!IsUp(snapshot.cable_down, network.host_cable(nic))) {
      ++out.ports_down;
      continue;
    }
    const SwitchId tor = network.tor(nic);
    const int uplinks = network.num_up_ports(tor);
    out.share += uplinks == 0 ? 1.0 : UplinksUp(snapshot, tor) / static_cast<double>(uplinks);
  }
  out.share /= ports;
  return out;
}

}  // namespace

ResidualBandwidth ResidualOf(const Snapshot& snapshot, HostId host) {
  ResidualBandwidth least;
  if (AllUp(snapshot)) return least;
  for (int rail = 0; rail < snapshot.network->spec().rails; ++rail) {
    const ResidualBandwidth nic = ResidualOfNic(snapshot, host, rail);
    if (nic.share < least.share - kSame) least = nic;
  }
  return least;
}

double UplinkGbps(const Network& network, fabric::SegmentId segment,
                  const std::vector<std::uint8_t>& cable_down) {
  const auto hosts = network.places().hosts_of(segment);
  if (hosts.begin() == hosts.end()) return 0;
  std::set<SwitchId> tors;
  for (int rail = 0; rail < network.spec().rails; ++rail) {
    for (int port = 0; port < network.spec().nic_ports; ++port) {
      tors.insert(network.tor({*hosts.begin(), rail, port}));
    }
  }
  double gbps = 0;
  for (const SwitchId tor : tors) {
    for (int up = 0; up < network.num_up_ports(tor); ++up) {
      const fabric::CableId cable = network.up_cable(tor, up);
      if (IsUp(cable_down, cable)) gbps += network.gbps(Network::up(cable));
    }
  }
  return gbps;
}

std::optional<NarrowHost> NarrowestOf(const Snapshot& snapshot,
                                      const std::vector<HostId>& host_of_rank) {
  const bool sprays = snapshot.network != nullptr && snapshot.network->spec().nic_spraying;
  if (!sprays || AllUp(snapshot)) return std::nullopt;
  std::set<HostId> hosts;
  for (const HostId host : host_of_rank) {
    if (host.valid()) hosts.insert(host);
  }
  if (hosts.size() < 2) return std::nullopt;
  std::optional<NarrowHost> narrow;
  for (const HostId host : hosts) {
    const ResidualBandwidth residual = ResidualOf(snapshot, host);
    const double least = narrow ? narrow->residual.share : 1;
    if (residual.share < least - kSame) narrow = NarrowHost{host, residual};
  }
  return narrow;
}

std::string TextOf(const Snapshot& snapshot, const NarrowHost& narrow) {
  const ResidualBandwidth& residual = narrow.residual;
  const std::string nic = StrCat("rail ", residual.rail);
  const std::string cause =
      residual.ports_down == 0
          ? StrCat("uplinks of the ToR switches of ", nic, " are down")
          : StrCat(residual.ports_down, " of ", snapshot.network->spec().nic_ports, " ports of ",
                   nic, residual.ports_down == 1 ? " is down" : " are down");
  return StrCat("host ", snapshot.places->name(narrow.host), " has ",
                std::lround(100 * residual.share), " % of its bandwidth (", cause,
                "), and the gang moves at its pace");
}

}  // namespace yardmaster::plan
