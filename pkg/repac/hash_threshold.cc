#include "pkg/repac/hash_threshold.h"

#include <numeric>

namespace yardmaster::repac {

Thresholds ThresholdsOf(std::span<const int> weights) {
  const auto total = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  Thresholds bounds;
  bounds.reserve(weights.size());
  std::uint64_t sum = 0;
  for (int weight : weights) {
    sum += static_cast<std::uint64_t>(weight);
    bounds.push_back(static_cast<std::uint32_t>(((sum << 31) + total / 2) / total - 1));
  }
  return bounds;
}

Thresholds EqualThresholds(std::size_t members) {
  return ThresholdsOf(std::vector<int>(members, 1));
}

}  // namespace yardmaster::repac
