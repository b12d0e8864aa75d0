#include "simulation/simulator/trace_workload.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::sim {
namespace {

constexpr std::int32_t kLarge = 128;
constexpr double kShardedBillions = 7;  // parameters from which on a model is split over GPUs
constexpr double kDay = 86400;
constexpr double kBytesPerGradient = 4;        // accumulated and reduced in single precision
constexpr double kGpuBytesPerSecond = 12.5e9;  // a GPU's share of four NICs of 200 Gbit/s
constexpr std::int32_t kGpusOfAHost = 8;
constexpr double kFlopPerGpu = 1.2e14;  // A100 class, at a usual efficiency

// Parameters in units of 1e9, read from names like "GPT-13b", "llama_30b" and "65b".
double BillionParameters(std::string_view model) {
  std::string name(model);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (!std::isdigit(static_cast<unsigned char>(name[i]))) continue;
    std::size_t end = i;
    while (end < name.size() && std::isdigit(static_cast<unsigned char>(name[end]))) ++end;
    if (end < name.size() && name[end] == 'b') {
      const auto billions = ParseNumber<std::int32_t>(std::string_view(name).substr(i, end - i));
      if (billions) return std::clamp(*billions, 1, 1000);
    }
    i = end;
  }
  const auto has = [&](std::string_view part) { return name.find(part) != std::string::npos; };
  if (has("llama") || has("gpt")) return 13;
  if (has("dlm")) return 3;
  if (has("bert")) return 0.34;
  return 0.06;
}

}  // namespace

std::int32_t StagesOf(const TraceJob& job, std::int32_t hosts) {
  const double billions = BillionParameters(job.model);
  std::int32_t stages = billions >= 60 ? 4 : billions >= 30 ? 2 : 1;
  while (stages > 1 && hosts % stages != 0) stages /= 2;
  return stages;
}

std::vector<TraceJob> GenerateTrace(const std::vector<ModelSize>& sizes,
                                    const GenerateOptions& options) {
  std::vector<ModelSize> small;
  std::vector<ModelSize> large;
  for (const ModelSize& size : sizes) {
    if (size.gpus > 0) (size.gpus >= kLarge ? large : small).push_back(size);
  }
  large.push_back({"GPT-13b", kLarge});
  large.push_back({"GPT-175b", 512});
  if (small.empty()) small = large;
  Random random(options.seed);
  std::vector<TraceJob> jobs;
  double now = 0;
  while (static_cast<std::int32_t>(jobs.size()) < options.jobs) {
    // Thinning: by night half as many arrive.
    now -= options.mean_gap_seconds * 0.75 * std::log(1 - random.Unit());
    const double day = 0.75 + 0.25 * std::sin(2 * std::numbers::pi * now / kDay);
    if (random.Unit() > day) continue;
    const auto& choice = random.Unit() < options.large_share ? large : small;
    const ModelSize& size = choice[random.Below(choice.size())];
    // Log-normal with a standard deviation of a factor e.
    const double u = 1 - random.Unit();
    const double v = random.Unit();
    const double normal = std::sqrt(-2 * std::log(u)) * std::cos(2 * std::numbers::pi * v);
    const double run = options.mean_run_seconds * std::exp(normal - 0.5);
    jobs.push_back({StrCat("job", jobs.size()), size.model, size.gpus, now,
                    std::clamp(run, 60.0, 20 * options.mean_run_seconds)});
  }
  return jobs;
}

JobProfile ProfileOf(const TraceJob& job, std::int32_t hosts, std::uint64_t seed) {
  Random random(seed);
  const double billions = BillionParameters(job.model);
  JobProfile profile;
  const bool sharded = billions >= kShardedBillions;
  profile.compute_seconds = sharded ? 0.8 + 1.4 * random.Unit() : 0.15 + 0.35 * random.Unit();
  profile.communication_start = 0.4 + 0.5 * random.Unit();
  profile.flop_per_iteration =
      job.gpus * kFlopPerGpu * profile.compute_seconds * (0.7 + 0.6 * random.Unit());
  profile.stages = StagesOf(job, hosts);
  const double ratio = kCommunicationRatio * std::exp2(2 * random.Unit() - 1);
  const double ring = std::max(1, hosts / profile.stages);
  profile.ring_bytes_per_gpu =
      ratio * profile.compute_seconds * kGpuBytesPerSecond * ((ring - 1) / ring) / (7.0 / 8);
  const std::int32_t beside = std::min(job.gpus, kGpusOfAHost);
  if (!sharded) {
    profile.host_ring_bytes_per_gpu =
        2 * billions * 1e9 * kBytesPerGradient * (beside - 1) / beside;
  }
  return profile;
}

}  // namespace yardmaster::sim
