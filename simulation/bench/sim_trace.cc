// The trace benchmark of the Crux paper (section 6): jobs with the statistics of the public trace
// on the paper's two fabrics, under every policy.
//
//   sim_trace [--jobs 300] [--seeds 5] [--first-seed 1] [--fabric two-layer|three-layer|both]
//             [--policies crux,published,...] [--scatter 0] [--fragmented 0.45] [--planner 1] ...
//
// A policy may be written "sincronia+paths": it decides all but the paths, which are then those of
// crux. Workload: --mean-run 3000 seconds, --load 1 (multiplies the bytes of every job),
// --connections 8 (of two GPUs, each with a hash of its own). --planner 1: jobs are placed by the
// planner of the cluster, and --scatter and --fragmented mean nothing. Fabric of two layers:
// --uplink-gbps 100. Hosts: --fragmented (probability that a job gets half hosts), --pcie-gbps 252,
// --nvlink-gbps 2400 (0: none). What crux does otherwise than in production: --from-nothing 1
// (decides again at each event), --budget N (of the search), --assumed-stall S (of other paths, a
// tenth of it of another level), --horizon S, --knows-ends 1 (when jobs end). --stall S makes other
// paths take that time, and another level a tenth of it; without it moves are free. Sizes come from
// test/data/lingjun-2023/model-gpus.csv, arrivals are generated.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/strings.h"
#include "simulation/bench/model_sizes.h"
#include "simulation/bench/trace_fabrics.h"
#include "simulation/simulator/trace_run.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

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

struct Args {
  int jobs = 300;
  int seeds = 5;
  int first_seed = 1;
  std::string fabric = "both";
  std::string policies = "crux,published,taccl,varys,cassini,sincronia,ecmp";
  double scatter = 0;
  double fragmented = 0.45;
  bool planner = false;
  double mean_run = 3000;
  int connections = 8;
  double pcie_gbps = 252;
  double nvlink_gbps = 2400;
  double load = 1;
  int uplink_gbps = 100;
  bool from_nothing = false;
  long budget = -1;
  double stall = 0;
  double assumed_stall = -1;
  double horizon = -1;
  bool knows_ends = false;
};

Args ParseArgs(int argc, char** argv) {
  Args args;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string name = argv[i];
    const char* value = argv[i + 1];
    if (name == "--jobs") args.jobs = std::atoi(value);
    if (name == "--seeds") args.seeds = std::atoi(value);
    if (name == "--first-seed") args.first_seed = std::atoi(value);
    if (name == "--fabric") args.fabric = value;
    if (name == "--policies") args.policies = value;
    if (name == "--scatter") args.scatter = std::atof(value);
    if (name == "--fragmented") args.fragmented = std::atof(value);
    if (name == "--planner") args.planner = std::atoi(value) != 0;
    if (name == "--connections") args.connections = std::atoi(value);
    if (name == "--mean-run") args.mean_run = std::atof(value);
    if (name == "--pcie-gbps") args.pcie_gbps = std::atof(value);
    if (name == "--nvlink-gbps") args.nvlink_gbps = std::atof(value);
    if (name == "--uplink-gbps") args.uplink_gbps = std::atoi(value);
    if (name == "--load") args.load = std::atof(value);
    if (name == "--from-nothing") args.from_nothing = std::atoi(value) != 0;
    if (name == "--budget") args.budget = std::atol(value);
    if (name == "--stall") args.stall = std::atof(value);
    if (name == "--assumed-stall") args.assumed_stall = std::atof(value);
    if (name == "--horizon") args.horizon = std::atof(value);
    if (name == "--knows-ends") args.knows_ends = std::atoi(value) != 0;
  }
  return args;
}

struct Row {
  Spread utilisation, alone, completion, slowdown, worst, met, gpus, peak_jobs, peak_gpus;
  Spread path_moves, level_moves;
  std::vector<double> by_seed;  // utilisation

