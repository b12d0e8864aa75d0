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

}  // namespace

ResidualBandwidth Residuals::Of(HostId host) {
  ResidualBandwidth least;
  for (int rail = 0; rail < snapshot_.network->spec().rails; ++rail) {
    const ResidualBandwidth nic = OfNic(host, rail);
    if (nic.share < least.share - kSame) least = nic;
  }
  return least;
}

ResidualBandwidth Residuals::OfNic(HostId host, int rail) {
  const Network& network = *snapshot_.network;
  const int ports = network.spec().nic_ports;
  ResidualBandwidth out{0, rail, 0};
  for (int port = 0; port < ports; ++port) {
    const fabric::NicPort nic{host, rail, port};
    if (!IsUp(snapshot_.cable_down, network.host_cable(nic))) {
      ++out.ports_down;
      continue;
    }
    out.share += UplinkShare(network.tor(nic));
  }
  out.share /= ports;
  return out;
}

double Residuals::UplinkShare(SwitchId tor) {
  const auto [known, is_new] = uplink_share_.try_emplace(tor, 1.0);
  const Network& network = *snapshot_.network;
  if (!is_new) return known->second;
  int uplinks = 0;
  int up = 0;
  for (int port = 0; port < network.num_up_ports(tor); ++port) {
    const fabric::CableId cable = network.up_cable(tor, port);
    if (!network.exists(cable)) continue;
    ++uplinks;
    up += IsUp(snapshot_.cable_down, cable) ? 1 : 0;
  }
  if (uplinks > 0) known->second = up / static_cast<double>(uplinks);
  return known->second;
}

ResidualBandwidth ResidualOf(const Snapshot& snapshot, HostId host) {
  return AllUp(snapshot) ? ResidualBandwidth() : Residuals(snapshot).Of(host);
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
  Residuals residuals(snapshot);
  std::optional<NarrowHost> narrow;
  for (const HostId host : hosts) {
    const ResidualBandwidth residual = residuals.Of(host);
    const double least = narrow ? narrow->residual.share : 1;
    if (residual.share < least - kSame) {
      narrow = NarrowHost{host, residual, least};
    } else if (narrow) {
      narrow->next_share = std::min(narrow->next_share, residual.share);
    }
  }
  return narrow;
}

std::string ShareText(const Snapshot& snapshot, const ResidualBandwidth& residual) {
  const std::string nic = StrCat("rail ", residual.rail);
  const std::string cause =
      residual.ports_down == 0
          ? StrCat("uplinks of the ToR switches of ", nic, " are down")
          : StrCat(residual.ports_down, " of ", snapshot.network->spec().nic_ports, " ports of ",
                   nic, residual.ports_down == 1 ? " is down" : " are down");
  return StrCat(std::lround(100 * residual.share), " % of its bandwidth (", cause, ")");
}

std::string TextOf(const Snapshot& snapshot, const NarrowHost& narrow) {
  return StrCat("host ", snapshot.places->name(narrow.host), " has ",
                ShareText(snapshot, narrow.residual), ", and the gang moves at its pace");
}

}  // namespace yardmaster::plan
