// What a pass of the planner has done, for metrics, the log and the pace of passes, and what people
// are told.
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

// A gang got its place, or its status says for the first time that it has none and whether it may
// get one.
struct GangDecision {
  placement::Outcome outcome = placement::Outcome::kPlaced;
  double seconds = 0;  // since it joined the queue
  int priority = 0;
};

struct PassReport {
  int fenced = 0;  // Gangs that were given the token of a new hold
  int gangs_created = 0;
  int adopted = 0;        // ledgers rebuilt from running pods
  int given_back = 0;     // gangs whose hosts are free again
  int gate_timeouts = 0;  // gangs that waited for longer than their limit
  int isolated = 0;       // gangs that are left alone because they cannot be handled
  int committed = 0;
  int replaced_ranks = 0;
  int released_pods = 0;
  int late_networks = 0;         // gangs released without the network plan that they waited for
  int preemptions = 0;           // decided
  int preemptions_given_up = 0;  // ended without a commit
  int evicted_pods = 0;
  int revoked = 0;        // gangs that lost hosts that were promised twice
  int recalled_pods = 0;  // pods evicted that were released under a plan that no longer holds
  int refused_hosts = 0;  // pods replaced because kube-scheduler refused their host
  int taint_changes = 0;  // Nodes whose promised taint was written or removed
  int tainted_hosts = 0;  // that carry it after the pass, as far as known
  int degraded = 0;       // committed gangs with lost hosts
  int queue_plans = 0;    // made of the queue; 0: none waits, or the last one still holds
  int waiting = 0;        // gangs without a place
  int waiting_gpus = 0;   // that they ask for
  std::vector<FreePlaces> free_places;  // as the pass found them
  std::vector<GangDecision> decisions;  // written in this pass
  double oldest_gated_seconds = 0;      // age of the pod that has been behind the gate for longest
  bool run_again_now = false;           // the next pass should come without a pause
  // For the API server, in writes of pods and Nodes of which none counts on another: releases,
  // evictions, taints, gates.
  std::int64_t waited_ms = 0;
  bool more_to_do = false;  // left for the next pass, which should come soon
  // When the next pass is wanted although nothing changes; the largest value: never.
  std::int64_t wake_in_ms = std::numeric_limits<std::int64_t>::max();
  std::vector<std::string> errors;    // writes that failed; the next pass tries again
  std::vector<std::string> problems;  // input that cannot be used

  void WakeIn(std::int64_t ms) { wake_in_ms = std::min(wake_in_ms, ms); }
};

}  // namespace yardmaster::extender
