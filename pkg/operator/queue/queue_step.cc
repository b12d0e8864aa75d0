#include "pkg/operator/queue/queue_step.h"

#include <algorithm>
#include <utility>

#include "pkg/api/status_text.h"
#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

using api::Condition;
using api::ConditionStatus;
using api::KueueWorkload;
using api::QueuePhase;

// What Kueue's own controllers write, so that people and Kueue read the same.
constexpr char kPending[] = "Pending";
constexpr char kNoReservation[] = "NoReservation";
constexpr char kWaitForStart[] = "WaitForStart";
constexpr char kWaitForRecovery[] = "WaitForRecovery";
constexpr char kStarted[] = "Started";
constexpr char kRecovered[] = "Recovered";

// Kueue makes other evictions wait, and queues them again itself.
bool RequeuesAtOnce(const std::string& reason) {
  return reason == "Preempted" || reason == "NodeFailures";
}

std::string ConditionMessage(const KueueWorkload& workload, const char* type) {
  const Condition* condition = api::FindCondition(workload.conditions, type);
  return condition == nullptr ? "" : condition->message;
}

std::string WaitMessage(const QueueFacts& facts) {
  const std::string begin = StrCat("waits for quota in queue ", facts.queue);
  if (facts.workload == nullptr) return begin;
  const KueueWorkload& workload = *facts.workload;
  if (workload.evicted()) {
    return StrCat(begin, " after an eviction: ", ConditionMessage(workload, api::kWorkloadEvicted));
  }
  std::string why = ConditionMessage(workload, api::kWorkloadAdmitted);
  if (!workload.has_admission || why.empty())
    why = ConditionMessage(workload, api::kWorkloadQuotaReserved);
  return why.empty() ? begin : StrCat(begin, ": ", why);
}

class QueueStepper {
 public:
  explicit QueueStepper(const QueueFacts& facts) : facts_(facts), workload_(facts.workload) {
    step_.status = facts.status;
  }

  QueueStep Run() {
    const QueuePhase phase = facts_.status.phase;
    if (facts_.ended) {
      End();
    } else if (facts_.queue.empty() && (facts_.idle || phase == QueuePhase::kNone)) {
      step_.status = {};
      LetGo();
    } else if (facts_.suspended) {
      Suspend();
    } else if (phase == QueuePhase::kNone) {
      Enter();
    } else if (workload_ == nullptr) {
      Ask();
    } else if (const std::string misfit = Misfit(); !misfit.empty()) {
      EndAdmission(misfit);
      if (facts_.idle) {
        Wait();
        LetGo();
      }
    } else if (workload_->admitted()) {
      Admitted();
    } else {
      Evicted();
    }
    return std::move(step_);
  }

 private:
  // The job has pods, or may have: they are to end.
  void EndAdmission(const std::string& why) {
    if (step_.status.phase == QueuePhase::kAdmitted) {
      step_.status.phase = QueuePhase::kEvicted;
      step_.status.pod_sets.clear();
      step_.status.message = api::CutStatusText(why);
    }
  }
  // An admission that has just ended is written first: pods may be on their way.
  void Wait() {
    if (facts_.status.phase == QueuePhase::kAdmitted) return;
    step_.status = {};
    step_.status.phase = QueuePhase::kPending;
    step_.status.name = facts_.queue;
    step_.status.workload = facts_.workload_name;
    step_.status.message = api::CutStatusText(WaitMessage(facts_));
  }
  // Deletes the Workload, and takes the finalizer off one that is being deleted.
  void LetGo() {
    if (workload_ == nullptr || facts_.status.phase == QueuePhase::kAdmitted) return;
    if (!workload_->metadata.deleted_ms) {
      step_.action = QueueAction::kDelete;
    } else if (workload_->has_finalizer()) {
      step_.action = QueueAction::kDropFinalizer;
    }
  }

