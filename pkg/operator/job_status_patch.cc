#include "pkg/operator/job_status_patch.h"

#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/operator/write_target.h"

namespace yardmaster::op {

absl::Status PatchJobStatus(kube::Client& client, state::ClusterCache& cache, api::TrainingJob& job,
                            const nlohmann::json& fields) {
  nlohmann::json patch = {{"metadata", {{"uid", job.metadata.uid}}}, {"status", fields}};
  if (!job.metadata.resource_version.empty()) {
    patch["metadata"]["resourceVersion"] = job.metadata.resource_version;
  }
  YM_ASSIGN_OR_RETURN(
      const nlohmann::json written,
      client.Patch({kube::TrainingJobs(), job.metadata.namespace_name, job.metadata.name, "status"},
                   kube::MergePatch(patch), {kFieldManager}));
  cache.Assume(state::Kind::kTrainingJob, written);
  job.metadata.resource_version = kube::ResourceVersionOf(written);
  return absl::OkStatus();
}

}  // namespace yardmaster::op
