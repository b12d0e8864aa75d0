// What moves of running jobs gain: the same generated jobs, placed by the planner of the cluster,
// with moves (plan::ProposeMoves at every arrival and end) and without.
// docs/evaluation/rebalance.md has the figures.
//
//   moves_replay [--jobs 150] [--seeds 10] [--first-seed 1] [--load 0.9] [--mean-run 30000]
//                [--restart 300] [--checkpoint-interval 1800] [--max-moves 8] [--min-gain 1]
//                [--horizon 21600] [--traffic 1] [--uplink-gbps 100] [--hosts-per-tor 16]
//                [--tors 12] [--segment-hosts 0]
//
// --load: GPUs that the jobs ask for over those that are there, from their mean size and run time;
// it sets the gap between arrivals. Fabric: one pod of ToRs under 16 Aggs, each with one uplink to
// each. --segment-hosts N: jobs of at most N hosts have to stand below one ToR. --traffic
// multiplies the bytes of every job. Reported for each seed: utilisation (FLOP done over FLOP
// possible on the GPUs in use, the time that a move costs counted as idle), the same if every job
// always ran as if alone at its place, the mean time from arrival to completion, the mean wait of
// all jobs and of those of 16 hosts and more, moves, and what they cost.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "pkg/base/strings.h"
#include "simulation/bench/model_sizes.h"
#include "simulation/bench/trace_fabrics.h"
#include "simulation/simulator/trace_run.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

std::map<std::string, double> ParseArgs(int argc, char** argv) {
  std::map<std::string, double> args = {
      {"--jobs", 150},         {"--seeds", 10},     {"--first-seed", 1},
      {"--load", 0.9},         {"--mean-run", 3e4}, {"--restart", 300},
      {"--max-moves", 8},      {"--min-gain", 1},   {"--checkpoint-interval", 1800},
      {"--horizon", 21'600},   {"--traffic", 1},    {"--uplink-gbps", 100},
      {"--hosts-per-tor", 16}, {"--tors", 12},      {"--segment-hosts", 0}};
  for (int i = 1; i + 1 < argc; i += 2) {
    if (args.count(argv[i]) == 0) {
      std::fprintf(stderr, "unknown flag %s\n", argv[i]);
      std::exit(2);
    }
    args[argv[i]] = std::atof(argv[i + 1]);
  }
  return args;
}

fabric::FabricSpec Spec(std::map<std::string, double>& args) {
  fabric::FabricSpec spec = bench::TwoLayer(static_cast<int>(args["--uplink-gbps"]));
  spec.segments_per_fabric_pod = static_cast<int>(args["--tors"]);
  spec.hosts_per_segment = static_cast<int>(args["--hosts-per-tor"]);
  for (fabric::Tier& tier : spec.tiers) tier.down_ports = std::max(tier.down_ports, 64);
  return spec;
}

sim::TraceResult Run(const fabric::Network& network, const std::vector<sim::TraceJob>& jobs,
                     const sim::TraceOptions& options) {
  auto result = sim::RunTrace(network, jobs, options);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", MessageOf(result.status()).c_str());
    std::exit(1);
  }
  return *std::move(result);
}

void Print(int seed, const char* name, const sim::TraceResult& result) {
  std::printf("%4d %-8s %11.4f %8.4f %12.0f %9.0f %9.0f %6lld %12.0f\n", seed, name,
              result.utilisation, result.lone_utilisation, result.mean_completion_seconds,
              result.mean_wait_seconds, result.mean_wide_wait_seconds,
              static_cast<long long>(result.job_moves), result.moved_gpu_seconds / 3600);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  std::map<std::string, double> args = ParseArgs(argc, argv);
  const fabric::Network network = bench::BuildNetwork(Spec(args));
  const std::vector<sim::ModelSize> sizes = bench::ReadModelSizes();
  const double gpus = network.places().num_hosts() * network.spec().gpus_per_host;
  std::printf("%4s %-8s %11s %8s %12s %9s %9s %6s %12s\n", "seed", "moves", "utilisation", "alone",
              "completion s", "wait s", "wide wait", "moves", "cost GPU h");
  double sum = 0, least = 1e9;
  const int seeds = static_cast<int>(args["--seeds"]);
  for (int s = 0; s < seeds; ++s) {
    sim::GenerateOptions generate;
    generate.jobs = static_cast<int>(args["--jobs"]);
    generate.mean_run_seconds = args["--mean-run"];
    generate.seed = static_cast<std::uint64_t>(args["--first-seed"] + s);
    std::vector<sim::TraceJob> jobs = sim::GenerateTrace(sizes, generate);
    // Stretched or pressed, so that the load is what was asked for.
    double asked = 0;
    for (const sim::TraceJob& job : jobs) asked += job.gpus * job.run_seconds;
    const double stretch =
        asked / gpus / args["--load"] / std::max(1.0, jobs.back().arrival_seconds);
    for (sim::TraceJob& job : jobs) job.arrival_seconds *= stretch;
    sim::TraceOptions options;
    options.planner_places = true;
    options.seed = generate.seed;
    options.max_paths = 32;
    options.load = args["--traffic"];
    options.segment_hosts = static_cast<std::int32_t>(args["--segment-hosts"]);
    const sim::TraceResult without = Run(network, jobs, options);
    options.moves.on = true;
    options.moves.restart_seconds = args["--restart"];
    options.moves.checkpoint_interval_seconds = args["--checkpoint-interval"];
    options.moves.options.max_moves = static_cast<int>(args["--max-moves"]);
    options.moves.options.min_gain = args["--min-gain"];
    options.moves.options.horizon_seconds = args["--horizon"];
    const sim::TraceResult with = Run(network, jobs, options);
    Print(static_cast<int>(generate.seed), "off", without);
    Print(static_cast<int>(generate.seed), "on", with);
    const double gain = 100 * (with.utilisation / without.utilisation - 1);
    sum += gain;
    least = std::min(least, gain);
  }
  std::printf("utilisation with moves: %+.2f %% on average, %+.2f %% in the worst seed\n",
              sum / seeds, least);
  return 0;
}
