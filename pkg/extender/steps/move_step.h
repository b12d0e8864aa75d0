// Moves of running gangs to other hosts: the ledger's half.
//
// A TrainingJob's status asks for one, with the next host of every rank (api/job_move.h). The
// promise of these hosts is one write of the Gang's status, beside the place that the gang has
// (api/gang_move.h). The operator ends the pods then. Once none of them can run, another write
// makes the next place the only one. Until then the gang keeps its place, and a promise that nobody
// asks for any more, that has expired, or whose hosts are out is given up in one write.
//
// Whether no pod can run, and whether the job still moves, is asked of the API server: the operator
// makes no pod of a job that has asked while the Gang, as the API server has it, holds the promise.
// So no pod is made for the former place after the gang has left it.
//
// Only gangs whose pods follow their place move: their pods can be made for any host. None gets a
// worse place than it has, and hosts that others wait for are not promised, so that who may ask for
// a move of one job takes nothing from others.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/extender/effects/effect.h"

namespace yardmaster::extender {

// From the promise on, beside the job's checkpoint.graceSeconds: for its pods to end.
inline constexpr std::int64_t kMoveMs = 600'000;

// Gives up promises that are not asked for any more, or have expired. Before hosts are given back
// for other causes.
std::vector<Work> EndMoves(const PassFacts& facts);
// Of a snapshot, before anything is planned on it: promises whose hosts are out are given up, and
// gangs without pods take theirs.
std::vector<Work> TakeUpMoves(const PassFacts& facts);
// Promises, or says why not. After the queue was placed and what it reserves is known.
std::vector<Work> PromiseMoves(const PassFacts& facts);

}  // namespace yardmaster::extender
