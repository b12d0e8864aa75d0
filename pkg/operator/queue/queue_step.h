// One look at a TrainingJob that names a queue of Kueue: what becomes of its status.queue, and
// which write follows. Pure; the controller around it reads the objects and writes the status
// first.
//
//   1. A job that is not in a queue enters it before its first pod is made, or when it has none any
//      more. It then has a Workload, and no pods until that is admitted.
//   2. An admission is recorded in the status, with what pods get from it, before any pod is made.
//   3. An eviction is a suspension: the status says Evicted, the job's pods end in their time, and
//      when none is left the quota is given back in one write. The Workload stays; Kueue queues it
//      again.
//   4. A Workload that is being deleted, has been finished by others, or was made for other pods or
//      another queue than the job has now ends the admission in the same way. It is deleted when no
//      pod is left, and another one is made.
//   5. A job that is suspended by its spec has no Workload: it waits for quota again when it
//      is resumed.
//   6. A job that has ended says so in its Workload once no pod of it runs, and lets it go.
//
// Quota is never given back, and a Workload never let go, while a pod of the job may use it.
// Level triggered: the same facts give the same step. Thread safety: pure functions.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "pkg/api/kueue_workload.h"
#include "pkg/api/queue_status.h"

namespace yardmaster::op {

struct QueueFacts {
  std::string queue;       // that the job names; empty: none
  bool suspended = false;  // by its spec
  bool ended = false;
  bool has_run = false;        // it has pods or a place, or had
  bool enters = false;         // it has not run yet, or has given up all it had
  bool idle = false;           // no pod of it is there, and none is made before the status says so
  bool has_live_pods = false;  // pods that have not ended
  bool runs = false;           // every worker does
  api::QueueStatus status;
  std::string workload_name;
  std::string pod_sets_hash;  // of the pods that the job has now
  // Pods that still need their quota, by pod set; empty: all of them.
  std::map<std::string, int> in_use = {};
  const api::KueueWorkload* workload = nullptr;  // null: none exists
};

enum class QueueAction {
  kNone,
  kCreate,
  kAdmit,        // the status becomes Admitted with what the flavors say
  kGiveBack,     // conditions and admission of the Workload, in one write
  kReportReady,  // the condition PodsReady
  kReclaim,      // pods that have ended for good
  kFinish,       // the condition Finished
  kDelete,
  kDropFinalizer
};

struct QueueStep {
  api::QueueStatus status;  // written before the action
  QueueAction action = QueueAction::kNone;
  std::map<std::string, int> reclaimable = {};  // with kReclaim, all of them
};

QueueStep NextQueueStep(const QueueFacts& facts);

// The conditions of the Workload after its quota was given back, or after the job's pods have
// become ready, or not, or after its end.
std::vector<api::Condition> ConditionsWithoutQuota(const api::KueueWorkload& workload,
                                                   std::int64_t now_ms);
std::vector<api::Condition> ConditionsWithReadiness(const api::KueueWorkload& workload, bool ready,
                                                    std::int64_t now_ms);
std::vector<api::Condition> ConditionsWithEnd(const api::KueueWorkload& workload, bool succeeded,
                                              const std::string& message, std::int64_t now_ms);

// What was admitted, in the order of the Workload's pod sets. `flavors`: those of the admission, by
// name. Empty where the admission does not name every pod set.
std::vector<api::AdmittedPodSet> AdmittedPodSetsOf(
    const api::KueueWorkload& workload, const std::map<std::string, api::ResourceFlavor>& flavors);

}  // namespace yardmaster::op
