// The testbed scenarios of the Crux paper (its section 6), replayed: what crux gains over ECMP
// beside what the paper measured, and the production pair that the trace benchmark's traffic is set
// by.
//
//   crux_testbed [SEEDS]                                                       default 20
//
// 12 hosts of eight A100 with NVLink and four NICs of 200 Gbit/s, two GPUs and a NIC below a PCIe
// switch. Not published, so chosen here: four ToRs of three hosts, each with four uplinks of 200
// Gbit/s to two Aggs (3 to 1, as in the three-layer fabric of sim_trace). Models, iteration times
// and overlap are those of simulator/trace_workload.h, placements and hashes are drawn by seed: the
// GPT on whole hosts, the others on half hosts. Every job works for ten minutes of a lone job.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "simulation/simulator/evaluate.h"
#include "simulation/simulator/trace_run.h"

namespace {

using namespace yardmaster;  // NOLINT: a program of one file

constexpr int kTors = 4;
constexpr int kHostsOfTor = 3;
constexpr double kWorkSeconds = 600;

fabric::Network Testbed() {
  fabric::FabricSpec spec;
  spec.name = "testbed";
  spec.rails = 4;
  spec.planes = 1;
  spec.nic_ports = 1;
  spec.nic_gbps = 200;
  spec.nvlink_gbps = 2400;
  spec.segments_per_fabric_pod = kTors;
  spec.hosts_per_segment = kHostsOfTor;
  fabric::Tier tor;
  tor.role = "tor";
  tor.per_plane = false;
  tor.down_ports = 4 * kHostsOfTor;
  tor.down_gbps = 200;
  tor.up_ports = 4;
  tor.up_gbps = 200;
  fabric::Tier agg;
  agg.role = "agg";
  agg.scope = fabric::Scope::kFabric;
  agg.switches = 2;
  agg.per_plane = false;
  agg.down_ports = 2 * kTors;
  agg.down_gbps = 200;
  spec.tiers = {tor, agg};
  std::vector<fabric::HostPlace> hosts;
  for (int h = 0; h < kTors * kHostsOfTor; ++h) {
    hosts.push_back({StrCat("h", 10 + h), "p0", StrCat("s", h / kHostsOfTor), {}});
  }
  auto places = fabric::Places::Build(hosts);
  return *fabric::Network::Build(spec, std::make_shared<const fabric::Places>(*std::move(places)));
}

struct Wanted {
  const char* model;
  int count;
  int gpus;
};

// GPTs first, on whole hosts; then the others, each on half hosts of what is left.
std::vector<sim::TraceJob> Place(const std::vector<Wanted>& wanted, std::vector<int> hosts) {
  std::vector<int> halves;
  std::vector<sim::TraceJob> jobs;
  for (const Wanted& want : wanted) {
    const bool whole = std::string_view(want.model) == "GPT";
    if (!whole && halves.empty()) {
      halves = hosts;
      halves.insert(halves.end(), hosts.begin(), hosts.end());
    }
    std::vector<int>& from = whole ? hosts : halves;
    const int share = whole ? 8 : 4;
    for (int i = 0; i < want.count; ++i) {
      sim::TraceJob job{StrCat(want.model, i), want.model, want.gpus, 0, kWorkSeconds};
      for (int left = want.gpus; left > 0; left -= share) {
        job.places.push_back({from.back(), share});
        from.pop_back();
      }
      jobs.push_back(std::move(job));
    }
  }
  return jobs;
}

struct Spread {
  std::vector<double> values;
  std::string Text() const {
    double sum = 0, squares = 0;
    for (const double x : values) sum += x;
    const double mean = sum / static_cast<double>(values.size());
    for (const double x : values) squares += (x - mean) * (x - mean);
    char text[48];
    std::snprintf(text, sizeof text, "%+6.1f +- %4.1f %%", mean,
                  std::sqrt(squares / static_cast<double>(values.size())));
    return text;
  }
};

sim::TraceResult Run(const fabric::Network& network, const std::vector<sim::TraceJob>& jobs,
                     crux::Policy policy, bool nvlink, std::uint64_t seed) {
  sim::TraceOptions options;
  options.host = sim::HostSpecOf(network.spec());
  if (!nvlink) options.host->nvlink_gbps = 0;
  options.policy = policy;
  options.seed = seed;
  auto result = sim::RunTrace(network, jobs, options);
  if (!result.ok()) {
    std::fprintf(stderr, "%s\n", MessageOf(result.status()).c_str());
    std::exit(1);
  }
  return *std::move(result);
}

double MeanCompletion(const sim::TraceResult& result, std::string_view model) {
  double sum = 0;
  int count = 0;
  for (const sim::TraceJobResult& job : result.jobs) {
    if (job.id.rfind(model, 0) != 0) continue;
    sum += job.finish_seconds;
    ++count;
  }
  return sum / count;
}

// Where hosts are drawn, or in the order of the ToRs; and what joins the GPUs of one.
enum class Hosts { kDrawn, kInARow, kInARowWithoutNvlink };

// What crux changes against ECMP.
void Scenario(const fabric::Network& network, const char* name, const std::vector<Wanted>& wanted,
              Hosts kind, int seeds, const char* paper, int host_count = kTors * kHostsOfTor) {
  Spread utilisation;
  std::vector<Spread> completion(wanted.size());
  for (int seed = 1; seed <= seeds; ++seed) {
    std::vector<int> hosts;
    for (int h = 0; h < host_count; ++h) hosts.push_back(h);
    Random random(static_cast<std::uint64_t>(seed));
    if (kind == Hosts::kDrawn) random.Shuffle(hosts);
    const bool nvlink = kind != Hosts::kInARowWithoutNvlink;
    const std::vector<sim::TraceJob> jobs = Place(wanted, std::move(hosts));
    const auto ours =
        Run(network, jobs, crux::Policy::kCrux, nvlink, static_cast<std::uint64_t>(seed));
    const auto ecmp =
        Run(network, jobs, crux::Policy::kEcmp, nvlink, static_cast<std::uint64_t>(seed));
    utilisation.values.push_back(100 * (ours.utilisation / ecmp.utilisation - 1));
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      completion[w].values.push_back(
          100 *
          (MeanCompletion(ours, wanted[w].model) / MeanCompletion(ecmp, wanted[w].model) - 1));
    }
  }
  std::printf("%-44s utilisation %s", name, utilisation.Text().c_str());
  for (std::size_t w = 0; w < wanted.size(); ++w) {
    std::printf("  %s %s", wanted[w].model, completion[w].Text().c_str());
  }
  std::printf("\n%-44s paper: %s\n", "", paper);
}

