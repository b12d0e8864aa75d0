// Builds fabrics with hashes, and ring connections, for tests and benchmarks only.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "pkg/fabric/network.h"
#include "pkg/repac/forwarding_model.h"
#include "pkg/repac/path_planner.h"

namespace yardmaster::repac {

fabric::HashSpec Rtag7(fabric::Rtag7Function function, std::uint32_t seed);
// Sets RTAG7 with another seed for every tier, and another function for up to three tiers, so that
// tiers do not polarise.
void SetHashes(fabric::FabricSpec& spec);

// HPN 7.0 with 60 Agg per plane: `segments` segments of `hosts` hosts.
fabric::FabricSpec HpnPod(int segments, int hosts);

// A network with the hashes of its spec. Movable; forwarding models point into it.
struct HashedNetwork {
  explicit HashedNetwork(const fabric::FabricSpec& spec);
  ForwardingModel Forwarding(const std::vector<CableId>& down = {}) const;

  std::unique_ptr<const fabric::Network> network;
  std::shared_ptr<const SwitchHashes> hashes;
};

// Returns a ring over all hosts on every rail, with the given stride: host i sends to host i +
// stride.
std::vector<NicConnection> Rings(const fabric::Network& network, int stride, int paths = 1);

}  // namespace yardmaster::repac
