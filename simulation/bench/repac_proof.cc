// What planned source ports are worth, in the flow-level simulator:
//
//   repac_proof [--seeds N] [--detect-ms D] [--retry-ms R] [--reconverge-ms C]
//
// 1. collisions of 8 flows on 60 uplinks;
// 2. completion time of one exchange under random ports (ECMP), single-bit RePaC and planned ports,
//    on two segments of an HPN fabric pod and on fat trees;
// 3. failover: time without progress and what is lost, with precomputed ports, random retries and
//    waiting for routing.
// Everything is a fluid with max-min fair links: no congestion control, no packet loss.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/fabric/testing/fabrics.h"
#include "pkg/repac/path.h"
#include "pkg/repac/path_planner.h"
#include "pkg/repac/testing/networks.h"
#include "simulation/bench/failover.h"
#include "simulation/bench/port_schemes.h"
#include "simulation/bench/transfer.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file
using fabric::CableId;
using fabric::HostId;
using fabric::LinkId;
using fabric::Network;
using repac::ForwardingModel;
using repac::HashedNetwork;
using repac::NicConnection;
using repac::PathPlan;
using repac::PlannedFlow;

constexpr double kBytes = 1e9;

struct Spread {
  std::vector<double> values;
  void Add(double x) { values.push_back(x); }
  double Mean() const {
    double sum = 0;
    for (double x : values) sum += x;
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
  }
  double Deviation() const {
    double squares = 0;
    for (double x : values) squares += (x - Mean()) * (x - Mean());
    return values.size() < 2 ? 0 : std::sqrt(squares / static_cast<double>(values.size() - 1));
  }
  double Max() const {
    return values.empty() ? 0 : *std::max_element(values.begin(), values.end());
  }
};

// ---- 1. collisions -------------------------------------------------------------------------

void Collisions() {
  double free = 1;
  for (int i = 0; i < 8; ++i) free *= (60.0 - i) / 60;
  const HashedNetwork net(repac::HpnPod(2, 8));
  const ForwardingModel forwarding = net.Forwarding();
  Random random(1);
  constexpr int kTrials = 100'000;
  int collided = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    std::set<LinkId> taken;
    for (int h = 0; h < 8; ++h) {
      const fabric::NicPort src{HostId(h), 0, 0};
      const fabric::NicPort dst{HostId(8 + h), 0, 0};
      taken.insert(repac::PredictPath(forwarding, src, dst, bench::RandomPort(random))->links[1]);
    }
    collided += taken.size() < 8 ? 1 : 0;
  }
  constexpr int kPlans = 1'000;
  int planned = 0;
  for (int trial = 0; trial < kPlans; ++trial) {
    std::vector<NicConnection> connections;
    std::vector<int> to(8);
    for (int i = 0; i < 8; ++i) to[static_cast<std::size_t>(i)] = 8 + i;
    random.Shuffle(to);
    const int rail = static_cast<int>(random.Below(8));
    for (int h = 0; h < 8; ++h) {
      NicConnection connection;
      connection.from = {HostId(h), rail};
      connection.to = {HostId(to[static_cast<std::size_t>(h)]), rail};
      connection.both_directions = false;
      connection.plane = 0;
      connections.push_back(connection);
    }
    std::set<LinkId> taken;
    for (const PlannedFlow& flow : repac::PlanPaths(connections, forwarding, {}).flows) {
      if (flow.planned()) taken.insert(flow.links[1]);
    }
    planned += taken.size() < 8 ? 1 : 0;
  }
  std::printf("1. Eight flows of one ToR on 60 uplinks: how often two or more meet\n");
  std::printf("   random ports, closed form           %5.1f %%\n", 100 * (1 - free));
  std::printf("   random ports, %d draws          %5.1f %%\n", kTrials, 100.0 * collided / kTrials);
  std::printf("   planned ports, %d sets of pairs    %5.1f %%\n\n", kPlans,
              100.0 * planned / kPlans);
}

// ---- 2. completion time --------------------------------------------------------------------

struct Case {
  std::string name;
  fabric::FabricSpec spec;
  // The connections of one seed.
  std::function<std::vector<NicConnection>(const Network&, Random&)> connections;
};

