// Blends the profiles that the pods of gangs report (telemetry/network_profiles.h) into a snapshot
// of which no network plan was made before, so that no contention was predicted for any job.
//
// Complexity: O(jobs + pods). Thread safety: pure function.
#pragma once

#include <string>
#include <vector>

#include "pkg/operator/network/pods_by_gang.h"
#include "pkg/plan/snapshot.h"

namespace yardmaster::op {

// Leaves out jobs that have problems. Returns the reports that cannot be read, as
// MeasuredJob::problems. REQUIRES: snapshot.network.
std::vector<std::string> ApplyReportedProfiles(const PodsByGang& pods, plan::Snapshot& snapshot);

}  // namespace yardmaster::op
