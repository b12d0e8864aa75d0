// What path planning costs. The largest case is a whole HPN pod: 1,920 hosts of 8 GPUs, 15,360
// NICs, two planes, 60 uplinks per ToR; every NIC talks to the same rail one segment further on,
// both ways.
#include <benchmark/benchmark.h>

#include "pkg/base/random.h"
#include "pkg/base/testing/ipv4.h"
#include "pkg/repac/path_planner.h"
#include "pkg/repac/port_search.h"
#include "pkg/repac/testing/changed_flows.h"
#include "pkg/repac/testing/networks.h"

namespace yardmaster::repac {
namespace {

constexpr int kHosts = 128;  // per segment

void Rtag7Hash(benchmark::State& state) {
  const HashModel model = *HashModel::Compile(Rtag7(fabric::Rtag7Function::kCrc32cLo, 0x12345678));
  Random random(1);
  std::vector<Packet> packets(1024);
  for (Packet& packet : packets) {
    packet.sip = Ipv4(static_cast<std::uint32_t>(random.Next()));
    packet.dip = Ipv4(static_cast<std::uint32_t>(random.Next()));
    packet.sport = static_cast<std::uint16_t>(random.Next());
  }
  std::size_t i = 0;
  for (auto _ : state) benchmark::DoNotOptimize(model.Hash(packets[i++ % packets.size()]));
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(Rtag7Hash);

void Rtag7Million(benchmark::State& state) {
  const HashModel model = *HashModel::Compile(Rtag7(fabric::Rtag7Function::kCrc32cLo, 0x12345678));
  Packet packet;
  for (auto _ : state) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < 1'000'000; ++i) {
      packet.sip = Ipv4(0x0A000000u + i);
      packet.dip = Ipv4(0x0A000000u + i * 7);
      packet.sport = static_cast<std::uint16_t>(i);
      sum += model.Hash(packet);
    }
    benchmark::DoNotOptimize(sum);
  }
}
BENCHMARK(Rtag7Million)->Unit(benchmark::kMillisecond);

void FindOnePort(benchmark::State& state) {
  const HashModel model = *HashModel::Compile(Rtag7(fabric::Rtag7Function::kCrc32cLo, 1));
  HopTarget hop;
  hop.members = static_cast<int>(state.range(0));
  hop.function = model.OverPorts(Packet());
  int wanted = 0;
  for (auto _ : state) {
    hop.wanted = {wanted++ % hop.members};
    benchmark::DoNotOptimize(FindPort({hop}, {}, 0xC001));
  }
}
BENCHMARK(FindOnePort)->Arg(64)->Arg(60)->Arg(59);

// One segment's worth of GPUs (1,024) per segment; state.range(0) segments.
void PlanWholeJob(benchmark::State& state) {
  const HashedNetwork net(HpnPod(static_cast<int>(state.range(0)), kHosts));
  const std::vector<NicConnection> connections = Rings(*net.network, kHosts, 2);
  PathOptions options;
  options.alternates = state.range(1) != 0;
  int flows = 0;
  for (auto _ : state) {
    const ForwardingModel forwarding = net.Forwarding();
    const PathPlan plan = PlanPaths(connections, forwarding, options);
    flows = static_cast<int>(plan.flows.size());
  }
  state.counters["gpus"] = static_cast<double>(state.range(0)) * kHosts * 8;
  state.counters["flows"] = flows;
}
BENCHMARK(PlanWholeJob)->ArgsProduct({{2, 4, 8, 15}, {0, 1}})->Unit(benchmark::kMillisecond);

void ReplanAfterOneLinkLoss(benchmark::State& state) {
  const HashedNetwork net(HpnPod(static_cast<int>(state.range(0)), kHosts));
  const std::vector<NicConnection> connections = Rings(*net.network, kHosts, 2);
  const PathPlan plan = PlanPaths(connections, net.Forwarding(), {});
  const CableId lost = net.network->up_cable(net.network->tor({fabric::HostId(0), 0, 0}), 17);
  std::size_t changed = 0;
  for (auto _ : state) {
    const ForwardingModel forwarding = net.Forwarding({lost});
    const PathPlan after = Replan(plan, connections, forwarding, {});
    changed = ChangedFlows(plan, after).size();
  }
  state.counters["changed"] = static_cast<double>(changed);
}
BENCHMARK(ReplanAfterOneLinkLoss)->Arg(2)->Arg(15)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace yardmaster::repac
