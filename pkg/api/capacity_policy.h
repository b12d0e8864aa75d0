// What capacity a TrainingJob may use and what it may cost: spec.capacity. Thread safety: values
// and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "pkg/api/field_visitor.h"
#include "pkg/api/node_constraints.h"
#include "pkg/capacity/money.h"

namespace yardmaster::api {

// What happens when the prices of rented hosts rise above the cap.
enum class OnPriceRise {
  kMove,  // a checkpoint, then the cheapest other hosts below the cap
  kWait   // a checkpoint, then it waits until the same hosts are below the cap again
};

inline constexpr std::string_view kOnPriceRiseNames[] = {"Move", "Wait"};

// What happens when only hosts that are not taken back can keep the deadline.
enum class DeadlinePolicy {
  kOnDemand,  // they are rented, below the caps
  kReport     // the hosts stay the cheapest; the message says that the deadline is at risk
};

inline constexpr std::string_view kDeadlinePolicyNames[] = {"OnDemand", "Report"};

inline constexpr int kUsualRestartSeconds = 300;

struct CapacityPolicy {
  std::vector<CapacityType> types;          // empty: any
  std::vector<std::string> instance_types;  // empty: any
  bool mixed_instance_types = false;        // hosts of one gang may differ
  std::optional<capacity::Money> max_cost_per_hour;
  std::optional<capacity::Money> max_total_cost;
  // A run shorter than this is not worth a start.
  int min_runtime_seconds = 0;
  int restart_seconds = kUsualRestartSeconds;  // from an interruption to the next useful step
  OnPriceRise on_price_rise = OnPriceRise::kMove;
  std::int64_t deadline_ms = 0;  // the work is to be done by then; 0: none
  int work_seconds = 0;          // how long all workers have to run for it
  DeadlinePolicy deadline_policy = DeadlinePolicy::kOnDemand;
  bool operator==(const CapacityPolicy&) const = default;

  // Whether hosts may be rented for the job.
  bool has_cap() const { return max_cost_per_hour.has_value() || max_total_cost.has_value(); }
  // Of both caps, which are in one currency; empty without a cap.
  std::string currency() const;

  void Describe(FieldVisitor& fields);
};

}  // namespace yardmaster::api
