// Implements the verb `trace`: what each process did for one job, in the order of time.
//
// The sources are the objects (creation and commit times, the last transition of each condition,
// incidents) and the events about the job, its Gang and its pods. No logs are read.
//
// Thread safety: pure function.
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

// Returns the steps, ascending by time. `events`: events.k8s.io/v1 objects of the namespace. Pods
// that did the same in the same second are one step. Errors: as FindSubject (output/explain.h).
absl::StatusOr<std::vector<Step>> TraceOf(const state::ClusterState& cluster,
                                          const std::string& namespace_name, const std::string& job,
                                          const std::vector<nlohmann::json>& events);

}  // namespace yardmaster::cli
