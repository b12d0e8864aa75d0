// The Workload of a TrainingJob, by which it asks Kueue for quota.
//
// It is named "trainingjob-<job>-<first 5 characters of the job's uid>", belongs to the job, and
// has the pod set "main" for the workers and one for each role. A pod set has of the pods what
// quota and flavors are chosen by: the resources of the containers with the GPUs filled in, node
// selector, affinity, tolerations. Commands, environments and images are left out: others than
// the job's owner may read Workloads. Without topology requests: Yardmaster places the job.
//
// An elastic job asks for its wished size and names its smallest one as minCount.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "nlohmann/json_fwd.hpp"

#include "pkg/api/kueue_workload.h"
#include "pkg/api/training_job.h"

namespace yardmaster::op {

// The value of a priority, and the class that it comes from.
struct QueuePriority {
  int value = 0;
  std::string class_name;       // empty: none
  bool workload_class = false;  // a WorkloadPriorityClass; else a PriorityClass
};

// The LocalQueue that the job names; empty: none, or it was admitted by another controller, which
// has put Kueue's labels into its template.
std::string QueueNameOf(const api::TrainingJob& job);

std::string WorkloadName(const api::TrainingJob& job);
// As the Workload has them: the workers first.
std::vector<api::QueuedPodSet> PodSetsOf(const api::TrainingJob& job);

// `version` of the API group, "v1beta2" or "v1beta1".
nlohmann::json BuildWorkload(const api::TrainingJob& job, const std::string& version,
                             const QueuePriority& priority);
// Of the pod sets: kept in the annotation yardmaster.dev/pod-sets, to know a Workload that was made
// for another size or for other requests.
std::string PodSetsHash(const api::TrainingJob& job);

}  // namespace yardmaster::op
