#include "pkg/api/suspended_wait.h"

namespace yardmaster::api {

bool MayWaitSuspended(const OwnerReference& owner) {
  if (owner.kind == "Job") return owner.api_version.starts_with("batch/");
  return owner.kind == "JobSet" && owner.api_version.starts_with("jobset.x-k8s.io/");
}

bool WaitsSuspended(JsonView job) {
  return job.At({"metadata", "labels", kWaitLabel}).String() == kWaitSuspended &&
         job.At({"spec", "suspend"}).Bool() == true;
}

}  // namespace yardmaster::api
