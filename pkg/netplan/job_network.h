// The network numbers of a placed job: Crux's, and the traffic they were made of ("network" of
// PlanReport; a Gang's status has a part of them, api::NetworkStatus). Thread safety: a value.
#pragma once

#include <optional>

#include "pkg/crux/problem.h"

namespace yardmaster::netplan {

struct JobNetwork : crux::JobNumbers {
  double flop_per_iteration = 0;
  double compute_seconds = 0;  // of one iteration
  double bytes = 0;            // of its flows in one iteration, as scaled for Crux (flow_problem.h)
  // The share of its ideal rate that it gets, by crux::PredictedShares; only with
  // NetworkInput::predict_shares.
  std::optional<double> share;
};

}  // namespace yardmaster::netplan
