// The verb `trace`: what each process did for one job, in the order of time.
//
// From the objects (when they were made and committed, the last change of each condition,
// incidents) and the events about the job, its Gang and its pods; nothing is read from logs. Thread
// safety: pure function.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/state/cluster_state.h"

namespace yardmaster::cli {

struct Step {
  std::int64_t time_ms = 0;
  std::string source;  // "extender", "operator", "kube-scheduler", "api", ...
  std::string object;  // "TrainingJob gpt", "Pod gpt-3"
  std::string text;
  bool operator==(const Step&) const = default;
};

// Ascending by time. `events` are events.k8s.io/v1 documents of the namespace. Pods that did the
// same at the same second are one step. Errors: as FindSubject (output/explain.h).
absl::StatusOr<std::vector<Step>> TraceOf(const state::ClusterState& cluster,
                                          const std::string& namespace_name, const std::string& job,
                                          const std::vector<nlohmann::json>& events);

}  // namespace yardmaster::cli
