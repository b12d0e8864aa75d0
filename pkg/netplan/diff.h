// Computes what changes between two plans, by names, so that plans of different snapshots can be
// compared. Paths of acknowledgements (NetworkPlan::ack_paths) are not compared.
//
// Complexity: O(n log n) in ranks and paths. Deterministic. Thread safety: pure function.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pkg/netplan/network_plan.h"
#include "pkg/plan/planner.h"

namespace yardmaster::netplan {

struct MovedRank {
  NamespacedName job;
  int rank = 0;
  std::string from;  // host; empty: it had none
  std::string to;    // empty: it has none now
  bool operator==(const MovedRank&) const = default;
};

struct ChangedLevel {
  NamespacedName job;
  std::optional<int> from;
  std::optional<int> to;
  bool operator==(const ChangedLevel&) const = default;
};

// A flow, and its source port before and after; 0: none.
struct ChangedPort {
  NamespacedName job;
  std::string from;  // "<host>/<rail>/<port>"
  std::string to;
  std::uint16_t before = 0;
  std::uint16_t after = 0;
  bool operator==(const ChangedPort&) const = default;
};

struct PlanDiff {
  std::vector<MovedRank> moved;      // by (job, rank)
  std::vector<ChangedLevel> levels;  // by job
  std::vector<ChangedPort> ports;    // by (job, from, to)
  bool empty() const { return moved.empty() && levels.empty() && ports.empty(); }
};

// A snapshot and both halves of its plan. Lifetimes: they outlive this.
struct Planned {
  const plan::Snapshot& snapshot;
  const plan::Plan& placement;
  const NetworkPlan& network;
};

PlanDiff Diff(const Planned& before, const Planned& after);

}  // namespace yardmaster::netplan