// Every host of one segment with one of the other, both directions, `per_port` connections for each
// NIC port.
std::vector<NicConnection> SegmentPair(const Network& network, int per_port, Random& random) {
  const int hosts = network.places().num_hosts() / 2;
  std::vector<int> to(static_cast<std::size_t>(hosts));
  for (int h = 0; h < hosts; ++h) to[static_cast<std::size_t>(h)] = hosts + h;
  random.Shuffle(to);
  std::vector<NicConnection> connections;
  for (int h = 0; h < hosts; ++h) {
    for (int i = 0; i < network.spec().nic_ports * per_port; ++i) {
      NicConnection connection;
      connection.from = {HostId(h), 0};
      connection.to = {HostId(to[static_cast<std::size_t>(h)]), 0};
      connection.bytes = kBytes / per_port;
      connections.push_back(connection);
    }
  }
  return connections;
}

// Every host sends to one host elsewhere and receives from one.
std::vector<NicConnection> Permutation(const Network& network, Random& random) {
  const int hosts = network.places().num_hosts();
  std::vector<int> to(static_cast<std::size_t>(hosts));
  for (int h = 0; h < hosts; ++h) to[static_cast<std::size_t>(h)] = h;
  random.Shuffle(to);
  std::vector<NicConnection> connections;
  for (int h = 0; h < hosts; ++h) {
    if (to[static_cast<std::size_t>(h)] == h) continue;
    NicConnection connection;
    connection.from = {HostId(h), 0};
    connection.to = {HostId(to[static_cast<std::size_t>(h)]), 0};
    connection.both_directions = false;
    connection.bytes = kBytes;
    connections.push_back(connection);
  }
  return connections;
}

struct Outcome {
  Spread completion;  // of the bound: what the fullest cut allows
  Spread fullest;     // flows on the fullest uplink of a ToR
};

// Seconds no assignment of paths can beat: the fullest NIC port, and per ToR and direction its
// bytes over all its uplinks.
double Bound(const Network& network, const PathPlan& plan) {
  std::vector<double> by_link(static_cast<std::size_t>(network.num_links()));
  std::vector<double> out(static_cast<std::size_t>(network.num_switches()));
  std::vector<double> in(out);
  for (const PlannedFlow& flow : plan.flows) {
    by_link[flow.links.front().index()] += flow.bytes;
    by_link[flow.links.back().index()] += flow.bytes;
    if (flow.links.size() == 2) continue;
    out[network.tor(flow.src).index()] += flow.bytes;
    in[network.tor(flow.dst).index()] += flow.bytes;
  }
  const fabric::Tier& tor = network.spec().tiers[0];
  double seconds = 0;
  for (double bytes : by_link) seconds = std::max(seconds, bytes * 8e-9 / network.spec().nic_gbps);
  for (std::size_t s = 0; s < out.size(); ++s) {
    seconds = std::max(seconds, std::max(out[s], in[s]) * 8e-9 / (tor.up_ports * tor.up_gbps));
  }
  return seconds;
}

void Run(const Network& network, const PathPlan& plan, const bench::Ports& ports,
         Outcome& outcome) {
  std::vector<bench::TransferFlow> flows;
  std::vector<int> load(static_cast<std::size_t>(network.num_links()));
  int fullest = 0;
  for (std::size_t i = 0; i < ports.size(); ++i) {
    flows.push_back({plan.flows[i].bytes, {{0, ports[i]}}});
    if (ports[i].size() > 2) fullest = std::max(fullest, ++load[ports[i][1].index()]);
  }
  double end = 0;
  for (const bench::TransferResult& r : bench::RunTransfers(network, flows, 1e6)) {
    end = std::max(end, r.finish_seconds);
  }
  outcome.completion.Add(end / Bound(network, plan));
  outcome.fullest.Add(fullest);
}

void PrintRow(const std::string& fabric, const char* scheme, const Outcome& outcome,
              double ecmp_mean) {
  std::printf("   %-38s %-22s %5.2f +- %4.2f   %5.1f %%   %5.1f   %5.2f x\n", fabric.c_str(),
              scheme, outcome.completion.Mean(), outcome.completion.Deviation(),
              100 / outcome.completion.Mean(), outcome.fullest.Mean(),
              ecmp_mean / outcome.completion.Mean());
}

