// PassReport describes what a pass of the planner has done. It is used for metrics, for the log,
// for events, and to schedule the next pass.
//
// Thread safety: values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "pkg/api/gang.h"
#include "pkg/extender/ledger/free_places.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::extender {

// An event on an object.
struct ObjectNotice {
  api::OwnerReference regarding;
  std::string namespace_name;
  bool warning = false;
  std::string reason;  // "Placed", "NotPlaced", "HostReplaced", "Preempting", ...
  std::string note;
};

using Notify = std::function<void(const ObjectNotice&)>;

// A gang got a place, or its status says for the first time that it has none.
struct GangDecision {
  placement::Outcome outcome = placement::Outcome::kPlaced;
  double seconds = 0;  // since it joined the queue
  int priority = 0;
};

struct PassReport {
  int fenced = 0;  // Gangs that got the token of a new hold
  int gangs_created = 0;
  int adopted = 0;        // Gangs rebuilt from running pods
  int given_back = 0;     // gangs that gave their hosts back
  int gate_timeouts = 0;  // gangs that waited for longer than their limit
  int isolated = 0;       // isolated gangs (effects/gang_isolation.h)
  int committed = 0;
  int replaced_ranks = 0;
  int released_pods = 0;
  int late_networks = 0;         // gangs released without the network plan for which they waited
  int preemptions = 0;           // decided
  int preemptions_given_up = 0;  // ended without a commit
  int evicted_pods = 0;
  int revoked = 0;        // gangs that lost hosts that were also promised to another gang
  int recalled_pods = 0;  // pods evicted because their plan no longer holds
  int refused_hosts = 0;  // pods replaced because kube-scheduler refused their host
  int taint_changes = 0;  // Nodes whose promised taint was written or removed
  int tainted_hosts = 0;  // Nodes that should carry it after the pass
  int degraded = 0;       // committed gangs with lost hosts
  int queue_plans = 0;    // plans of the queue; 0: no gang waits, or the last plan holds
  int waiting = 0;        // gangs without a place
  int waiting_gpus = 0;   // GPUs that they request
  std::vector<FreePlaces> free_places;  // at the start of the pass
  std::vector<GangDecision> decisions;  // written in this pass
  double oldest_gated_seconds = 0;      // age of the pod that has been behind the gate for longest
  bool run_again_now = false;           // the next pass should start without a pause
  // Time in independent writes of pods and Nodes: releases, evictions, taints, gates.
  std::int64_t waited_ms = 0;
  bool more_to_do = false;  // work is left; the next pass should start soon
  // Time until the next pass if nothing changes; the largest value: none is needed.
  std::int64_t wake_in_ms = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> errors;    // failed reads, writes and steps; the next pass tries again
  std::vector<std::string> problems;  // input that cannot be used

  void WakeIn(std::int64_t ms) { wake_in_ms = std::min(wake_in_ms, ms); }
};

}  // namespace yardmaster::extender
