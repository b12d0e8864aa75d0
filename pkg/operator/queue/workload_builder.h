// Builds the Workload by which a TrainingJob asks Kueue for quota.
//
//   - The Workload is named "trainingjob-<job>-<first 5 characters of the job's uid>" and is owned
//     by the job.
//   - It has the pod set "main" for the workers, and one pod set for each role.
//   - A pod set has only the fields of the pods by which Kueue chooses quota and flavors: container
//     resources with the GPUs, overhead, runtime class, node selector, node affinity and
//     tolerations. Commands, environments and images are left out, because more users may read
//     Workloads than the job.
//   - It has no topology request, because Yardmaster places the job.
//   - An elastic job asks for its desired size, with its smallest size as minCount.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/kueue_workload.h"
#include "pkg/api/training_job.h"

namespace yardmaster::op {

// A priority and the class that defines it.
struct QueuePriority {
  int value = 0;
  std::string class_name;       // empty: none
  bool workload_class = false;  // a WorkloadPriorityClass; else a PriorityClass
};

// Returns the LocalQueue that the job names. Empty: the job names none, or another controller has
// admitted it and put Kueue's labels into its template.
std::string QueueNameOf(const api::TrainingJob& job);

std::string WorkloadName(const api::TrainingJob& job);
// Returns the pod sets of the Workload, the workers first.
std::vector<api::QueuedPodSet> PodSetsOf(const api::TrainingJob& job);

// `version`: of the API group, "v1beta2" or "v1beta1".
nlohmann::json BuildWorkload(const api::TrainingJob& job, const std::string& version,
                             const QueuePriority& priority);
// Returns a hash of the pod sets. The annotation yardmaster.dev/pod-sets has it, to recognize a
// Workload that was created for another size or other resource requests.
std::string PodSetsHash(const api::TrainingJob& job);

}  // namespace yardmaster::op