void Compare(const Case& c, int seeds) {
  const HashedNetwork net(c.spec);
  const ForwardingModel forwarding = net.Forwarding();
  Outcome ecmp, once, often, planned;
  for (int seed = 1; seed <= seeds; ++seed) {
    Random random(static_cast<std::uint64_t>(seed));
    const std::vector<NicConnection> connections = c.connections(*net.network, random);
    repac::PathOptions options;
    options.alternates = false;
    const PathPlan plan = repac::PlanPaths(connections, forwarding, options);
    Run(*net.network, plan, bench::ByEcmp(plan.flows, forwarding, random), ecmp);
    Run(*net.network, plan, bench::BySingleBit(plan.flows, forwarding, 1, random), once);
    Run(*net.network, plan, bench::BySingleBit(plan.flows, forwarding, 8, random), often);
    Run(*net.network, plan, bench::ByPlan(plan), planned);
  }
  const double base = ecmp.completion.Mean();
  PrintRow(c.name, "random ports (ECMP)", ecmp, base);
  PrintRow("", "single bit", once, base);
  PrintRow("", "single bit, 8 tries", often, base);
  PrintRow("", "planned", planned, base);
}

fabric::FabricSpec OneRail(int uplinks, int hosts) {
  fabric::FabricSpec spec = repac::HpnPod(2, hosts);
  spec.name = "segment-pair";
  spec.rails = 1;
  spec.gpus_per_host = 1;
  spec.tiers[0].up_ports = uplinks;
  spec.tiers[1].switches = uplinks;
  return spec;
}

fabric::FabricSpec HashedFatTree(int k) {
  fabric::FabricSpec spec = fabric::FatTree(k);
  repac::SetHashes(spec);
  return spec;
}

void Completion(int seeds) {
  std::printf("2. One exchange, %d seeds. Completion: of the bound that NICs and uplinks set\n",
              seeds);
  std::printf("   %-38s %-22s %-14s %-9s %-7s %s\n", "", "", "completion", "  used", "fullest",
              "gain over ECMP");
  const auto pair = [](int per_port) {
    return [per_port](const Network& network, Random& random) {
      return SegmentPair(network, per_port, random);
    };
  };
  Compare({"HPN segment pair, 60 hosts, 60 uplinks", OneRail(60, 60), pair(1)}, seeds);
  Compare({"same, 120 hosts", OneRail(60, 120), pair(1)}, seeds);
  Compare({"same, 128 hosts, 4 flows a NIC port", OneRail(60, 128), pair(4)}, seeds);
  Compare({"same, 128 hosts, 64 uplinks", OneRail(64, 128), pair(1)}, seeds);
  Compare({"fat tree k=8, permutation", HashedFatTree(8), Permutation}, seeds);
  Compare({"fat tree k=12, permutation", HashedFatTree(12), Permutation}, seeds);
  Compare({"fat tree k=16, permutation", HashedFatTree(16), Permutation}, seeds);
  std::printf("\n");
}

// ---- 3. failover ---------------------------------------------------------------------------

struct FailureCase {
  std::string name;
  const HashedNetwork* net;
  std::vector<NicConnection> connections;
  std::vector<CableId> dead;
};

std::vector<CableId> CablesOf(const Network& network, fabric::SwitchId id) {
  std::vector<CableId> cables;
  for (int c = 0; c < network.num_cables(); ++c) {
    const CableId cable(c);
    const bool touches = network.far_end(Network::up(cable)) == id ||
                         (!network.is_host_cable(cable) && network.switch_port_of(cable).id == id);
    if (touches) cables.push_back(cable);
  }
  return cables;
}

