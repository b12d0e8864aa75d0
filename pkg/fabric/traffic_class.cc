#include "pkg/fabric/traffic_class.h"

#include "pkg/base/strings.h"

namespace yardmaster::fabric {

namespace {

constexpr int kClassStep = 32;  // the three precedence bits of the byte
constexpr int kHighestClass = 255;

}  // namespace

absl::StatusOr<int> TrafficClassOf(const fabric::NetworkLevels& levels, int level) {
  if (level < 0 || level >= levels.count) {
    return absl::InvalidArgumentError(
        StrCat("level ", level, " is not one of the fabric's 0 to ", levels.count - 1));
  }
  const auto at = levels.traffic_class_of_level.find(level);
  const int traffic_class =
      at == levels.traffic_class_of_level.end() ? kClassStep * level : at->second;
  if (traffic_class < 0 || traffic_class > kHighestClass) {
    return absl::InvalidArgumentError(
        StrCat("traffic class ", traffic_class, " of level ", level, " does not fit into a byte"));
  }
  return traffic_class;
}

}  // namespace yardmaster::fabric
