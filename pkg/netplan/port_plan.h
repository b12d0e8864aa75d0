// The ports half of a network plan: source ports that take every flow along the uplink that Crux
// chose, changing as little of the present plan as possible.
//
// A flow keeps the first of these whose links are all up: its home path, its present path, the path
// of its alternate port. Only a flow for which Crux then chose another uplink, which has nothing
// left, or whose port leads elsewhere now gets a new port. Answers (flow_problem.h) that keep
// nothing are planned after the flows that have an uplink to take, onto the uplinks that are least
// loaded then. Deterministic. Thread safety: none (forwarding models fill caches). Lifetimes: what
// is passed in must outlive it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "pkg/crux/problem.h"
#include "pkg/netplan/flow_problem.h"
#include "pkg/netplan/network_decisions.h"
#include "pkg/repac/path_planner.h"

namespace yardmaster::netplan {

// What a flow has now and can keep. `home_links` stays empty: the links kept are the home that
// ports are planned for. `home_port` is the port that led over them before failures; 0:
// source_port.
struct KeptPath : repac::FlowPath {
  int candidate = -1;                         // of the flow; -1: nothing to keep
  const repac::FlowPath* previous = nullptr;  // the flow in NetworkInput::previous; null: it is new
};

class PortPlan {
 public:
  // `unusable` by cable: down, or to be avoided.
  PortPlan(const plan::Snapshot& snapshot, const NetworkInput& input,
           const std::vector<std::uint8_t>& unusable);

  // Errors: hashes that cannot be compiled. REQUIRES of all other calls: status().ok().
  absl::Status status() const { return status_; }
  // The path of `previous` that the flow can keep; KeptPath::previous is left null.
  KeptPath ReusablePath(const FlowSource& flow, const repac::FlowPath& previous) const;
  // Fills plan.paths, plan.ack_paths and counts in plan.report. kept[job][flow] and solution are in
  // the order of `jobs`.
  void Run(const std::vector<JobFlows>& jobs, const std::vector<std::vector<KeptPath>>& kept,
           const crux::Solution& solution, NetworkPlan& plan) const;

 private:
  struct Want;
  std::vector<Want> Wants(const std::vector<JobFlows>& jobs,
                          const std::vector<std::vector<KeptPath>>& kept,
                          const crux::Solution& solution) const;
  bool Whole(std::span<const fabric::LinkId> links) const;
  fabric::LinkPath Predict(const FlowSource& flow, std::uint16_t port) const;
  bool Excluded(const FlowSource& flow) const;
  void Record(const Want& want, const repac::PlannedFlow& flow, PathAssignment& path) const;
  const PreviousJob* PreviousOf(const NamespacedName& job) const;

  const plan::Snapshot& snapshot_;
  const NetworkInput& input_;
  const fabric::Network& network_;
  const std::vector<std::uint8_t>& unusable_;
  repac::PathOptions options_;
  absl::Status status_;
  std::unique_ptr<repac::ForwardingModel> forwarding_;
};

}  // namespace yardmaster::netplan
