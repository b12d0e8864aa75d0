// HostLoop is the operator's thread for hosts. After changes it marks and unmarks Nodes
// (operator/hosts/host_marker.h). Once a minute it gives back rented hosts that no job names
// (CapacityController::Sweep). It writes nothing while this process does not lead.
//
// Thread safety: Run from one thread. Lifetimes: everything passed in outlives the loop.
#pragma once

#include <cstdint>
#include <stop_token>

#include "pkg/app/leadership.h"
#include "pkg/app/runtime.h"
#include "pkg/base/run_once.h"
#include "pkg/metrics/loop.h"
#include "pkg/operator/capacity/capacity_controller.h"
#include "pkg/operator/hosts/host_marker.h"
#include "pkg/state/cluster_state.h"

namespace yardmaster::app {

class HostLoop {
 public:
  HostLoop(op::HostMarker& marker, op::CapacityController& capacity,
           const state::ClusterCache& cache, const Leadership& leadership, Runtime& runtime)
      : marker_(marker),
        capacity_(capacity),
        cache_(cache),
        leadership_(leadership),
        runtime_(runtime),
        loop_("hosts", runtime.registry(), runtime.log()),
        quarantined_(runtime.registry().GetGauge("yardmaster_operator_quarantined_hosts",
                                                 "hosts that are quarantined for worker failures")),
        fenced_(
            runtime.registry().GetGauge("yardmaster_operator_fenced_hosts",
                                        "lost hosts with the operator's out-of-service taint")) {}

  // Returns when `stop` is requested.
  void Run(const std::stop_token& stop);

 private:
  RunResult RunOnce(std::int64_t now_ms);
  void Sweep(std::int64_t now_ms, RunResult& result);

  op::HostMarker& marker_;
  op::CapacityController& capacity_;
  const state::ClusterCache& cache_;
  const Leadership& leadership_;
  Runtime& runtime_;
  metrics::Loop loop_;
  const metrics::Gauge quarantined_;
  const metrics::Gauge fenced_;
  std::int64_t next_sweep_ms_ = 0;
};

}  // namespace yardmaster::app
