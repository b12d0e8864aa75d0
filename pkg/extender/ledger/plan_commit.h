// The one way in which a plan of a gang becomes a promise: the verifier agrees, one status write
// commits it, and the pass's snapshot follows.
//
// Thread safety: one thread, that of the pass.
#pragma once

#include <cstdint>
#include <vector>

#include "pkg/base/clock.h"
#include "pkg/extender/ledger/ledger.h"
#include "pkg/extender/ledger/pass.h"
#include "pkg/placement/outcome.h"

namespace yardmaster::extender {

// Of a job of the snapshot. False: the plan is not promised, or not known to be, and the snapshot
// is as it was; `pass.report` says why.
bool CommitPlan(PassState& pass, Ledger& ledger, const Clock& clock, plan::JobId job,
                const placement::GangPlan& plan, bool may_use_backup);

// GPUs of each host that are promised to placed jobs.
std::vector<std::int64_t> PromisedGpus(const plan::Snapshot& snapshot);

}  // namespace yardmaster::extender
