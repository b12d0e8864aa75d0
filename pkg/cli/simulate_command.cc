#include <algorithm>
#include <filesystem>
#include <istream>
#include <ostream>
#include <utility>

#include "nlohmann/json.hpp"

#include "CLI/CLI.hpp"
#include "pkg/base/strings.h"
#include "pkg/cli/cluster_flags.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/flags.h"
#include "pkg/cli/input/fabric_input.h"
#include "pkg/cli/input/read_input.h"
#include "pkg/cli/output/node_names.h"
#include "pkg/cli/output/print_objects.h"
#include "simulation/formats/trace_files.h"
#include "simulation/simulator/trace_run.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;

struct SimulateFlags {
  std::vector<std::string> fabric;
  std::string trace;
  std::string policy = "crux";
  std::int32_t jobs = 500;
  std::uint64_t seed = 1;
  double scatter = 0.3;
  double fragmented = 0;
  double pcie_gbps = -1;  // below 0: as the Fabric's hosts are
  double nvlink_gbps = -1;
  std::string output = "json";
  ClusterFlags cluster;
};

void Declare(SimulateFlags& flags, CLI::App& app) {
  app.add_option("--fabric,-f,--filename", flags.fabric,
                 "a Fabric and its Nodes, YAML or JSON; the cluster's when left out");
  DeclareCluster(flags.cluster, app);
  app.add_option("--trace", flags.trace, "folder with the files of the trace")->required();
  std::vector<std::string> policies;
  for (const crux::Policy policy : crux::AllPolicies()) {
    // Enumeration ends long before a cluster begins.
    if (policy != crux::Policy::kExact) policies.emplace_back(crux::PolicyName(policy));
  }
  app.add_option("--policy", flags.policy, "Scheduling policy")->check(CLI::IsMember(policies));
  app.add_option("--jobs", flags.jobs, "jobs to generate, or at most to read")
      ->check(CLI::Range(1, 1'000'000));
  DeclareSeed(flags.seed, app);
  app.add_option("--scatter", flags.scatter, "probability that a job's next host is anywhere")
      ->check(NumberBetween(0, 1));
  app.add_option("--fragmented", flags.fragmented, "probability that a job gets half hosts")
      ->check(NumberBetween(0, 1));
  app.add_option("--pcie-gbps", flags.pcie_gbps,
                 "of each PCIe connection inside hosts; default: a generation that carries a NIC")
      ->check(NumberBetween(1, 1e6))
      ->default_function({});
  app.add_option("--nvlink-gbps", flags.nvlink_gbps,
                 "of each GPU; 0: GPUs of a host meet on PCIe; default: the Fabric's")
      ->check(NumberBetween(0, 1e6))
      ->default_function({});
  app.add_option("-o,--output", flags.output, "output format")->check(CLI::IsMember({"json"}));
}

struct Trace {
  std::vector<sim::TraceJob> jobs;
  std::string source;
  sim::SkippedRows skipped;
};

// The trace's hosts in the network: by name where Nodes are called like them; else, where topo.csv
// is there and the fabric is large enough, the i-th host of the one in the order of core,
// aggregation and ToR is the i-th of the other, so that neighbours stay neighbours.
absl::StatusOr<sim::TraceHostIndex> HostsOfTrace(const fabric::Places& places,
                                                 const std::string& topo_csv,
                                                 sim::SkippedRows& skipped) {
  sim::TraceHostIndex index;
  for (std::int32_t h = 0; h < places.num_hosts(); ++h) {
    index.emplace(places.name(fabric::HostId(h)), h);
  }
  if (topo_csv.empty()) return index;
  YM_ASSIGN_OR_RETURN(const std::vector<sim::TraceHost> hosts,
                      sim::ParseTopology(topo_csv, skipped));
  const bool by_name = std::any_of(hosts.begin(), hosts.end(), [&](const sim::TraceHost& host) {
    return index.count(host.ip) > 0;
  });
  if (by_name || hosts.size() > static_cast<std::size_t>(places.num_hosts())) return index;
  for (std::size_t i = 0; i < hosts.size(); ++i) {
    index.emplace(hosts[i].ip, static_cast<std::int32_t>(i));
  }
  return index;
}

absl::StatusOr<Trace> ReadTrace(const SimulateFlags& flags, const fabric::Places& places) {
  const std::filesystem::path folder(flags.trace);
  std::error_code error;
  if (!std::filesystem::is_directory(folder, error)) {
    return FieldError("--trace", StrCat(flags.trace, " is not a folder"),
                      "give the folder with job.csv and worker.csv, or model-gpus.csv");
  }
  Trace trace;
  const auto file = [&](const char* name) { return (folder / name).string(); };
  if (std::filesystem::exists(file("job.csv"), error)) {
    YM_ASSIGN_OR_RETURN(const std::string jobs, ReadFile(file("job.csv")));
    YM_ASSIGN_OR_RETURN(const std::string workers, ReadFile(file("worker.csv")));
    std::string topology;
    if (std::filesystem::exists(file("topo.csv"), error)) {
      YM_ASSIGN_OR_RETURN(topology, ReadFile(file("topo.csv")));
    }
    YM_ASSIGN_OR_RETURN(const sim::TraceHostIndex hosts,
                        HostsOfTrace(places, topology, trace.skipped));
    YM_ASSIGN_OR_RETURN(trace.jobs, sim::ParseTraceJobs(jobs, workers, hosts, trace.skipped));
    if (trace.jobs.size() > static_cast<std::size_t>(flags.jobs)) trace.jobs.resize(flags.jobs);
    trace.source = "job.csv";
    return trace;
  }
  if (!std::filesystem::exists(file("model-gpus.csv"), error)) {
    return FieldError("--trace", StrCat(flags.trace, " holds neither job.csv nor model-gpus.csv"),
                      "give the folder of a trace");
  }
  YM_ASSIGN_OR_RETURN(const std::string text, ReadFile(file("model-gpus.csv")));
  YM_ASSIGN_OR_RETURN(const auto sizes, sim::ParseModelSizes(text, trace.skipped));
  sim::GenerateOptions generate;
  generate.jobs = flags.jobs;
  generate.seed = flags.seed;
  trace.jobs = sim::GenerateTrace(sizes, generate);
  trace.source = "generated";
  return trace;
}

