// The step of a pass that gives back the hosts of gangs that do not need them: the owner of a gang
// without pods is asked whether they will come again.
//
//   every rank's pod succeeded      finished, nothing is asked
//   the owner has finished or gone  finished
//   the owner is suspended          the hosts are given back; planned again when it is resumed
//   its pods were released          the hosts are given back; the pods run without a place
//   the owner is active             its pods may come again: the hosts stay the gang's for a while
//   no pod came within that time    the hosts are given back, whatever the owner reports
//                                   (gather/pods_gone.h)
//   pods of a finished gang         the gang waits for a place again
//
// A Gang without hosts and without pods says so in its condition Planned, with what its owner says:
// what was planned before does not hold. One that the garbage collector does not take is deleted
// (gang_cleanup.h).
//
// Nothing is given back while a pod of the gang is still on its way out. The owner is read from the
// API server once when the pods have gone and then ever less often; a change of the gang's pods
// starts this again.
//
// Thread safety: pure functions.
#pragma once

#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

// Before the snapshot.
std::vector<Work> GiveUnneededHostsBack(const PassFacts& facts);

}  // namespace yardmaster::extender