void Fail(const FailureCase& c, int seeds, const bench::FailoverTiming& timing) {
  constexpr double kWindow = 20;
  struct Way {
    const char* name;
    bench::Recovery recovery;
  };
  const Way ways[] = {{"precomputed port", bench::Recovery::kAlternatePort},
                      {"random retries", bench::Recovery::kRandomRetry},
                      {"waiting for routing", bench::Recovery::kReconvergence}};
  const PathPlan plan = repac::PlanPaths(c.connections, c.net->Forwarding(), {});
  std::vector<bench::TransferFlow> whole;
  for (const PlannedFlow& flow : plan.flows) whole.push_back({1e30, {{0, flow.links}}});
  const auto healthy = bench::RunTransfers(*c.net->network, whole, kWindow);
  std::string label = c.name;
  for (const Way& way : ways) {
    Spread longest, mean, lost, slowest;
    for (int seed = 1; seed <= seeds; ++seed) {
      Random random(static_cast<std::uint64_t>(seed));
      const auto legs = bench::LegsAfterFailure(plan, c.connections, *c.net->network, c.net->hashes,
                                                c.dead, way.recovery, timing, random);
      const auto results = bench::RunTransfers(*c.net->network, legs, kWindow);
      double carried = 0, possible = 0, stall = 0, worst = 1, stalls = 0;
      int hit = 0;
      for (std::size_t i = 0; i < results.size(); ++i) {
        carried += results[i].delivered_bytes;
        possible += healthy[i].delivered_bytes;
        stall = std::max(stall, results[i].stalled_seconds);
        worst = std::min(worst, results[i].last_gbps / healthy[i].last_gbps);
        if (!legs[i].legs[0].links.empty()) continue;
        stalls += results[i].stalled_seconds;
        ++hit;
      }
      longest.Add(stall);
      mean.Add(hit == 0 ? 0 : stalls / hit);
      lost.Add(100 * (1 - carried / possible));
      slowest.Add(100 * worst);
    }
    std::printf("   %-34s %-20s %8.3f s %8.3f s   %6.2f %%   %5.1f +- %4.1f %%\n", label.c_str(),
                way.name, mean.Mean(), longest.Max(), lost.Mean(), slowest.Mean(),
                slowest.Deviation());
    label.clear();
  }
}

void Failover(int seeds, const bench::FailoverTiming& timing) {
  std::printf(
      "3. Failover: noticed after %.0f ms, a retry every %.0f ms, routing after %.0f ms; %d seeds, "
      "20 s\n",
      1e3 * timing.detect_seconds, 1e3 * timing.retry_seconds, 1e3 * timing.reconverge_seconds,
      seeds);
  std::printf("   %-34s %-20s %-10s %-10s   %-8s   %s\n", "", "", "  stalled,", "  longest",
              "  lost", "slowest flow after it");
  std::printf("   %-34s %-20s %-10s\n", "", "", "     mean");
  const HashedNetwork pod(OneRail(60, 60));
  const HashedNetwork tree(HashedFatTree(8));
  Random random(1);
  const auto in_pod = SegmentPair(*pod.network, 1, random);
  const auto in_tree = Permutation(*tree.network, random);
  const Network& hpn = *pod.network;
  const fabric::SwitchId tor = hpn.tor({HostId(0), 0, 0});
  std::vector<CableId> quarter;
  for (int u = 0; u < 15; ++u) {
    for (CableId cable : CablesOf(hpn, hpn.upper(tor, u))) quarter.push_back(cable);
  }
  Fail({"HPN pair: one uplink", &pod, in_pod, {hpn.up_cable(tor, 0)}}, seeds, timing);
  Fail({"HPN pair: one Agg", &pod, in_pod, CablesOf(hpn, hpn.upper(tor, 0))}, seeds, timing);
  Fail({"HPN pair: 15 of 60 Aggs", &pod, in_pod, quarter}, seeds, timing);
  Fail({"HPN pair: one NIC port", &pod, in_pod, {hpn.host_cable({HostId(0), 0, 0})}}, seeds,
       timing);
  const fabric::SwitchId edge = tree.network->tor({HostId(0), 0, 0});
  Fail({"fat tree k=8: one Agg", &tree, in_tree,
        CablesOf(*tree.network, tree.network->upper(edge, 0))},
       seeds, timing);
}

double Number(int argc, char** argv, const char* flag, double value) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], flag) == 0) value = ParseNumber<double>(argv[i + 1]).value_or(value);
  }
  return value;
}

}  // namespace

int main(int argc, char** argv) {
  const int seeds = std::max(1, static_cast<int>(Number(argc, argv, "--seeds", 5)));
  // How long deterministic and random recovery take, and a flapping ToR without a second one: see
  // docs/paths.md.
  const bench::FailoverTiming timing{Number(argc, argv, "--detect-ms", 6) / 1e3,
                                     Number(argc, argv, "--retry-ms", 42) / 1e3,
                                     Number(argc, argv, "--reconverge-ms", 9000) / 1e3};
  Collisions();
  Completion(seeds);
  Failover(seeds, timing);
  return 0;
}
