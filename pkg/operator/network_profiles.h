// Measured profiles: what the pods of a gang report of their iterations (yardmaster.dev/profile),
// put together for the whole job and blended with what is known of it analytically.
//
// Of every quantity the median over the reporting workers counts, so that one worker's nonsense
// does not move the job; FLOP and bytes of workers that report nothing are taken to be the same. A
// report that cannot be read counts as not made. Thread safety: pure functions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/outcome_json.h"
#include "pkg/api/pod.h"
#include "pkg/api/profile_report.h"
#include "pkg/plan/snapshot.h"
#include "pkg/workload/profile.h"

namespace yardmaster::op {

struct JobMeasurement {
  workload::Measurement measurement;
  std::optional<double> iteration_seconds;
};

// Nothing when nobody reports.
std::optional<JobMeasurement> Combine(const std::vector<api::ProfileReport>& reports, int workers,
                                      int gpus_per_worker);

struct MeasuredJob {
  api::NetworkSource source = api::NetworkSource::kAnalytic;
  std::optional<double> iteration_seconds;
  // Reports of it that cannot be read: "Pod ns/name: ...".
  std::vector<std::string> problems;
};

// Blends what `members` report into the job's profile. Jobs that nobody reports on stay as they
// are.
MeasuredJob ApplyProfile(const std::map<int, std::shared_ptr<const api::Pod>>& members, int rails,
                         plan::JobState& job);

}  // namespace yardmaster::op