  void Add(const sim::TraceResult& result) {
    utilisation.Add(result.utilisation);
    alone.Add(result.lone_utilisation);
    by_seed.push_back(result.utilisation);
    completion.Add(result.mean_completion_seconds);
    slowdown.Add(result.mean_slowdown);
    worst.Add(result.worst_slowdown);
    met.Add(result.contended_jobs);
    gpus.Add(result.contended_gpus);
    peak_jobs.Add(result.peak_jobs);
    peak_gpus.Add(result.peak_gpus);
    path_moves.Add(static_cast<double>(result.path_moves));
    level_moves.Add(static_cast<double>(result.level_moves));
  }
  void Print(const std::string& name, const Row& first, double cpu_seconds) const {
    // Gain of the first policy over this one, seed by seed.
    Spread gain;
    for (std::size_t s = 0; s < by_seed.size(); ++s) {
      gain.Add(100 * (first.by_seed[s] / by_seed[s] - 1));
    }
    std::printf(
        "%-15s %10.4f +- %6.4f %8.4f %10.0f %9.3f %7.2f %8.1f%% %8.1f%% %+8.2f +- %.2f %%   peak "
        "%.0f jobs %.0f GPUs   moves %.0f paths %.0f levels   %.1f CPU s  ",
        name.c_str(), utilisation.Mean(), utilisation.Deviation(), alone.Mean(), completion.Mean(),
        slowdown.Mean(), worst.Mean(), 100 * met.Mean(), 100 * gpus.Mean(), gain.Mean(),
        gain.Deviation(), peak_jobs.Mean(), peak_gpus.Mean(), path_moves.Mean(), level_moves.Mean(),
        cpu_seconds);
    for (const double seed : by_seed) std::printf(" %.5f", seed);
    std::printf("\n");
    std::fflush(stdout);
  }
};

struct Entrant {
  crux::Policy policy = crux::Policy::kCrux;
  bool paths_of_crux = false;
};

Entrant EntrantOf(const std::string& name) {
  const std::size_t plus = name.find("+paths");
  const auto policy = crux::ParsePolicy(name.substr(0, plus));
  if (!policy.ok()) {
    std::fprintf(stderr, "%s\n", MessageOf(policy.status()).c_str());
    std::exit(2);
  }
  return {*policy, plus != std::string::npos};
}

sim::TraceResult RunOnce(const fabric::Network& network, const std::vector<sim::ModelSize>& sizes,
                         const Args& args, const Entrant& entrant, int seed) {
  sim::GenerateOptions generate;
  generate.mean_run_seconds = args.mean_run;
  generate.jobs = args.jobs;
  generate.seed = static_cast<std::uint64_t>(seed);
  sim::TraceOptions options;
  options.policy = entrant.policy;
  options.paths_of_crux = entrant.paths_of_crux;
  options.fragmented = args.fragmented;
  options.planner_places = args.planner;
  options.connections = args.connections;
  options.host = sim::HostSpecOf(network.spec());
  options.host->pcie_gbps = args.pcie_gbps;
  options.host->nvlink_gbps = args.nvlink_gbps;
  options.seed = static_cast<std::uint64_t>(seed);
  options.max_paths = 32;
  options.scatter = args.scatter;
  options.load = args.load;
  options.decide_from_nothing = args.from_nothing;
  if (args.budget >= 0) options.decide.search.event_budget = args.budget;
  options.path_stall_seconds = args.stall;
  options.level_stall_seconds = 0.1 * args.stall;
  options.knows_ends = args.knows_ends;
  crux::MoveOptions& moves = options.decide.moves;
  if (args.assumed_stall >= 0) {
    moves.path_stall_seconds = args.assumed_stall;
    moves.level_stall_seconds = 0.1 * args.assumed_stall;
  }
  if (args.horizon > 0) moves.horizon_seconds = args.horizon;
  auto result = sim::RunTrace(network, sim::GenerateTrace(sizes, generate), options);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", MessageOf(result.status()).c_str());
    std::exit(1);
  }
  return *std::move(result);
}

void RunFabric(const fabric::FabricSpec& spec, const Args& args) {
  if (args.fabric != "both" && args.fabric != spec.name) return;
  const fabric::Network network = bench::BuildNetwork(spec);
  const std::vector<sim::ModelSize> sizes = bench::ReadModelSizes();
  const std::string places =
      args.planner ? "places by the planner"
                   : StrCat("scatter ", args.scatter, ", fragmented ", args.fragmented);
  std::printf("%s: %d hosts, %d jobs, %d seeds, %s, load %g\n", spec.name.c_str(),
              network.places().num_hosts(), args.jobs, args.seeds, places.c_str(), args.load);
  std::printf("%-15s %20s %8s %10s %9s %7s %9s %9s %18s\n", "policy", "utilisation", "alone",
              "completion", "slowdown", "worst", "jobs met", "gpus met", "first gains");
  std::vector<Row> rows;
  for (const std::string& name : Split(args.policies, ',')) {
    const Entrant entrant = EntrantOf(name);
    const std::clock_t began = std::clock();
    Row row;
    for (int s = 0; s < args.seeds; ++s) {
      row.Add(RunOnce(network, sizes, args, entrant, args.first_seed + s));
    }
    rows.push_back(row);
    row.Print(name, rows.front(), static_cast<double>(std::clock() - began) / CLOCKS_PER_SEC);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const Args args = ParseArgs(argc, argv);
  RunFabric(bench::TwoLayer(args.uplink_gbps), args);
  RunFabric(bench::ThreeLayer(), args);
  return 0;
}
