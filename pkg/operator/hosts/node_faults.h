// Translates signals on a Node into what the job there does. Signals are taints and conditions of
// Kubernetes, node-problem-detector, clouds and autoscalers, and NIC ports that the agent reports
// as down. A table, which users may configure, assigns each signal an action:
//
//   Ignore   nothing
//   Degrade  the signal is shown in the job's condition Degraded; no rank moves
//   Drain    the rank on the host moves as after the loss of a host, gracefully: its pod gets
//            SIGTERM and its grace period to write a checkpoint
//   Replace  as Drain, but the job is not asked for a checkpoint first: for hosts on which nothing
//            works
//
// The gravest of several signals decides. A signal takes effect once it has lasted `after_ms`
// without a pause (host_health.h).
//
// Table in YAML:
//
//   rules:
//   - {condition: KernelDeadlock, action: Replace, afterSeconds: 30}
//   - {condition: KernelReady, status: "False", action: Degrade}
//   - {taint: karpenter.sh/disrupted, action: Drain}
//   - {railDown: true, action: Drain, afterSeconds: 120}
//
// A rule has exactly one of condition, taint and railDown; the first that matches a signal decides.
// A taint key or condition type that ends with "*" matches by prefix. railDown: every port of the
// NIC of some rail is down.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/node.h"

namespace yardmaster::op {

enum class FaultAction { kIgnore, kDegrade, kDrain, kReplace };

struct FaultRule {
  enum class Signal { kCondition, kTaint, kRailDown };
  Signal signal = Signal::kCondition;
  std::string key;              // condition type or taint key
  std::string status = "True";  // of the condition
  FaultAction action = FaultAction::kIgnore;
  std::int64_t after_ms = 0;
  bool operator==(const FaultRule&) const = default;
};

struct NodeFault {
  // For example "condition KernelDeadlock True", "taint karpenter.sh/disrupted", "rail 3 down".
  std::string name;
  FaultAction action = FaultAction::kIgnore;
  std::int64_t after_ms = 0;
  bool operator==(const NodeFault&) const = default;
};

// The default rules; docs/failures.md has them as a table.
std::vector<FaultRule> DefaultFaultRules();
// Errors: InvalidArgument, one line per wrong field, each beginning with `source`.
absl::StatusOr<std::vector<FaultRule>> ParseFaultRules(std::string_view yaml,
                                                       std::string_view source);

// Returns the faults by name, without ignored ones. `nic_ports`: ports per NIC; 0: not known, and
// rails are not checked.
std::vector<NodeFault> FaultsOf(const api::Node& node, int nic_ports,
                                const std::vector<FaultRule>& rules);

}  // namespace yardmaster::op
