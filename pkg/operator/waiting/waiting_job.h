// Reads a job of another controller that waits for its place suspended (api/suspended_wait.h), and
// the pods that its controller would create if it were resumed.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"

#include "pkg/json/json_view.h"
#include "pkg/kube/resource.h"

namespace yardmaster::op {

// The fix in messages about jobs that cannot wait without pods.
inline constexpr char kLetPodsComeFirst[] =
    "set spec.suspend to false, and its pods wait behind the gate yardmaster.dev/placement";

// Accepts "Job" and "JobSet"; nullopt: jobs of this kind cannot wait without pods.
std::optional<kube::Resource> ResourceOfWaitingKind(std::string_view kind);

struct WaitingJob {
  kube::Resource resource;
  std::string namespace_name;
  std::string name;
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  bool gone = false;  // it has ended, or is being deleted
  bool suspended = false;
  std::string wait;     // the label's value; empty: no label
  std::string resumed;  // the annotation yardmaster.dev/resumed
  // The other controller that suspends and resumes it, "Kueue (label ...)"; empty if none.
  std::string left_to;
};

WaitingJob ReadWaitingJob(const kube::Resource& resource, JsonView object);

// Pods of one template that start together.
struct PodSet {
  std::string field;                // "spec.replicatedJobs[0].template.spec"
  std::optional<int> first_number;  // global index of the set's first Job; nullopt: not of a JobSet
  int jobs = 1;
  int pods = 0;              // pods of each Job
  nlohmann::json first_pod;  // as its controller would create it
};

// Returns the pod sets that request GPUs. Errors: InvalidArgument, with the field and the fix, if
// the pods do not start together or have no ranks of their own.
absl::StatusOr<std::vector<PodSet>> PodSetsOf(const WaitingJob& job, const nlohmann::json& object);

}  // namespace yardmaster::op
