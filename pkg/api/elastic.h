// An elastic TrainingJob: its data parallelism follows the free hosts, between two bounds.
//
// `workers` of such a job is the wanted size and may change at any time (kubectl scale). The
// present size is status.elastic.data; decoded, TrainingJob::job has that size, so that pods, Gang
// and network plan follow from one number. The job goes from one size to another through
// targetData: its pods end, its hosts are given back, then `data` becomes the target and it is
// placed again.
//
// A job whose workers form their group again by themselves (recovery.onHostLoss Replace) grows in
// place instead: `data` becomes the new size at once, previousData is the size that runs, and pods
// of the new ranks join. Where they find no room, `data` goes back and previousData says which
// ranks are removed.
//
// Sizes are those data group counts for which the workers come out whole.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "pkg/api/field_visitor.h"
#include "pkg/api/job_spec.h"

namespace yardmaster::api {

struct ElasticPolicy {
  bool enabled = false;
  int min_data = 1;
  int max_data = 1;
  int shrink_after_seconds = 60;  // without a substitute, or without a place
  int grow_after_seconds = 600;   // of running in full since the size changed
  int wished_workers = 0;         // spec.workers
  int wished_data = 0;            // their data groups, within the bounds
  bool operator==(const ElasticPolicy&) const = default;

  // The fields of spec.elastic.
  void Describe(FieldVisitor& fields);
  // Derives what is wished for, and reports contradictions. REQUIRES: enabled, and `job` has been
  // read from `spec`.
  void Complete(FieldReader& spec, const JobSpec& job);
};

struct ElasticStatus {
  int data = 0;    // of the pods there are; 0: not decided yet
  int target = 0;  // the size it is going to; 0: none
  // Of a change in place that is not complete: less than `data` while ranks join, more while they
  // are removed again; 0: none.
  int previous = 0;
  std::int64_t changed_ms = 0;
  bool operator==(const ElasticStatus&) const = default;

  void Describe(FieldVisitor& fields);
};

// Workers that `data` groups take, at most a million; nullopt if it is not a whole number.
std::optional<int> WorkersOf(const JobSpec& job, int data);
// Sets workers and data groups. REQUIRES: WorkersOf has a value.
void SetData(JobSpec& job, int data);
// The first ranks of `job`, which has the size status.data: those that were there before a growth
// in place. All of them where it does not grow.
int WorkersBeforeGrowth(const JobSpec& job, const ElasticStatus& status);
// The end of the ranks that are removed after a growth found no room; as many as `job` has: none
// are.
int SurplusEndOf(const JobSpec& job, const ElasticStatus& status);
// Workers at the smallest and at the largest size between minData and maxData that come out whole.
// REQUIRES: ElasticPolicy::Complete found no error.
std::pair<int, int> WorkerBoundsOf(const JobSpec& job, const ElasticPolicy& policy);
// Every size from the smallest to the largest that is allowed and wished for, ascending.
std::vector<int> SizesOf(const JobSpec& job, const ElasticPolicy& policy);

}  // namespace yardmaster::api
