#include "pkg/gather/pods_to_come.h"

#include "pkg/api/condition.h"
#include "pkg/api/suspended_wait.h"

namespace yardmaster::gather {

bool IsOfSuspendedJob(const api::Gang& gang) {
  return gang.pods != api::GangPods::kFirst && api::MayWaitSuspended(gang.owner);
}

bool PodsAreToCome(const api::Gang& gang) {
  return gang.pods != api::GangPods::kFirst && gang.status.committed() &&
         !api::IsTrue(gang.status.conditions, api::kReleasedCondition);
}

std::int64_t PodsComeWithinMs(const api::Gang& gang) {
  return kPodsComeMs + (IsOfSuspendedJob(gang) ? kSuspendedAgainMs : 0);
}

}  // namespace yardmaster::gather
