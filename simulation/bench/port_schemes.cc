#include "simulation/bench/port_schemes.h"

#include "pkg/repac/packet.h"
#include "pkg/repac/path.h"

namespace yardmaster::bench {

using fabric::Network;
using repac::ForwardingModel;
using repac::PathPlan;
using repac::PlannedFlow;

std::uint16_t RandomPort(Random& random) {
  return static_cast<std::uint16_t>(repac::kFirstSourcePort + random.Below(16383));
}

Ports ByEcmp(const std::vector<PlannedFlow>& flows, const ForwardingModel& forwarding,
             Random& random) {
  Ports out;
  for (const PlannedFlow& flow : flows) {
    out.push_back(repac::PredictPath(forwarding, flow.src, flow.dst, RandomPort(random))->links);
  }
  return out;
}

Ports BySingleBit(const std::vector<PlannedFlow>& flows, const ForwardingModel& forwarding,
                  int tries, Random& random) {
  const Network& network = forwarding.network();
  std::vector<int> load(static_cast<std::size_t>(network.num_links()));
  Ports out;
  for (const PlannedFlow& flow : flows) {
    const fabric::NicPort dst{flow.dst.host, flow.dst.rail, network.plane_of(flow.src)};
    const repac::Group& group = forwarding.group(network.tor(flow.src), false, dst);
    const auto members = static_cast<std::uint64_t>(group.slots.size());
    std::uint16_t port = RandomPort(random);
    if (members > 1) {
      repac::Packet zero;
      const auto index_of_zero = group.hash->Hash(zero) % members;
      std::uint64_t wanted = 0;
      for (std::uint64_t m = 1; m < members; ++m) {
        if (load[group.slots[m].index()] < load[group.slots[wanted].index()]) wanted = m;
      }
      bool found = false;
      for (int attempt = 0; attempt < tries && !found; ++attempt) {
        if (attempt > 0) port = RandomPort(random);
        const auto now = group.hash->Hash(forwarding.PacketOf(flow.src, dst, port)) % members;
        found = now == wanted;
        for (int bit = 0; bit < repac::kSourcePortBits && !found; ++bit) {
          repac::Packet one;
          one.sport = static_cast<std::uint16_t>(1u << bit);
          if ((group.hash->Hash(one) % members ^ index_of_zero) != (now ^ wanted)) continue;
          port = static_cast<std::uint16_t>(port ^ 1u << bit);
          found = true;
        }
      }
    }
    out.push_back(repac::PredictPath(forwarding, flow.src, dst, port)->links);
    if (out.back().size() > 1) ++load[out.back()[1].index()];
  }
  return out;
}

Ports ByPlan(const PathPlan& plan) {
  Ports out;
  for (const PlannedFlow& flow : plan.flows) out.push_back(flow.links);
  return out;
}

}  // namespace yardmaster::bench
