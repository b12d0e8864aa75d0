// The network numbers of a placed job: Crux's, and the traffic they were made of ("network" of
// PlanReport; a Gang's status has a part of them, api::NetworkStatus). Thread safety: a value.
#pragma once

#include <optional>

#include "pkg/crux/problem.h"

namespace yardmaster::netplan {

struct JobNetwork : crux::JobNumbers {
  double flop_per_iteration = 0;
  double compute_seconds = 0;  // of one iteration
  double bytes = 0;            // that leave its hosts in one iteration
  // Of its ideal rate, as crux::PredictedShares sees it; only with NetworkInput::predict_shares.
  std::optional<double> share;
};

}  // namespace yardmaster::netplan
