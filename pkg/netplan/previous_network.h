// The previous network plan, in force until the next one: the levels and source ports of jobs, so
// that the next plan changes only what it must.
//
// A flow is identified by its two NICs and its NIC port, so a rank that moves to another host keeps
// nothing. Hosts and links are ids of one network; when hosts come and go, ids change their
// meaning, and a PreviousNetwork must be built again from names. A process that has just started
// knows ports from the pods' annotations and no links, which is enough to keep every port.
//
// Thread safety: values.
#pragma once

#include <compare>
#include <iterator>
#include <map>
#include <optional>

#include "pkg/crux/problem.h"
#include "pkg/fabric/network.h"
#include "pkg/repac/flow_path.h"
#include "pkg/workload/job.h"

namespace yardmaster::netplan {

// The network numbers of a placed job: Crux's, and the traffic they were made of ("network" of
// PlanReport; a Gang's status has a part of them, api::NetworkStatus).
struct JobNetwork : crux::JobNumbers {
  double flop_per_iteration = 0;
  double compute_seconds = 0;  // of one iteration
  double bytes = 0;            // of its flows in one iteration, as scaled for Crux (flow_problem.h)
  // The share of its ideal rate that it gets, by crux::PredictedShares; only with
  // NetworkInput::predict_shares.
  std::optional<double> share;
};

// The part of a job's traffic between two NICs that leaves by one NIC port.
struct FlowKey {
  fabric::HostId from_host;
  int from_rail = 0;
  int port = 0;
  fabric::HostId to_host;
  int to_rail = 0;
  auto operator<=>(const FlowKey&) const = default;
};

// FLOPs, compute seconds and bytes are 0 if unknown; unknown traffic counts as unchanged. The links
// of a flow are empty if they are those to which its source port leads now.
struct PreviousJob : JobNetwork {
  std::map<FlowKey, repac::FlowPath> flows;
};

using PreviousNetwork = std::map<NamespacedName, PreviousJob>;

// Finds flows by keys that mostly ascend, as those of a job's traffic do. Complexity: O(1) for a
// key a few entries after the last one found, else O(log flows). Lifetimes: `flows` outlives the
// object.
class FlowFinder {
 public:
  using Flows = std::map<FlowKey, repac::FlowPath>;
  explicit FlowFinder(const Flows& flows) : flows_(flows), next_(flows.begin()) {}
  // Null if there is none.
  const repac::FlowPath* Find(const FlowKey& key) {
    constexpr int kSteps = 4;
    auto at = next_;
    for (int step = 0; step < kSteps && at != flows_.end() && at->first < key; ++step) ++at;
    if (at == flows_.end() || at->first != key) at = flows_.find(key);
    if (at == flows_.end()) return nullptr;
    next_ = std::next(at);
    return &at->second;
  }

 private:
  const Flows& flows_;
  Flows::const_iterator next_;
};

}  // namespace yardmaster::netplan
