// The extender's part of moving a running gang to other hosts.
//
//   1. The operator asks: status.move of the TrainingJob names the next host of every rank
//      (api/job_move.h).
//   2. The extender promises these hosts by one write of the Gang's status; the gang keeps its
//      present place beside them (api/gang_move.h). Or it refuses and writes why.
//   3. The operator ends the pods.
//   4. Once no pod of the gang can run, the extender makes the next place the only one, by one
//      write.
//
// The extender gives a promise up, in one write, when the job no longer asks for it, when it
// expires, or when one of its hosts is out of service. The gang then keeps its present place.
//
// Before step 4 the extender reads the pods and the TrainingJob from the API server, not from its
// cache. The operator creates no pod for a job that has asked while the Gang, as the API server has
// it, holds the promise. So no pod is created for the former place after the gang has left it.
//
// Only gangs whose pods follow their place can move, because their pods can be created for any
// host. The extender refuses a place that is worse than the present one, and hosts that other gangs
// wait for. So a user who may ask for a move of one job takes nothing from other jobs.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

// A promise expires after this time plus the job's checkpoint.graceSeconds.
inline constexpr std::int64_t kMoveMs = 600'000;

// Gives up promises that have expired or that the job no longer asks for. Runs before the steps
// that give hosts back for other causes.
std::vector<Work> EndMoves(const PassFacts& facts);
// Gives up promises whose hosts are out of service, and commits the next place of gangs whose pods
// have ended. Runs on the snapshot, before any gang is planned on it.
std::vector<Work> TakeUpMoves(const PassFacts& facts);
// Promises the hosts that a job asks for, or refuses. Runs after the queue is placed and its
// reservations are known.
std::vector<Work> PromiseMoves(const PassFacts& facts);

}  // namespace yardmaster::extender