json Report(const SimulateFlags& flags, const Trace& trace, const sim::TraceResult& result) {
  json jobs = json::array();
  for (const sim::TraceJobResult& job : result.jobs) {
    jobs.push_back({{"id", job.id},
                    {"gpus", job.gpus},
                    {"startSeconds", job.start_seconds},
                    {"finishSeconds", job.finish_seconds},
                    {"utilisation", job.utilisation},
                    {"slowdown", job.slowdown},
                    {"contended", job.contended},
                    {"lostShare", job.lost_share},
                    {"inPlace", job.in_place}});
  }
  json skipped = json::object();
  for (const auto& [reason, rows] : trace.skipped) skipped[reason] = rows;
  return {{"policy", flags.policy},
          {"seed", flags.seed},
          {"source", trace.source},
          {"skippedRows", std::move(skipped)},
          {"jobs", std::move(jobs)},
          {"cluster",
           {{"utilisation", result.utilisation},
            {"meanCompletionSeconds", result.mean_completion_seconds},
            {"meanSlowdown", result.mean_slowdown},
            {"worstSlowdown", result.worst_slowdown},
            {"contendedJobs", result.contended_jobs},
            {"contendedGpus", result.contended_gpus},
            {"slowedJobs", result.slowed_jobs},
            {"slowedGpus", result.slowed_gpus},
            {"sharedLoad", result.shared_load},
            {"peakJobs", result.peak_jobs},
            {"peakGpus", result.peak_gpus}}}};
}

absl::StatusOr<FabricInput> ReadFabric(const SimulateFlags& flags, const Connector& connect,
                                       std::istream& in, std::ostream& err) {
  if (!flags.fabric.empty()) return ReadFabricInput(flags.fabric, /*names_file=*/"", in);
  ReadFlags read{flags.cluster, ""};
  YM_ASSIGN_OR_RETURN(const ConnectedCluster cluster, ConnectAndRead(read, connect, err));
  return FabricInputOf(cluster.state, "the cluster");
}

absl::StatusOr<json> Simulate(const SimulateFlags& flags, const Connector& connect,
                              std::istream& in, std::ostream& err) {
  YM_ASSIGN_OR_RETURN(const FabricInput input, ReadFabric(flags, connect, in, err));
  PrintWarnings(input.warnings, err);
  YM_ASSIGN_OR_RETURN(const Trace trace, ReadTrace(flags, input.network->places()));
  for (const auto& [reason, rows] : trace.skipped) {
    err << "skipped " << Count(static_cast<std::int64_t>(rows), "row") << ": " << reason << "\n";
  }
  sim::TraceOptions options;
  YM_ASSIGN_OR_RETURN(options.policy, crux::ParsePolicy(flags.policy));
  options.seed = flags.seed;
  options.scatter = flags.scatter;
  options.fragmented = flags.fragmented;
  options.host = sim::HostSpecOf(input.network->spec());
  if (flags.pcie_gbps > 0) options.host->pcie_gbps = flags.pcie_gbps;
  if (flags.nvlink_gbps >= 0) options.host->nvlink_gbps = flags.nvlink_gbps;
  options.levels = input.network->spec().levels.count;
  const std::vector<int>& reserved = input.network->spec().levels.reserved;
  options.reserved_levels.assign(reserved.begin(), reserved.end());
  std::size_t reported = 0;
  options.progress = [&](std::size_t finished, std::size_t all) {
    if (finished * 10 / all == reported) return;
    reported = finished * 10 / all;
    err << finished << " of " << all << " jobs finished\n";
  };
  YM_ASSIGN_OR_RETURN(const sim::TraceResult result,
                      sim::RunTrace(*input.network, trace.jobs, options));
  return Report(flags, trace, result);
}

}  // namespace

int RunSimulateCommand(const Args& args, const Connector& connect, std::istream& in,
                       std::ostream& out, std::ostream& err) {
  SimulateFlags flags;
  CLI::App app("Replays jobs over time on a fabric under a policy", "kubectl yardmaster simulate");
  Declare(flags, app);
  app.footer(
      "Examples:\n"
      "  kubectl yardmaster simulate --fabric fabric.yaml --trace test/data/lingjun-2023 --jobs "
      "50\n"
      "  kubectl yardmaster simulate --trace FOLDER --policy ecmp");
  if (const auto code = ParseFlags(app, args, out, err)) return *code;
  const absl::StatusOr<json> report = Simulate(flags, connect, in, err);
  if (!report.ok()) return Fail(report.status(), err);
  PrintAnswer(*report, flags.output, out);
  return 0;
}

}  // namespace yardmaster::cli
