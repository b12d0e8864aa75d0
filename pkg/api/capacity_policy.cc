#include "pkg/api/capacity_policy.h"

#include "pkg/api/money_field.h"

namespace yardmaster::api {

std::string CapacityPolicy::currency() const {
  if (max_cost_per_hour) return max_cost_per_hour->currency;
  return max_total_cost ? max_total_cost->currency : "";
}

void CapacityPolicy::Describe(FieldVisitor& fields) {
  CapacityTypesField(fields, "types", types);
  fields.Texts("instanceTypes", instance_types, {.max_entries = 64, .is_set = true},
               NotEmpty(kLabelValue), "Instance types that may be rented; empty: any.",
               "An instance type of a CapacityPool.");
  fields.Bool(
      "mixedInstanceTypes", mixed_instance_types,
      Defaulted("Whether the hosts of the job may be of several instance types.").OmitAt(false));
  MoneyField(
      fields, "maxCostPerHour", max_cost_per_hour,
      "What all hosts together may cost in one hour: an amount and a currency, \"80.00 USD\".");
  MoneyField(fields, "maxTotalCost", max_total_cost, "What the job may cost over its life.");
  fields.Int(
      "minRuntimeSeconds", min_runtime_seconds, 0, kMaxSeconds,
      Defaulted("A run shorter than this is not worth a start; maxTotalCost must pay for it.")
          .OmitAt(0));
  fields.Int("restartSeconds", restart_seconds, 0, kMaxSeconds,
             Defaulted("Expected time from an interruption to the next useful step.")
                 .OmitAt(kUsualRestartSeconds));
  fields.Enum(
      "onPriceRise", on_price_rise, kOnPriceRiseNames,
      Defaulted("What follows when the prices of the rented hosts rise above the cap. Either "
                "way the job writes a checkpoint and gives them back; Move then rents the "
                "cheapest others below the cap, Wait waits until the same hosts are below it "
                "again.")
          .OmitAt(OnPriceRise::kMove));
  fields.Time("deadline", deadline_ms,
              "When the work is to be done. Hosts are the cheapest while there is time for that; "
              "deadlinePolicy says what follows when there is not. Needs workSeconds.");
  fields.Int(
      "workSeconds", work_seconds, 0, kMaxSeconds,
      About("How long all workers have to run, without interruptions, to do the work.").OmitAt(0));
  fields.Enum(
      "deadlinePolicy", deadline_policy, kDeadlinePolicyNames,
      Defaulted("What follows when the deadline needs hosts that are not taken back. OnDemand "
                "rents those, never above the caps; Report goes on with the cheapest hosts, and "
                "status.capacity.message says that the deadline is at risk.")
          .OmitAt(DeadlinePolicy::kOnDemand));
  fields.Rule("!has(self.deadline) || (has(self.workSeconds) && self.workSeconds > 0)",
              "deadline needs workSeconds; give how long all workers have to run for the work",
              ".deadline");
  fields.Rule(
      "!has(self.maxCostPerHour) || !has(self.maxTotalCost) || self.maxCostPerHour.split(' ')[1] "
      "== "
      "self.maxTotalCost.split(' ')[1]",
      "maxTotalCost is in another currency than maxCostPerHour; use one currency for both",
      ".maxTotalCost");
  fields.Check([this](FieldReader& in) {
    if (deadline_ms != 0 && work_seconds == 0) {
      in.errors().Add(in.PathOf("deadline"), "needs workSeconds",
                      "give how long all workers have to run for the work");
    }
    if (max_cost_per_hour && max_total_cost &&
        max_cost_per_hour->currency != max_total_cost->currency) {
      in.errors().Add(in.PathOf("maxTotalCost"), "is in another currency than maxCostPerHour",
                      "use one currency for both");
    }
  });
}

}  // namespace yardmaster::api
