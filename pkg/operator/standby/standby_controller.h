// Keeps the images of TrainingJobs' workers on hosts that replacements would use
// (spec.recovery.standby). A round finds these hosts for all jobs (standby_hosts.h), creates and
// removes their pods (pods/standby_pod.h, standby_step.h) and writes status.standby.
//
// A job has standbys while it has its place, runs on hosts of the cluster, and is neither
// suspended, moving nor ended. They do not change while ranks of it have lost their hosts, because
// these ranks are about to use them. Nothing else of a job depends on them: no pod, write or
// refusal of a standby stops it, and a failed round is repeated.
//
// The API server checks every write against the state on which it was decided: names of new pods
// are derived from their contents, deletions carry the uid, and the status its resourceVersion. So
// two processes that both believe to lead, and lost responses, do no harm.
//
// Cost: a look at every pod and, if a job requests standbys, a snapshot and the replacements of its
// hosts. A round that searches for long leaves jobs to the next one, which begins later. So at most
// a twentieth of a core is used, and jobs take turns.
//
// Thread safety: one thread. Lifetimes: everything passed in outlives the controller.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"
#include "pkg/base/namespaced_name.h"
#include "pkg/base/run_once.h"
#include "pkg/kube/client.h"
#include "pkg/operator/job_notice.h"
#include "pkg/operator/standby/standby_step.h"
#include "pkg/state/cluster_state.h"
#include "pkg/state/snapshot_builder.h"

namespace yardmaster::op {

class StandbyController {
 public:
  using Notify = std::function<void(const JobNotice&)>;

  // `may_write` returns whether this process still leads; called before every write.
  StandbyController(kube::Client& client, state::ClusterCache& cache, const Clock& clock,
                    Notify notify, std::function<bool()> may_write);

  RunResult RunOnce();
  // Forgets all state, because another process leads.
  void Forget();

 private:
  using Pods = std::vector<std::shared_ptr<const api::Pod>>;

  // REQUIRES: the job requests standbys, has some, or its status contains some.
  absl::Status Reconcile(const api::TrainingJob& found, const state::ClusterState& cluster,
                         const plan::Snapshot* snapshot, Pods pods);
  // Determines the pods that are wanted, with their hosts, and why there are too few. False: the
  // present ones stay.
  bool Want(const api::TrainingJob& job, const state::ClusterState& cluster,
            const plan::Snapshot* snapshot, StandbyView& view,
            std::vector<nlohmann::json>& manifests);
  absl::Status Create(const api::TrainingJob& job, const nlohmann::json& pod, StandbyMemory& memory,
                      api::Standby& status);
  absl::Status Remove(const api::Pod& pod);
  absl::Status WriteStatus(const api::TrainingJob& found, std::vector<api::Standby> status);

  kube::Client& client_;
  state::ClusterCache& cache_;
  const Clock& clock_;
  const Notify notify_;
  const std::function<bool()> may_write_;
  state::SnapshotBuilder builder_;
  std::map<std::string, StandbyMemory> memories_;  // by uid of the job
  NamespacedName last_;                            // the job that was processed last
  std::int64_t searched_ms_ = 0;                   // time spent on searches in this round
  std::int64_t not_before_ms_ = 0;                 // earliest time of the next round; steady clock
};

}  // namespace yardmaster::op
