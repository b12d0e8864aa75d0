// Builds the objects that request the hosts of a rental from the job and its status, and reads the
// state of the hosts from these objects: ProvisioningRequests (autoscaling.x-k8s.io/v1) with their
// PodTemplates, and Karpenter's NodeClaims (karpenter.sh/v1).
//
// Entries of status.capacity.hosts whose pools have the same provisioning class and parameters
// share one ProvisioningRequest, so that their hosts come all or none. There is one NodeClaim per
// host; if one fails, the others are given back. Names are derived from the job and
// status.capacity.generation, so that every process finds existing objects.
//
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "nlohmann/json.hpp"

#include "pkg/api/capacity_pool.h"
#include "pkg/api/training_job.h"
#include "pkg/kube/resource.h"
#include "pkg/operator/capacity/capacity_step.h"

namespace yardmaster::op {

struct RentalObject {
  kube::Target target;
  // The object to create; null if the pool of the entry is gone.
  nlohmann::json object;
  std::vector<int> parts;  // entries of status.capacity.hosts that it is for
};

// Returns the objects in the order in which they are created.
std::vector<RentalObject> RentalObjects(const api::TrainingJob& job,
                                        const std::vector<api::CapacityPool>& pools);
// The same without object bodies. Names do not depend on the pools, so objects can be deleted
// without them.
std::vector<RentalObject> RentalNames(const api::TrainingJob& job);

// `found`: the existing objects, by position in `objects`; null: it does not exist. `created`: by
// position, whether this process has seen it exist.
Provisioning ReadProvisioning(const api::CapacityStatus& status,
                              const std::vector<RentalObject>& objects,
                              const std::vector<nlohmann::json>& found,
                              const std::vector<bool>& created);

}  // namespace yardmaster::op
