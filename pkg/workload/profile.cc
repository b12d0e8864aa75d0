#include "pkg/workload/profile.h"

#include <algorithm>
#include <cmath>

#include "pkg/workload/traffic.h"

namespace yardmaster::workload {
namespace {

constexpr std::int64_t kTrustedSamples = 20;

double Weight(std::int64_t samples) {
  const std::int64_t counted = std::clamp<std::int64_t>(samples, 0, kTrustedSamples);
  return static_cast<double>(counted) / static_cast<double>(kTrustedSamples);
}

bool Believable(std::optional<double> value) {
  return value && std::isfinite(*value) && *value > 0;
}

bool BelievableFraction(std::optional<double> value) {
  return value && *value >= 0 && *value <= 1;  // NaN is neither
}

// An unknown estimate (0) has nothing to say.
double BlendScale(double analytic, std::optional<double> measured, double weight) {
  if (weight <= 0 || !Believable(measured)) return analytic;
  if (weight >= 1 || !(analytic > 0)) return *measured;
  return std::exp((1 - weight) * std::log(analytic) + weight * std::log(*measured));
}

}  // namespace

BlendedProfile BlendProfile(const Job& job, const Measurement& measurement,
                            const NetworkEstimate& estimate) {
  BlendedProfile out;
  out.profile = CompleteProfile(job);
  const double weight = Weight(measurement.samples);
  Profile& profile = out.profile;
  profile.flop_per_iteration =
      BlendScale(profile.flop_per_iteration, measurement.flop_per_iteration, weight);
  profile.compute_seconds =
      BlendScale(profile.compute_seconds, measurement.compute_seconds, weight);
  const bool start = BelievableFraction(measurement.communication_start);
  if (start) {
    profile.communication_start +=
        weight * (*measurement.communication_start - profile.communication_start);
  }
  double scale = 1;
  const bool bytes = Believable(measurement.sent_bytes_per_gpu) && estimate.sent_bytes_per_gpu > 0;
  if (bytes) {
    scale = BlendScale(estimate.sent_bytes_per_gpu, measurement.sent_bytes_per_gpu, weight) /
            estimate.sent_bytes_per_gpu;
  }
  for (double* kind : {&profile.data_bytes, &profile.expert_data_bytes, &profile.pipeline_bytes,
                       &profile.tensor_bytes, &profile.context_bytes, &profile.expert_bytes}) {
    *kind *= scale;
  }
  out.communication_seconds =
      BlendScale(estimate.communication_seconds * scale, measurement.communication_seconds, weight);

  const bool flop = Believable(measurement.flop_per_iteration);
  const bool seconds = Believable(measurement.communication_seconds);
  if (weight > 0 && seconds) profile.communication_seconds = out.communication_seconds;
  const bool any = flop || seconds || start || bytes || Believable(measurement.compute_seconds);
  if (weight <= 0 || !any) return out;
  out.weight = weight;
  out.source = weight >= 1 && flop && seconds ? ProfileSource::kMeasured : ProfileSource::kBlended;
  return out;
}

}  // namespace yardmaster::workload
