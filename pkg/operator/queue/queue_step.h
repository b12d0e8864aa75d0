// Decides the next step of a TrainingJob that names a queue of Kueue: its new status.queue, and the
// write that follows. The queue controller reads the objects, writes the status first and then
// performs the action.
//
//   1. A job enters its queue before its first pod is created, or when no pod of it is left. Then
//      it has a Workload, and it has no pods until the Workload is admitted.
//   2. The status records an admission, with what the pods get from it, before any pod is created.
//   3. An eviction suspends the job. The status says Evicted, and the job's pods terminate. When
//      none is left, one write gives the quota back. The Workload stays, and Kueue queues it again.
//   4. The admission ends in the same way if the Workload is being deleted, was finished by another
//      client, or was created for other pods or another queue than the job has now. When no pod is
//      left, the Workload is deleted and another one is created.
//   5. A job that is suspended by its spec has no Workload. It waits for quota again when it is
//      resumed.
//   6. When a job has ended and none of its pods runs, the condition Finished of its Workload is
//      set. Then the finalizer of the Workload is removed.
//
// Invariant: quota is not given back, and no Workload is deleted, while a pod of the job may use
// it.
//
// The step is level-triggered: the same facts give the same step. Thread safety: pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/api/kueue_workload.h"
#include "pkg/api/queue_status.h"

namespace yardmaster::op {

struct QueueFacts {
  std::string queue;       // named by the job; empty: none
  bool suspended = false;  // spec.suspend
  bool ended = false;
  bool has_run = false;        // it has or had pods or a place
  bool enters = false;         // it has no pods, and has not run or makes none
  bool idle = false;           // it has no pods, and creates none before the status says so
  bool has_live_pods = false;  // pods that have not ended
  bool runs = false;           // all workers run
  api::QueueStatus status;
  std::string workload_name;
  std::string pod_sets_hash;  // for the pods that the job asks for now
  // Number of pods that still need quota, by pod set; empty: all.
  std::map<std::string, int> in_use = {};
  const api::KueueWorkload* workload = nullptr;  // null: none exists
};

enum class QueueAction {
  kNone,
  kCreate,
  kAdmit,        // sets the status to Admitted, with what the flavors give to pods
  kGiveBack,     // clears conditions and admission of the Workload in one write
  kReportReady,  // writes the condition PodsReady
  kReclaim,      // writes reclaimablePods: pods that will not run again
  kFinish,       // writes the condition Finished
  kDelete,
  kDropFinalizer
};

struct QueueStep {
  api::QueueStatus status;  // written before the action
  QueueAction action = QueueAction::kNone;
  std::map<std::string, int> reclaimable = {};  // with kReclaim: the whole field, by pod set
};

QueueStep NextQueueStep(const QueueFacts& facts);

// Return the conditions of the Workload after its quota was given back; after its pods became ready
// or no longer are; after the job has ended.
std::vector<api::Condition> ConditionsWithoutQuota(const api::KueueWorkload& workload,
                                                   std::int64_t now_ms);
std::vector<api::Condition> ConditionsWithReadiness(const api::KueueWorkload& workload, bool ready,
                                                    std::int64_t now_ms);
std::vector<api::Condition> ConditionsWithEnd(const api::KueueWorkload& workload, bool succeeded,
                                              const std::string& message, std::int64_t now_ms);

// Returns what was admitted, in the order of the Workload's pod sets. `flavors`: the flavors of the
// admission, by name. Empty if the admission does not name every pod set, or a flavor is missing.
std::vector<api::AdmittedPodSet> AdmittedPodSetsOf(
    const api::KueueWorkload& workload, const std::map<std::string, api::ResourceFlavor>& flavors);

}  // namespace yardmaster::op
