#include "pkg/operator/hosts/segment_loss.h"

#include <algorithm>
#include <cmath>

namespace yardmaster::op {

std::optional<std::int64_t> LossBegan(std::vector<std::int64_t> onsets_ms, int hosts,
                                      const SegmentLossLimits& limits) {
  const int share = static_cast<int>(std::ceil(limits.share * hosts));
  const auto needed = static_cast<std::size_t>(std::max({limits.hosts, share, 1}));
  if (onsets_ms.size() < needed) return std::nullopt;
  std::sort(onsets_ms.begin(), onsets_ms.end());
  for (std::size_t last = needed - 1; last < onsets_ms.size(); ++last) {
    if (onsets_ms[last] - onsets_ms[last - needed + 1] <= limits.window_ms) return onsets_ms[last];
  }
  return std::nullopt;
}

bool IsUpAgain(int bad, int hosts, const SegmentLossLimits& limits) {
  return bad <= static_cast<int>((1 - limits.share) * hosts);
}

}  // namespace yardmaster::op
