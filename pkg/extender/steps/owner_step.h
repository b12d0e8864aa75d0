// The step of a pass that gives back the hosts of gangs that do not need them. It reads the owner
// of a gang without pods to learn whether pods will come again.
//
//   every rank's pod has succeeded        finished; the owner is not read
//   the owner has finished or is gone     finished
//   the owner is suspended                the hosts are given back; the gang is planned again when
//                                         it resumes
//   its pods were released                the hosts are given back; the pods run without a place
//   the owner is active or unreadable     the gang keeps its hosts for a limited time
//                                         (gather/pods_gone.h), then they are given back
//   pods that follow the place were       the hosts are given back, at the latest after
//   refused, or do not come               gather::PodsComeWithinMs; the gang queues again
//   pods of a finished gang exist         the gang waits for a place again
//
// For a Gang without hosts and pods the step writes into the condition Planned what the owner says,
// in place of an earlier planning result. Gangs that the garbage collector does not delete are
// deleted by gang_cleanup.h.
//
// No hosts are given back while a pod of the gang is terminating. The owner is read once when the
// pods have gone, and then at growing intervals; a change of the gang's pods starts this again.
//
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

// Runs before the snapshot.
std::vector<Work> GiveUnneededHostsBack(const PassFacts& facts);

}  // namespace yardmaster::extender
