#include "pkg/api/capacity_policy.h"

#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/api/money_field.h"

namespace yardmaster::api {

using nlohmann::json;

namespace {

constexpr std::string_view kPriceRiseNames[] = {"Move", "Wait"};

}  // namespace

std::string CapacityPolicy::currency() const {
  if (max_cost_per_hour) return max_cost_per_hour->currency;
  return max_total_cost ? max_total_cost->currency : "";
}

CapacityPolicy ReadCapacityPolicy(FieldReader& spec) {
  FieldReader in = spec.Object("capacity");
  CapacityPolicy policy;
  policy.types = ReadCapacityTypes(in, "types");
  policy.instance_types =
      in.Strings("instanceTypes", {.max_entries = 64, .is_set = true}, NotEmpty(kLabelValue));
  policy.mixed_instance_types = in.Bool("mixedInstanceTypes", policy.mixed_instance_types);
  policy.max_cost_per_hour = ReadMoney(in, "maxCostPerHour");
  policy.max_total_cost = ReadMoney(in, "maxTotalCost");
  policy.min_runtime_seconds = in.Int("minRuntimeSeconds", 0, 0, kMaxSeconds);
  policy.restart_seconds = in.Int("restartSeconds", policy.restart_seconds, 0, kMaxSeconds);
  policy.on_price_rise = in.Enum("onPriceRise", kPriceRiseNames, policy.on_price_rise);
  if (policy.max_cost_per_hour && policy.max_total_cost &&
      policy.max_cost_per_hour->currency != policy.max_total_cost->currency) {
    in.errors().Add(in.PathOf("maxTotalCost"), "is in another currency than maxCostPerHour",
                    "use one currency for both");
  }
  in.Close();
  return policy;
}

json EncodeCapacityPolicy(const CapacityPolicy& policy) {
  const CapacityPolicy defaults;
  json out;
  if (!policy.types.empty()) out["types"] = EncodeCapacityTypes(policy.types);
  if (!policy.instance_types.empty()) out["instanceTypes"] = policy.instance_types;
  if (policy.mixed_instance_types) out["mixedInstanceTypes"] = true;
  if (policy.max_cost_per_hour) {
    out["maxCostPerHour"] = capacity::FormatMoney(*policy.max_cost_per_hour);
  }
  if (policy.max_total_cost) out["maxTotalCost"] = capacity::FormatMoney(*policy.max_total_cost);
  const std::pair<const char*, int CapacityPolicy::*> seconds[] = {
      {"minRuntimeSeconds", &CapacityPolicy::min_runtime_seconds},
      {"restartSeconds", &CapacityPolicy::restart_seconds}};
  for (const auto& [key, field] : seconds) {
    if (policy.*field != defaults.*field) out[key] = policy.*field;
  }
  if (policy.on_price_rise != defaults.on_price_rise) {
    out["onPriceRise"] = kPriceRiseNames[static_cast<std::size_t>(policy.on_price_rise)];
  }
  return out;
}

}  // namespace yardmaster::api
