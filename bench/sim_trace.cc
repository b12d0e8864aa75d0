// The trace benchmark of the Crux paper (section 6): jobs with the statistics of the public trace
// on the paper's two fabrics, under every policy.
//
//   sim_trace [JOBS] [SEEDS] [FIRST_SEED]      default 300 jobs, 3 seeds from 1
//
// Sizes come from test/data/lingjun-2023/model-gpus.csv, arrivals are generated.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/sim/trace_run.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

std::vector<sim::ModelSize> ReadSizes() {
  std::ifstream file(YARDMASTER_SOURCE_DIR "/test/data/lingjun-2023/model-gpus.csv");
  std::vector<sim::ModelSize> sizes;
  for (std::string line; std::getline(file, line);) {
    const auto cells = Split(line, ',');
    if (cells.size() != 2) continue;
    const auto gpus = ParseNumber<std::int32_t>(cells[1]);
    if (gpus) sizes.push_back({cells[0], *gpus});
  }
  return sizes;
}

fabric::Tier MakeTier(const char* role, fabric::Scope scope, int switches, int down_ports,
                      int down_gbps, int up_ports, int up_gbps) {
  fabric::Tier tier;
  tier.role = role;
  tier.scope = scope;
  tier.switches = switches;
  tier.per_plane = false;
  tier.down_ports = down_ports;
  tier.down_gbps = down_gbps;
  tier.up_ports = up_ports;
  tier.up_gbps = up_gbps;
  return tier;
}

fabric::FabricSpec BaseSpec(const char* name) {
  fabric::FabricSpec spec;
  spec.name = name;
  spec.rails = 8;  // four NICs of two ports
  spec.planes = 1;
  spec.nic_ports = 1;
  spec.nic_gbps = 100;
  return spec;
}

// 173 ToRs of five hosts, each wired to all of 16 Aggs (2.5 to 1).
fabric::FabricSpec TwoLayer() {
  fabric::FabricSpec spec = BaseSpec("two-layer");
  spec.segments_per_fabric_pod = 173;
  spec.hosts_per_segment = 5;
  spec.tiers = {MakeTier("tor", fabric::Scope::kSegment, 1, 40, 100, 16, 100),
                MakeTier("agg", fabric::Scope::kFabric, 16, 173, 100, 0, 0)};
  return spec;
}

// 6 ToRs in three pods of 4 Aggs under 32 cores (3 to 1 at the ToRs).
fabric::FabricSpec ThreeLayer() {
  fabric::FabricSpec spec = BaseSpec("three-layer");
  spec.fabric_pods = 3;
  spec.segments_per_fabric_pod = 2;
  spec.hosts_per_segment = 48;
  spec.tiers = {MakeTier("tor", fabric::Scope::kSegment, 1, 384, 100, 32, 400),
                MakeTier("agg", fabric::Scope::kFabricPod, 4, 16, 400, 32, 200),
                MakeTier("core", fabric::Scope::kFabric, 32, 12, 200, 0, 0)};
  return spec;
}

fabric::Network Build(const fabric::FabricSpec& spec) {
  std::vector<fabric::HostPlace> hosts;
  for (int p = 0; p < spec.fabric_pods; ++p) {
    for (int s = 0; s < spec.segments_per_fabric_pod; ++s) {
      for (int h = 0; h < spec.hosts_per_segment; ++h) {
        char name[48];
        std::snprintf(name, sizeof name, "p%02ds%03dh%03d", p, s, h);
        hosts.push_back({name, StrCat("p", 10 + p), StrCat("s", 1000 + s), {}});
      }
    }
  }
  auto places = fabric::Places::Build(std::move(hosts));
  auto network =
      fabric::Network::Build(spec, std::make_shared<const fabric::Places>(*std::move(places)));
  if (!network.ok()) {
    std::fprintf(stderr, "%s\n", MessageOf(network.status()).c_str());
    std::exit(1);
  }
  return *std::move(network);
}

struct Spread {
  double sum = 0;
  double squares = 0;
  int count = 0;
  void Add(double x) {
    sum += x;
    squares += x * x;
    ++count;
  }
  double Mean() const { return sum / count; }
  double Deviation() const { return std::sqrt(std::max(0.0, squares / count - Mean() * Mean())); }
};

void RunFabric(const fabric::FabricSpec& spec, double scatter, int jobs, int seeds, int first) {
  const fabric::Network network = Build(spec);
  const std::vector<sim::ModelSize> sizes = ReadSizes();
  std::printf("%s: %d hosts, %d jobs, %d seeds\n", spec.name.c_str(), network.places().num_hosts(),
              jobs, seeds);
  std::printf("%-10s %22s %14s %10s %10s %12s %12s\n", "policy", "utilisation", "completion s",
              "slowdown", "worst", "jobs met", "gpus met");
  for (const crux::Policy policy : crux::AllPolicies()) {
    if (policy == crux::Policy::kExact) continue;
    Spread utilisation, completion, slowdown, worst, met, gpus, peak_jobs, peak_gpus;
    for (int s = first; s < first + seeds; ++s) {
      sim::GenerateOptions generate;
      generate.jobs = jobs;
      generate.seed = static_cast<std::uint64_t>(s);
      sim::TraceOptions options;
      options.policy = policy;
      options.seed = static_cast<std::uint64_t>(s);
      options.max_paths = 32;
      options.scatter = scatter;
      const auto result = sim::RunTrace(network, sim::GenerateTrace(sizes, generate), options);
      if (!result.ok()) {
        std::fprintf(stderr, "%s\n", MessageOf(result.status()).c_str());
        std::exit(1);
      }
      utilisation.Add(result->utilisation);
      completion.Add(result->mean_completion_seconds);
      slowdown.Add(result->mean_slowdown);
      worst.Add(result->worst_slowdown);
      met.Add(result->contended_jobs);
      gpus.Add(result->contended_gpus);
      peak_jobs.Add(result->peak_jobs);
      peak_gpus.Add(result->peak_gpus);
    }
    std::printf(
        "%-10s %10.4f +- %8.4f %14.0f %10.3f %10.2f %11.1f%% %11.1f%%   peak %.0f jobs %.0f GPUs\n",
        std::string(crux::PolicyName(policy)).c_str(), utilisation.Mean(), utilisation.Deviation(),
        completion.Mean(), slowdown.Mean(), worst.Mean(), 100 * met.Mean(), 100 * gpus.Mean(),
        peak_jobs.Mean(), peak_gpus.Mean());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const int jobs = argc > 1 ? std::atoi(argv[1]) : 300;
  const int seeds = argc > 2 ? std::atoi(argv[2]) : 3;
  const int first = argc > 3 ? std::atoi(argv[3]) : 1;
  const double scatter = argc > 4 ? std::atof(argv[4]) : 0.3;
  RunFabric(TwoLayer(), scatter, jobs, seeds, first);
  RunFabric(ThreeLayer(), scatter, jobs, seeds, first);
  return 0;
}