  void End() {
    if (workload_ == nullptr || facts_.has_live_pods) return;
    if (!workload_->finished() && !workload_->metadata.deleted_ms) {
      step_.action = QueueAction::kFinish;
    } else if (workload_->has_finalizer()) {
      step_.action = QueueAction::kDropFinalizer;
    }
  }

  void Suspend() {
    EndAdmission("the job is suspended by spec.suspend");
    if (!facts_.idle) return;
    LetGo();
    if (workload_ == nullptr && facts_.status.phase != QueuePhase::kAdmitted) step_.status = {};
  }

  void Enter() {
    if (!facts_.enters) return;
    Wait();
    if (workload_ == nullptr) step_.action = QueueAction::kCreate;
  }

  void Ask() {
    EndAdmission("the job's Workload is gone");
    if (!facts_.idle) return;
    Wait();
    if (step_.status.phase == QueuePhase::kPending) step_.action = QueueAction::kCreate;
  }

  // Why the Workload is not, or not any more, the one that the job waits for; empty: it is.
  std::string Misfit() const {
    if (workload_->metadata.deleted_ms) return "the job's Workload is deleted";
    if (workload_->finished()) return "the job's Workload was finished by others";
    // A job that leaves its queue keeps its quota until it has no pods.
    if (!facts_.queue.empty() && workload_->queue != facts_.queue) {
      return StrCat("the job has changed from queue ", workload_->queue, " to ", facts_.queue);
    }
    const auto hash = api::Find(workload_->metadata.annotations, api::kPodSetsAnnotation);
    if (hash.value_or("") != facts_.pod_sets_hash) {
      return "the job's size or what its pods ask for has changed, and waits for quota again";
    }
    return "";
  }

  void Admitted() {
    const api::QueueStatus& known = facts_.status;
    if (known.phase == QueuePhase::kAdmitted && known.workload_uid == workload_->metadata.uid) {
      return Follow();
    }
    EndAdmission("the job's Workload was replaced");
    if (!facts_.idle) return;
    Wait();
    // What was written before may have let pods be made.
    if (known.phase == QueuePhase::kPending) step_.action = QueueAction::kAdmit;
  }

  void Follow() {
    for (const api::QueuedPodSet& set : workload_->pod_sets) {
      const auto used = facts_.in_use.find(set.name);
      const auto before = workload_->reclaimable.find(set.name);
      const int known = before == workload_->reclaimable.end() ? 0 : before->second;
      const int free = used == facts_.in_use.end() ? 0 : set.count - used->second;
      step_.reclaimable[set.name] = std::max(known, std::clamp(free, 0, set.count));
      if (step_.reclaimable[set.name] > known) step_.action = QueueAction::kReclaim;
    }
    const bool is_ready = api::IsTrue(workload_->conditions, api::kWorkloadPodsReady);
    if (step_.action == QueueAction::kNone && is_ready != facts_.runs) {
      step_.action = QueueAction::kReportReady;
    }
  }

  // Not admitted, or evicted.
  void Evicted() {
    EndAdmission(WaitMessage(facts_));
    if (!facts_.idle) return;
    Wait();
    const bool may_have_pods = facts_.status.phase == QueuePhase::kAdmitted;
    if (!may_have_pods && workload_->evicted() && workload_->holds_quota()) {
      step_.action = QueueAction::kGiveBack;
    }
  }

  const QueueFacts& facts_;
  const KueueWorkload* workload_;
  QueueStep step_;
};

void Set(const KueueWorkload& workload, const char* type, bool value, const std::string& reason,
         const std::string& message, std::int64_t now_ms, std::vector<Condition>& conditions) {
  api::SetCondition(conditions,
                    {type, value ? ConditionStatus::kTrue : ConditionStatus::kFalse, reason,
                     message, workload.metadata.generation, 0},
                    now_ms);
}

}  // namespace

QueueStep NextQueueStep(const QueueFacts& facts) { return QueueStepper(facts).Run(); }

