// How often hosts fail in this cluster, from the incidents of its TrainingJobs.
//
// A job is seen from when all its workers ran first, or from the oldest incident that its status
// keeps where it may have had more before, until it has ended or now. Each incident of a lost or
// faulty host in that time is one failure; several jobs that lose one host within ten minutes are
// one. The loss of a whole segment or domain is none: that is one fault of something else. Of jobs
// that were deleted nothing is known.
//
// Determinism: the jobs and the time alone decide. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "pkg/api/training_job.h"
#include "pkg/state/object_table.h"

namespace yardmaster::state {

struct HostFailures {
  int failures = 0;
  double host_days = 0;

  // Fewer say little about the rate.
  static constexpr int kEnough = 3;
  bool enough() const { return failures >= kEnough && host_days > 0; }
  // REQUIRES: enough().
  double per_host_day() const { return failures / host_days; }
};

// O(jobs + incidents log incidents). `gpus_per_host`: at least 1.
HostFailures SeenHostFailures(const ObjectTable<api::TrainingJob>& jobs, int gpus_per_host,
                              std::int64_t now_ms);

}  // namespace yardmaster::state
