#include "pkg/agent/profiles/host_programs.h"

#include <algorithm>
#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

using metrics::Sample;

constexpr std::int64_t kMaxStepMs = 1'000;

// Reads of one kind, by what became of them.
std::vector<Sample> Reads(std::int64_t reads, std::int64_t failures) {
  return {{{{"result", "ok"}}, static_cast<double>(reads - failures)},
          {{{"result", "failed"}}, static_cast<double>(failures)}};
}

void AddGpuMetrics(metrics::Registry& registry, const GpuObserver& gpus) {
  registry.AddCounterSource("yardmaster_agent_gpu_reads_total",
                            "Reads of the dcgm-exporter, by what became of them.",
                            [&gpus] { return Reads(gpus.reads(), gpus.failures()); });
  registry.AddGaugeSource("yardmaster_agent_gpus",
                          "GPUs that the dcgm-exporter names, by whether their FLOP are measured.",
                          [&gpus] { return metrics::SamplesBy("state", gpus.gpus()); });
}

void AddNeighbourMetrics(metrics::Registry& registry, const NeighbourObserver& neighbours) {
  registry.AddCounterSource(
      "yardmaster_agent_neighbour_reads_total",
      "Reads of the LLDP daemon's neighbours, by what became of them.",
      [&neighbours] { return Reads(neighbours.reads(), neighbours.failures()); });
  registry.AddGaugeSource("yardmaster_agent_neighbour",
                          "1: what the NIC port is plugged into, in the words of LLDP.",
                          [&neighbours] {
                            std::vector<Sample> samples;
                            for (const PortNeighbour& seen : neighbours.seen()) {
                              samples.push_back({{{"device", seen.port.device()},
                                                  {"switch", seen.neighbour.chassis},
                                                  {"port", seen.neighbour.port}},
                                                 1});
                            }
                            return samples;
                          });
}

}  // namespace

absl::Status HostPrograms::MakeGpus() {
  if (options_.gpu_metrics.empty()) return absl::OkStatus();
  GpuOptions options;
  options.source = options_.gpu_metrics;
  options.interval_ms = options_.gpu_interval_ms;
  for (const std::string& peak : options_.gpu_peaks) {
    YM_RETURN_IF_ERROR(AddGpuPeak(peak, options.peaks));
  }
  gpus_ = std::make_unique<GpuObserver>(std::move(options));
  return absl::OkStatus();
}

absl::Status HostPrograms::MakeNeighbours(const std::string& node, const std::string& sysfs_root,
                                          std::function<std::vector<LocalNicPort>()> ports) {
  if (options_.lldp_file.empty() && options_.lldp_command.empty()) return absl::OkStatus();
  if (!options_.lldp_file.empty() && !options_.lldp_command.empty()) {
    return FieldError("--lldp-command", "stands beside --lldp-file", "give one of them");
  }
  NeighbourOptions options;
  options.file = options_.lldp_file;
  options.command = options_.lldp_command;
  options.node = node;
  options.sysfs_root = sysfs_root;
  if (!options_.lldp_names_file.empty()) {
    auto text = ReadTextFile(options_.lldp_names_file, TextLimits());
    if (!text.ok()) {
      return absl::InvalidArgumentError(StrCat("--lldp-names-file: ", MessageOf(text.status())));
    }
    YM_ASSIGN_OR_RETURN(options.names, ParseNeighbourNames(*text, options_.lldp_names_file));
  }
  neighbours_ = std::make_unique<NeighbourObserver>(std::move(options), std::move(ports));
  return absl::OkStatus();
}

absl::Status HostPrograms::Start(const std::string& node, const std::string& sysfs_root,
                                 std::function<std::vector<LocalNicPort>()> ports,
                                 const kube::Timing& timing, metrics::Registry& registry,
                                 const metrics::Logger& log) {
  YM_RETURN_IF_ERROR(MakeGpus());
  YM_RETURN_IF_ERROR(MakeNeighbours(node, sysfs_root, std::move(ports)));
  if (gpus_ == nullptr && neighbours_ == nullptr) return absl::OkStatus();
  if (gpus_ != nullptr) AddGpuMetrics(registry, *gpus_);
  if (neighbours_ != nullptr) AddNeighbourMetrics(registry, *neighbours_);
  const std::int64_t step_ms = std::min(kMaxStepMs, options_.gpu_interval_ms);
  loop_ = std::make_unique<metrics::Loop>("programs", registry, log);
  thread_ = std::jthread([this, step_ms, &clock = timing.clock,
                          &sleeper = timing.sleeper](const std::stop_token& stop) {
    RunResult result;
    do {
      result = loop_->RunOnce([&] { return RunOnce(clock.SteadyMs()); });
    } while (sleeper.Sleep(std::max(step_ms, result.again_ms.value_or(0)), stop));
  });
  return absl::OkStatus();
}

RunResult HostPrograms::RunOnce(std::int64_t now_ms) {
  RunResult result;
  if (gpus_ != nullptr) result.Fail("gpus", Contain([&] { gpus_->Step(now_ms); }));
  if (neighbours_ != nullptr) {
    result.Fail("neighbours", Contain([&] { neighbours_->Step(now_ms); }));
  }
  return result;
}

void HostPrograms::Stop() {
  if (!thread_.joinable()) return;
  thread_.request_stop();
  thread_.join();
}

void HostPrograms::Fill(const std::optional<PodInput>& pod, api::ProfileReport& report) const {
  if (gpus_ != nullptr && pod) gpus_->Fill(pod->ns, pod->name, report);
}

std::optional<bool> HostPrograms::GpusCompute(const std::optional<PodInput>& pod) const {
  return gpus_ != nullptr && pod ? gpus_->Computes(pod->ns, pod->name) : std::nullopt;
}

std::optional<std::string> HostPrograms::Neighbours() const {
  return neighbours_ == nullptr ? std::nullopt : neighbours_->document();
}

std::vector<absl::Status> HostPrograms::problems() const {
  std::vector<absl::Status> problems;
  if (gpus_ != nullptr) problems.push_back(gpus_->problem());
  if (neighbours_ != nullptr) problems.push_back(neighbours_->problem());
  std::erase_if(problems, [](const absl::Status& status) { return status.ok(); });
  return problems;
}

}  // namespace yardmaster::agent
