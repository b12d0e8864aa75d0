#include "pkg/repac/testing/networks.h"

#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::repac {

using fabric::Rtag7Function;

fabric::HashSpec Rtag7(Rtag7Function function, std::uint32_t seed) {
  fabric::HashSpec spec;
  spec.kind = fabric::HashKind::kRtag7;
  spec.rtag7.function = function;
  spec.seed = seed;
  return spec;
}

void SetHashes(fabric::FabricSpec& spec) {
  const Rtag7Function functions[] = {Rtag7Function::kCrc32cLo, Rtag7Function::kCrc32Hi,
                                     Rtag7Function::kCrc16Ccitt};
  for (std::size_t t = 0; t < spec.tiers.size(); ++t) {
    spec.ecmp_hash[spec.tiers[t].role] =
        Rtag7(functions[t % 3], 0x1000u + static_cast<std::uint32_t>(t));
  }
}

fabric::FabricSpec HpnPod(int segments, int hosts) {
  fabric::FabricSpec spec = fabric::SmallHpn(1, segments, hosts);
  spec.tiers[0].up_ports = 60;
  spec.tiers[1].switches = 60;
  SetHashes(spec);
  return spec;
}

HashedNetwork::HashedNetwork(const fabric::FabricSpec& spec) {
  auto places = std::make_shared<const fabric::Places>(fabric::PlacesOf(spec));
  network = std::make_unique<const fabric::Network>(
      fabric::Network::Build(spec, std::move(places)).value());
  hashes = SwitchHashes::Compile(*network).value();
}

ForwardingModel HashedNetwork::Forwarding(const std::vector<CableId>& down) const {
  return ForwardingModel(*network, hashes, down);
}

std::vector<NicConnection> Rings(const fabric::Network& network, int stride, int paths) {
  std::vector<NicConnection> connections;
  const int hosts = network.places().num_hosts();
  for (int h = 0; h < hosts; ++h) {
    for (int rail = 0; rail < network.spec().rails; ++rail) {
      NicConnection connection;
      connection.from = {fabric::HostId(h), rail};
      connection.to = {fabric::HostId((h + stride) % hosts), rail};
      connection.paths = paths;
      connections.push_back(connection);
    }
  }
  return connections;
}

}  // namespace yardmaster::repac
