#include "pkg/operator/capacity/capacity_metrics.h"

#include <vector>

namespace yardmaster::op {

void AddCapacityMetrics(const CapacityController& capacity, metrics::Registry& registry) {
  const auto of_pools = [&capacity](auto value) {
    return [&capacity, value] {
      std::vector<metrics::Sample> out;
      for (const PoolUse& use : capacity.Uses()) {
        out.push_back({{{"pool", use.pool}, {"type", use.type}, {"currency", use.currency}},
                       static_cast<double>(value(use))});
      }
      return out;
    };
  };
  registry.AddGaugeSource("yardmaster_operator_rented_hosts",
                          "rented hosts that exist, by pool and contract",
                          of_pools([](const PoolUse& use) { return use.provided; }));
  registry.AddGaugeSource("yardmaster_operator_requested_hosts",
                          "hosts that are rented or asked for, by pool and contract",
                          of_pools([](const PoolUse& use) { return use.chosen; }));
  registry.AddGaugeSource("yardmaster_operator_rented_cost_per_hour",
                          "what the rented hosts that exist cost per hour, by pool and contract",
                          of_pools([](const PoolUse& use) { return use.cost_per_hour; }));
  registry.AddCounterSource("yardmaster_operator_rentals_ended_total",
                            "rentals that were left, by reason",
                            [&capacity] { return metrics::SamplesBy("reason", capacity.ends()); });
}

}  // namespace yardmaster::op
