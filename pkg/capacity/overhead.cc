#include "pkg/capacity/overhead.h"

#include <cmath>
#include <limits>

namespace yardmaster::capacity {

constexpr double kSecondsPerHour = 3600;

double BestIntervalSeconds(double checkpoint_seconds, double unannounced_per_hour) {
  if (unannounced_per_hour <= 0) return std::numeric_limits<double>::infinity();
  return std::sqrt(2 * checkpoint_seconds * kSecondsPerHour / unannounced_per_hour);
}

double LostShare(const CheckpointCost& cost, const Interruptions& interruptions) {
  const double announced = interruptions.announced_per_hour / kSecondsPerHour;
  const double unannounced = interruptions.unannounced_per_hour / kSecondsPerHour;
  const double stops = announced * (cost.checkpoint_seconds + cost.restart_seconds) +
                       unannounced * cost.restart_seconds;
  const double tau =
      cost.interval_seconds > 0
          ? cost.interval_seconds
          : BestIntervalSeconds(cost.checkpoint_seconds, interruptions.unannounced_per_hour);
  // Without unannounced interruptions, or with checkpoints that take no time, none is lost by them.
  if (std::isinf(tau) || tau <= 0) return stops;
  return stops + cost.checkpoint_seconds / tau + unannounced * tau / 2;
}

}  // namespace yardmaster::capacity
