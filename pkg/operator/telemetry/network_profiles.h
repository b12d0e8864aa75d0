// Combines the profiles that the pods of a gang report of their iterations
// (yardmaster.dev/profile), and blends them with the job's analytic profile.
//
//   - Each quantity is the median over the reporting workers, so one wrong report does not change
//     the job.
//   - Workers without a report are assumed to have the same FLOP and bytes as the others.
//   - A report that cannot be read is ignored.
//   - A measured communication time is used only if the plan predicts no contention for the job;
//     otherwise the last such time is used. Under contention a job would look less intense, get a
//     lower priority level and wait even longer.
//
// Thread safety: pure functions; LoneTransfers: one thread.
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

// Returns nullopt if there are no reports.
std::optional<JobMeasurement> Combine(const std::vector<api::ProfileReport>& reports, int workers,
                                      int gpus_per_worker);

struct MeasuredJob {
  api::NetworkSource source = api::NetworkSource::kAnalytic;
  std::optional<double> iteration_seconds;
  std::vector<ComparedWorker> compared;  // stragglers.h
  // Reports that cannot be read: "Pod ns/name: ...".
  std::vector<std::string> problems;
};

// Keeps for each job the last communication time that was measured without contention.
class LoneTransfers {
 public:
  // Returns the time to use; nullopt if nothing was measured now, or never without contention.
  // `measured`: seconds. `share`: the predicted fraction of the rate that the job has alone;
  // nullopt: no prediction, which is treated as no contention.
  std::optional<double> UncontendedSeconds(const NamespacedName& job,
                                           std::optional<double> measured,
                                           std::optional<double> share);
  // Drops the jobs that are not in the snapshot.
  void KeepOnly(const plan::Snapshot& snapshot);

 private:
  std::map<NamespacedName, double> seconds_;
};

// Blends the reports of `members` (by rank) into the profile of `job`. A job without reports does
// not change. `cluster`: the hosts of `network`. `share`: as for LoneTransfers.
MeasuredJob ApplyProfile(const std::map<int, std::shared_ptr<const api::Pod>>& members,
                         const fabric::Network& network, const placement::Cluster& cluster,
                         std::optional<double> share, LoneTransfers& transfers,
                         plan::JobState& job);

}  // namespace yardmaster::op
