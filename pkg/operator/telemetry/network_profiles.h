// Measured profiles: what the pods of a gang report of their iterations (yardmaster.dev/profile),
// put together for the whole job and blended with what is known of it analytically.
//
// The median over the reporting workers counts for every quantity, so that one wrong report
// does not change the job; FLOP and bytes of workers that report nothing are assumed equal. A
// report that cannot be read is ignored.
//
// Communication time is wanted without contention, and a worker cannot measure that. A job that
// waits for others would look less intense, get a lower level and wait longer; so its time counts
// only while the plan predicts no contention, and the last such time afterwards.
// Thread safety: values and pure functions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "pkg/api/outcome_json.h"
#include "pkg/api/pod.h"
#include "pkg/api/profile_report.h"
#include "pkg/fabric/network.h"
#include "pkg/operator/telemetry/stragglers.h"
#include "pkg/placement/cluster.h"
#include "pkg/plan/snapshot.h"
#include "pkg/workload/profile.h"

namespace yardmaster::op {

struct JobMeasurement {
  workload::Measurement measurement;
  std::optional<double> iteration_seconds;
};

// Nothing without reports.
std::optional<JobMeasurement> Combine(const std::vector<api::ProfileReport>& reports, int workers,
                                      int gpus_per_worker);

struct MeasuredJob {
  api::NetworkSource source = api::NetworkSource::kAnalytic;
  std::optional<double> iteration_seconds;
  std::vector<ComparedWorker> compared;  // stragglers.h
  // Reports of it that cannot be read: "Pod ns/name: ...".
  std::vector<std::string> problems;
};

// Communication times that were measured free of contention, by job. Single threaded.
class LoneTransfers {
 public:
  // What counts now. `share`: of its lone rate, as last predicted; nothing where no prediction was
  // made, which is taken for undisturbed.
  std::optional<double> UncontendedSeconds(const NamespacedName& job,
                                           std::optional<double> measured,
                                           std::optional<double> share);
  // Drops the jobs that are not in the snapshot.
  void KeepOnly(const plan::Snapshot& snapshot);

 private:
  std::map<NamespacedName, double> seconds_;
};

// Blends what `members` report into the job's profile. Jobs without reports stay as they
// are. `cluster`: the hosts of `network`. `share` as in LoneTransfers.
MeasuredJob ApplyProfile(const std::map<int, std::shared_ptr<const api::Pod>>& members,
                         const fabric::Network& network, const placement::Cluster& cluster,
                         std::optional<double> share, LoneTransfers& transfers,
                         plan::JobState& job);

}  // namespace yardmaster::op
