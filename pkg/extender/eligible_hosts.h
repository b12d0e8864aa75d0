// The hosts that a job may use, less some of them.
//
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "pkg/plan/snapshot.h"

namespace yardmaster::extender {

// `job.eligible` without the hosts of these names, by HostId; null: every host. Names that are not in the
// snapshot are ignored.
std::shared_ptr<const std::vector<std::uint8_t>> EligibleWithout(
    const plan::Snapshot& snapshot, const plan::JobState& job,
    const std::vector<std::string>& names);

}  // namespace yardmaster::extender
