#include "pkg/fabric/traffic_class.h"

#include <array>

#include "pkg/base/strings.h"

namespace yardmaster::fabric {

namespace {

constexpr int kHighestClass = 255;

constexpr std::array<int, 6> kUpToSixLevels = {0, 32, 64, 96, 128, 160};
constexpr std::array<int, 7> kSevenLevels = {0, 32, 40, 64, 96, 128, 160};
constexpr std::array<int, 8> kEightLevels = {0, 32, 40, 64, 72, 96, 128, 160};

// -1: none.
int DefaultClass(int count, int level) {
  const auto at = static_cast<std::size_t>(level);
  if (count <= 6) return kUpToSixLevels[at];
  if (count == 7) return kSevenLevels[at];
  return at < kEightLevels.size() ? kEightLevels[at] : -1;
}

}  // namespace

absl::StatusOr<int> TrafficClassOf(const fabric::NetworkLevels& levels, int level) {
  if (level < 0 || level >= levels.count) {
    return absl::InvalidArgumentError(
        StrCat("level ", level, " is not one of the fabric's 0 to ", levels.count - 1));
  }
  const auto at = levels.traffic_class_of_level.find(level);
  if (at == levels.traffic_class_of_level.end()) {
    const int by_default = DefaultClass(levels.count, level);
    if (by_default >= 0) return by_default;
    return absl::InvalidArgumentError(
        StrCat("level ", level, " has no traffic class; complete networkLevels.trafficClasses"));
  }
  if (at->second < 0 || at->second > kHighestClass) {
    return absl::InvalidArgumentError(
        StrCat("traffic class ", at->second, " of level ", level, " does not fit into a byte"));
  }
  return at->second;
}

}  // namespace yardmaster::fabric
