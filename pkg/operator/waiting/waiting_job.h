// A job of another controller that waits for its place suspended (api/suspended_wait.h): what its
// object says, and which pods its controller would make if it were resumed.
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

// What helps a job that cannot wait so.
inline constexpr char kLetPodsComeFirst[] =
    "set spec.suspend to false, and its pods wait behind the gate yardmaster.dev/placement";

// "Job" or "JobSet"; nullopt: jobs of another kind do not wait so.
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
  std::string wait;     // the label's value; empty: there is none
  std::string resumed;  // the operator's annotation
  // The other controller that suspends and resumes it, "Kueue (label ...)"; empty if none.
  std::string left_to;
};

WaitingJob ReadWaitingJob(const kube::Resource& resource, JsonView object);

// Pods of one template that begin together.
struct PodSet {
  std::string field;                // "spec.replicatedJobs[0].template.spec"
  std::optional<int> first_number;  // of the first Job of a JobSet; nullopt: a Job's own pods
  int jobs = 1;
  int pods = 0;              // of each
  nlohmann::json first_pod;  // as its controller would make it
};

// Those that ask for GPUs. Errors: InvalidArgument with the field and the fix where the pods do not
// come all at once, or have no ranks of their own.
absl::StatusOr<std::vector<PodSet>> PodSetsOf(const WaitingJob& job, const nlohmann::json& object);

}  // namespace yardmaster::op
