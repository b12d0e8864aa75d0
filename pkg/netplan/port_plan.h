// Plans the source ports of a network plan: ports that take every flow along the uplink that Crux
// chose, with as few changes of the previous plan as possible.
//
// A flow keeps the first of these paths whose links are all up: its home path, its present path,
// the path of its alternate port. It gets a new port only if Crux then chose another uplink, if no
// path is left, or if its port now leads elsewhere. Acknowledgement paths that keep nothing are
// planned after the flows that have an uplink to take, onto the uplinks with the least load.
//
// Deterministic. Thread safety: one thread (forwarding models fill caches). Lifetimes: the
// arguments outlive the object.
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

class PortPlan {
 public:
  // `unusable`, by cable: down, or to be avoided.
  PortPlan(const plan::Snapshot& snapshot, const NetworkInput& input,
           const std::vector<std::uint8_t>& unusable);
  ~PortPlan();

  // Errors: hashes that cannot be compiled. REQUIRES of all other calls: status().ok().
  absl::Status status() const { return status_; }
  // Sets `path` to the path that the flow can keep of `previous`, at home on the links kept, by the
  // port that led over them before failures. Returns its candidate; -1: it keeps none.
  std::int32_t Keep(const FlowSource& flow, const repac::FlowPath& previous,
                    repac::FlowPath& path) const;
  // Adds a job's flows, each on the path that it keeps of `previous`; null: the job has no previous
  // paths. Returns the results of Keep.
  std::vector<std::int32_t> Add(const JobFlows& job, const PreviousJob* previous);
  // Sets plan.paths, plan.ack_paths and counts in plan.report for the flows of all jobs added,
  // which are `jobs`, in their order. A flow keeps its path if `chosen` is the path that it can
  // keep: kept.jobs[j].paths is the result of Add, or empty if the job had no previous paths.
  // REQUIRES: NetworkInput::ports.
  void Run(const std::vector<JobFlows>& jobs, const crux::Solution& kept,
           const crux::Solution& chosen, NetworkPlan& plan);

 private:
  struct Want;
  std::int32_t AddFlow(const JobFlows& job, const FlowSource& source,
                       const repac::FlowPath* previous, bool ack, int ports);
  void Choose(const std::vector<JobFlows>& jobs, const crux::Solution& kept,
              const crux::Solution& chosen);
  void FindPorts();
  void Finish(Want& want, NetworkReport& report) const;
  bool Whole(std::span<const fabric::LinkId> links) const;
  fabric::LinkPath Predict(const FlowSource& flow, std::uint16_t port) const;
  bool Excluded(const FlowSource& flow) const;

  const NetworkInput& input_;
  const fabric::Network& network_;
  const std::vector<std::uint8_t>& unusable_;
  repac::PathOptions options_;
  absl::Status status_;
  std::unique_ptr<repac::ForwardingModel> forwarding_;
  std::vector<Want> wants_;  // job by job: its flows, then its acknowledgement paths
};

}  // namespace yardmaster::netplan
