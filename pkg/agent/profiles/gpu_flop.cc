#include "pkg/agent/profiles/gpu_flop.h"

#include <algorithm>
#include <optional>
#include <set>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::agent {

namespace {

constexpr double kMaxTeraflops = 1e6;
constexpr double kMinTeraflops = 1e-3;
constexpr double kMaxMegahertz = 20'000;
constexpr double kMinMegahertz = 1;

bool Within(std::optional<double> value, double min, double max) {
  return value && *value >= min && *value <= max;  // NaN is not
}

const char* StateOf(const GpuSample& gpu, const std::set<std::string>& shared,
                    const GpuPeaks& peaks) {
  if (!gpu.instance.empty()) return "divided";
  if (shared.count(gpu.gpu) > 0) return "shared";
  if (gpu.pod.empty()) return "no-pod";
  if (peaks.count(gpu.model) == 0) return "unknown-model";
  if (!gpu.tensor_active) return "no-activity";
  if (!gpu.sm_clock_mhz) return "no-clock";
  return "measured";
}

}  // namespace

GpuPeaks KnownGpuPeaks() {
  // Teraflops of 16-bit formats without sparsity, at the boost clock of the data sheets.
  constexpr GpuPeak kV100 = {125.3e12, 1530};
  constexpr GpuPeak kA30 = {165.2e12, 1440};
  constexpr GpuPeak kA100 = {311.9e12, 1410};
  constexpr GpuPeak kH100 = {989.4e12, 1830};
  constexpr GpuPeak kH100Pcie = {756.4e12, 1620};
  return {{"Tesla V100-SXM2-16GB", kV100},
          {"Tesla V100-SXM2-32GB", kV100},
          {"NVIDIA A30", kA30},
          {"NVIDIA A100-SXM4-40GB", kA100},
          {"NVIDIA A100-SXM4-80GB", kA100},
          {"NVIDIA A100-PCIE-40GB", kA100},
          {"NVIDIA A100 80GB PCIe", kA100},
          {"NVIDIA H100 80GB HBM3", kH100},
          {"NVIDIA H100 PCIe", kH100Pcie},
          {"NVIDIA H200", kH100},
          {"NVIDIA H800", kH100}};
}

absl::Status AddGpuPeak(std::string_view text, GpuPeaks& peaks) {
  const std::size_t at = text.rfind('@');
  const std::size_t equals = text.substr(0, at).rfind('=');
  if (at != std::string_view::npos && equals != std::string_view::npos && equals > 0) {
    const auto teraflops = ParseNumber<double>(text.substr(equals + 1, at - equals - 1));
    const auto megahertz = ParseNumber<double>(text.substr(at + 1));
    if (Within(teraflops, kMinTeraflops, kMaxTeraflops) &&
        Within(megahertz, kMinMegahertz, kMaxMegahertz)) {
      peaks[std::string(text.substr(0, equals))] = {*teraflops * 1e12, *megahertz};
      return absl::OkStatus();
    }
  }
  return FieldError("--gpu-peak", StrCat("\"", text, "\" is not MODEL=TERAFLOPS@MEGAHERTZ"),
                    "give for example \"NVIDIA B200=2250@1850\"");
}

FlopRates FlopRatesOf(const std::vector<GpuSample>& samples, const GpuPeaks& peaks) {
  std::map<std::string, FlopRates::PodName> owners;
  std::set<std::string> shared;
  for (const GpuSample& gpu : samples) {
    const auto [at, fresh] = owners.emplace(gpu.gpu, FlopRates::PodName(gpu.ns, gpu.pod));
    if (!fresh && at->second != FlopRates::PodName(gpu.ns, gpu.pod)) shared.insert(gpu.gpu);
  }
  FlopRates rates;
  std::set<FlopRates::PodName> incomplete;
  for (const GpuSample& gpu : samples) {
    const std::string state = StateOf(gpu, shared, peaks);
    ++rates.gpus[state];
    if (state == "unknown-model" && rates.unknown_model.empty()) rates.unknown_model = gpu.model;
    if (gpu.pod.empty()) continue;
    const FlopRates::PodName pod(gpu.ns, gpu.pod);
    if (state != "measured") {
      incomplete.insert(pod);
      continue;
    }
    rates.flop_per_second[pod] +=
        *gpu.tensor_active * *gpu.sm_clock_mhz * 1e6 * peaks.at(gpu.model).flop_per_cycle();
    // One that waits lowers its clock.
    if (*gpu.tensor_active == 0) continue;
    const auto [at, first] = rates.clock_mhz.emplace(pod, *gpu.sm_clock_mhz);
    if (!first) at->second = std::min(at->second, *gpu.sm_clock_mhz);
  }
  for (const FlopRates::PodName& pod : incomplete) {
    rates.flop_per_second.erase(pod);
    rates.clock_mhz.erase(pod);
  }
  return rates;
}

}  // namespace yardmaster::agent