// A job with the middle of what simulator/trace_workload.h draws, sized to an iteration of
// `seconds`.
crux::ContendingJob Typical(double seconds, double ring_hosts) {
  const double ratio = sim::kCommunicationRatio * ((ring_hosts - 1) / ring_hosts) / (7.0 / 8);
  crux::ContendingJob job;
  job.communication_start = 0.65;
  job.compute_seconds = seconds / std::max(1.0, job.communication_start + ratio);
  job.flows.push_back({"f", ratio * job.compute_seconds * 12.5e9, {{0}}});
  return job;
}

// The pair from production: both on one link at a GPU's share of the NICs, served alike.
void Pair() {
  constexpr double kGpt = 1.53;
  constexpr double kBert = 0.325;  // the middle of the models that are not split
  crux::JobDecision decision;
  decision.paths = {0};
  std::vector<sim::SimulatedJob> jobs = {
      sim::SpecOf(Typical(kGpt, 8), decision, sim::JobStart::kFresh),
      sim::SpecOf(Typical(kBert, 2), decision, sim::JobStart::kFresh)};
  sim::Simulator simulator({100});
  for (const sim::SimulatedJob& job : jobs) simulator.AddJob(job);
  constexpr double kWindow = 1000;
  if (!simulator.RunUntil(kWindow).ok()) std::exit(1);
  const double gpt =
      kWindow / static_cast<double>(simulator.Totals(sim::SimulatedJobId(0)).iterations);
  const double bert =
      kWindow / static_cast<double>(simulator.Totals(sim::SimulatedJobId(1)).iterations);
  std::printf(
      "%-44s GPT %.2f -> %.2f s an iteration (%+.1f %%), throughput %+.1f %%, BERT %+.1f %%\n",
      "64-GPU GPT and 16-GPU BERT on one link", kGpt, gpt, 100 * (gpt / kGpt - 1),
      100 * (kGpt / gpt - 1), 100 * (kBert / bert - 1));
  std::printf("%-44s paper: 1.53 -> 1.70 s (+11 %%), throughput -9.9 %%, BERT -7.7 %%\n", "");
}

}  // namespace

int main(int argc, char** argv) {
  const int seeds = argc > 1 ? std::atoi(argv[1]) : 20;
  const fabric::Network network = Testbed();
  Pair();
  for (const int berts : {2, 4, 8}) {
    Scenario(network, StrCat("32-GPU GPT, ", berts, " x 8-GPU BERT").c_str(),
             {{"GPT", 1, 32}, {"BERT", berts, 8}}, Hosts::kDrawn, seeds,
             "utilisation +8.3 ... +12.9 %, GPT -11 ... -25 %, BERT +0 ... +3 %");
  }
  Scenario(network, "48-GPU GPT, 2 x 8-GPU ResNet, 2 x 16-GPU BERT",
           {{"GPT", 1, 48}, {"BERT", 2, 16}, {"ResNet", 2, 8}}, Hosts::kDrawn, seeds,
           "utilisation +13.9 %, GPT -18 %, BERT -15 %, ResNet +2 %");
  // PCIe contention: half hosts side by side, so that jobs meet below one PCIe switch or NIC.
  const char* pcie = "utilisation +9.5 ... +14.8 %";
  for (const Hosts kind : {Hosts::kInARow, Hosts::kInARowWithoutNvlink}) {
    const char* nvlink = kind == Hosts::kInARow ? "PCIe" : "PCIe, without NVLink";
    Scenario(network, StrCat(nvlink, ": 16-GPU BERT, 4 x 4-GPU ResNet").c_str(),
             {{"BERT", 1, 16}, {"ResNet", 4, 4}}, kind, seeds, pcie, 4);
    for (const int bert : {8, 16, 24}) {
      Scenario(network, StrCat(nvlink, ": 8-GPU ResNet, ", bert, "-GPU BERT").c_str(),
               {{"BERT", 1, bert}, {"ResNet", 1, 8}}, kind, seeds, pcie, bert / 4);
    }
  }
  return 0;
}
