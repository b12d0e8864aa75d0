// Defines what an agent reports about itself, as plain values. agent.proto has the same messages
// and describes every field.
//
// Thread safety: values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "pkg/api/profile_report.h"

namespace yardmaster::rpc {

enum class PlanState { kAwaiting, kSyncing, kSynced, kStale, kInvalid };

struct PodPlanStatus {
  std::string pod_namespace;
  std::string pod_name;
  std::string pod_uid;
  std::string node;
  std::string gang;
  int rank = 0;
  std::optional<int> level;
  int traffic_class = 0;
  int peers = 0;
  std::string plan_file;
  PlanState state = PlanState::kAwaiting;
  std::string last_error;
  bool operator==(const PodPlanStatus&) const = default;
};

struct LinkStatus {
  std::string node;
  int rail = 0;
  int port = 0;
  std::string device;
  bool up = true;
  bool operator==(const LinkStatus&) const = default;
};

struct AgentStatus {
  std::vector<std::string> nodes;
  std::vector<PodPlanStatus> pods;
  std::vector<LinkStatus> links;
  bool operator==(const AgentStatus&) const = default;
};

// The measurements of a pod's iterations.
struct IterationReport {
  std::string pod_uid;
  api::ProfileReport means;  // of this report only
  bool operator==(const IterationReport&) const = default;
};

struct StatusFilter {
  std::string node;     // empty: every node
  std::string pod_uid;  // empty: every pod
};

}  // namespace yardmaster::rpc