std::vector<Condition> ConditionsWithoutQuota(const KueueWorkload& workload, std::int64_t now_ms) {
  std::vector<Condition> out = workload.conditions;
  const Condition* evicted = api::FindCondition(workload.conditions, api::kWorkloadEvicted);
  const std::string reason = evicted == nullptr ? kPending : evicted->reason;
  const std::string message = evicted == nullptr ? "" : evicted->message;
  Set(workload, api::kWorkloadQuotaReserved, false, kPending, message, now_ms, out);
  if (api::FindCondition(out, api::kWorkloadAdmitted) != nullptr) {
    Set(workload, api::kWorkloadAdmitted, false, kNoReservation, "The workload has no reservation",
        now_ms, out);
  }
  Set(workload, api::kWorkloadRequeued, RequeuesAtOnce(reason), reason, message, now_ms, out);
  if (api::FindCondition(out, api::kWorkloadPodsReady) != nullptr) {
    Set(workload, api::kWorkloadPodsReady, false, kWaitForStart, "no pod of the job is left",
        now_ms, out);
  }
  return out;
}

std::vector<Condition> ConditionsWithReadiness(const KueueWorkload& workload, bool ready,
                                               std::int64_t now_ms) {
  std::vector<Condition> out = workload.conditions;
  const Condition* before = api::FindCondition(out, api::kWorkloadPodsReady);
  const bool recovers = before != nullptr && before->reason == kWaitForRecovery;
  if (ready) {
    Set(workload, api::kWorkloadPodsReady, true, recovers ? kRecovered : kStarted,
        "every worker runs", now_ms, out);
  } else {
    Set(workload, api::kWorkloadPodsReady, false, kWaitForRecovery, "not every worker runs", now_ms,
        out);
  }
  return out;
}

std::vector<Condition> ConditionsWithEnd(const KueueWorkload& workload, bool succeeded,
                                         const std::string& message, std::int64_t now_ms) {
  std::vector<Condition> out = workload.conditions;
  Set(workload, api::kWorkloadFinished, true, succeeded ? "Succeeded" : "Failed", message, now_ms,
      out);
  return out;
}

std::vector<api::AdmittedPodSet> AdmittedPodSetsOf(
    const KueueWorkload& workload, const std::map<std::string, api::ResourceFlavor>& flavors) {
  std::vector<api::AdmittedPodSet> out;
  for (const api::QueuedPodSet& set : workload.pod_sets) {
    const auto assignment =
        std::find_if(workload.assignments.begin(), workload.assignments.end(),
                     [&](const api::QuotaAssignment& a) { return a.name == set.name; });
    if (assignment == workload.assignments.end()) return {};
    api::AdmittedPodSet admitted;
    admitted.name = set.name;
    admitted.count = assignment->count.value_or(set.count);
    for (const std::string& name : assignment->flavors) {
      const auto flavor = flavors.find(name);
      if (flavor == flavors.end()) return {};
      admitted.node_selector.insert(flavor->second.node_labels.begin(),
                                    flavor->second.node_labels.end());
      for (const api::Toleration& toleration : flavor->second.tolerations) {
        admitted.tolerations.push_back(toleration);
      }
    }
    for (const api::PodSetAddition& addition : workload.additions) {
      if (addition.name != set.name) continue;
      admitted.node_selector.insert(addition.node_selector.begin(), addition.node_selector.end());
      admitted.labels.insert(addition.labels.begin(), addition.labels.end());
      admitted.annotations.insert(addition.annotations.begin(), addition.annotations.end());
      admitted.tolerations.insert(admitted.tolerations.end(), addition.tolerations.begin(),
                                  addition.tolerations.end());
    }
    std::sort(admitted.tolerations.begin(), admitted.tolerations.end());
    admitted.tolerations.erase(
        std::unique(admitted.tolerations.begin(), admitted.tolerations.end()),
        admitted.tolerations.end());
    out.push_back(std::move(admitted));
  }
  return out;
}

}  // namespace yardmaster::op
