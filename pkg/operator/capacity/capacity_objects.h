// What asks for the hosts of a rental: ProvisioningRequests (autoscaling.x-k8s.io/v1) with the
// PodTemplates that they refer to, and Karpenter's NodeClaims (karpenter.sh/v1). Objects out of the
// job and its status, and the state of the hosts out of the objects.
//
// Entries of status.capacity.hosts whose pools have the same provisioning class and parameters
// share one ProvisioningRequest, so that their hosts come all or none. NodeClaims are one a host;
// the others are given back when one fails. Names follow from the job and
// status.capacity.generation, so that what exists is found again by any process.
//
// Thread safety: pure functions.
#pragma once

#include <string>
#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/capacity_pool.h"
#include "pkg/api/training_job.h"
#include "pkg/kube/resource.h"
#include "pkg/operator/capacity/capacity_step.h"

namespace yardmaster::op {

struct RentalObject {
  kube::Target target;
  // What is created; null where the pool of the entry is gone.
  nlohmann::json object;
  std::vector<int> parts;  // entries of status.capacity.hosts that it is for
};

// In the order in which they are created.
std::vector<RentalObject> RentalObjects(const api::TrainingJob& job,
                                        const std::vector<api::CapacityPool>& pools);
// The same without objects. Names do not depend on the pools: what is to be deleted is found
// without them.
std::vector<RentalObject> RentalNames(const api::TrainingJob& job);

// `found`: the objects that exist, by position in `objects`; those that do not are null.
// `created`: by position, whether this process has seen it exist.
Provisioning ReadProvisioning(const api::CapacityStatus& status,
                              const std::vector<RentalObject>& objects,
                              const std::vector<nlohmann::json>& found,
                              const std::vector<bool>& created);

}  // namespace yardmaster::op
