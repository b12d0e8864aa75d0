// A Fabric as it may be written by hand: YAML or JSON to a network with paths on it. A Fabric that
// is accepted reads back to the same, its network can be built or is refused with a field,
// and what can be built predicts paths that begin and end where they should.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "nlohmann/json.hpp"

#include "pkg/api/fabric.h"
#include "pkg/base/random.h"
#include "pkg/config/yaml.h"
#include "pkg/fabric/network.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/repac/path.h"

namespace yardmaster {
namespace {

void Check(bool good) {
  if (!good) std::abort();
}

// Small enough to try thousands in a second.
bool IsSmall(const fabric::FabricSpec& spec) {
  std::int64_t size = 1;
  for (std::int64_t n : {spec.fabric_pods, spec.segments_per_fabric_pod, spec.hosts_per_segment,
                         spec.rails, spec.nic_ports}) {
    size *= n;
    if (size > 4096) return false;
  }
  for (const fabric::Tier& tier : spec.tiers) {
    if (std::int64_t{tier.switches} * std::max(tier.up_ports, 1) > 4096) return false;
  }
  return true;
}

void CheckPaths(const fabric::Network& network) {
  const auto hashes = repac::SwitchHashes::Compile(network);
  if (!hashes.ok()) return;
  Random random(1);
  std::vector<fabric::CableId> down;
  for (int round = 0; round < 2; ++round) {
    const repac::ForwardingModel forwarding(network, *hashes, down);
    for (int i = 0; i < 8; ++i) {
      const auto pick = [&] {
        return fabric::NicPort{
            fabric::HostId(static_cast<int>(
                random.Below(static_cast<std::uint64_t>(network.places().num_hosts())))),
            static_cast<int>(random.Below(static_cast<std::uint64_t>(network.spec().rails))),
            static_cast<int>(random.Below(static_cast<std::uint64_t>(network.spec().nic_ports)))};
      };
      const fabric::NicPort src = pick();
      const fabric::NicPort dst = pick();
      const auto path = repac::PredictPath(
          forwarding, src, dst, static_cast<std::uint16_t>(0xC001 + random.Below(16383)));
      if (!path.ok()) {
        Check(!path.status().message().empty());
        continue;
      }
      Check(path->links.front() == fabric::Network::up(network.host_cable(src)));
      if (!path->predictable) {
        Check(!path->reason.empty());
        continue;
      }
      const fabric::LinkId last = path->links.back();
      Check(fabric::Network::is_down(last) &&
            network.is_host_cable(fabric::Network::cable_of(last)));
      const fabric::NicPort end = network.nic_port_of(fabric::Network::cable_of(last));
      Check(end.host == dst.host && end.rail == dst.rail);
      for (fabric::LinkId link : path->links) {
        Check(!forwarding.is_down(fabric::Network::cable_of(link)));
      }
      if (round == 0 && path->links.size() > 2) {
        down.push_back(fabric::Network::cable_of(path->links[1]));
      }
    }
  }
}

void CheckFabric(std::string_view text) {
  config::YamlLimits limits;
  limits.max_bytes = 1 << 16;
  limits.max_values = 1 << 12;
  const auto object = config::ParseYaml(text, "fabric", limits);
  if (!object.ok()) return;
  const auto fabric = api::DecodeFabric(*object);
  if (!fabric.ok()) {
    Check(!fabric.status().message().empty());
    return;
  }
  const nlohmann::json written = api::EncodeFabric(*fabric);
  const auto again = api::DecodeFabric(written);
  Check(again.ok() && api::EncodeFabric(*again) == written);
  const auto problems = fabric::Problems(fabric->spec);
  Check(problems.empty() == fabric::Validate(fabric->spec).ok());
  if (!problems.empty() || !IsSmall(fabric->spec)) return;
  auto places = std::make_shared<const fabric::Places>(fabric::PlacesOf(fabric->spec));
  const auto network = fabric::Network::Build(fabric->spec, places);
  if (!network.ok()) {
    Check(!network.status().message().empty());
    return;
  }
  CheckPaths(*network);
}

}  // namespace
}  // namespace yardmaster

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  yardmaster::CheckFabric({reinterpret_cast<const char*>(data), size});
  return 0;
}
