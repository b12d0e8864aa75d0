#include "pkg/operator/jobs/job_hold.h"

#include <cstddef>
#include <string>

#include "pkg/base/strings.h"

namespace yardmaster::op {

namespace {

struct NamedQueue {
  std::string field;  // empty: none
  std::string name;
  bool of_pods = false;
};

NamedQueue QueueOf(const api::TrainingJob& job) {
  const std::string label = StrCat("labels[\"", api::kQueueLabel, "\"]");
  if (const auto queue = api::Find(job.metadata.labels, api::kQueueLabel)) {
    const bool in_queue = job.status.queue.phase != api::QueuePhase::kNone;
    if (!in_queue && !job.pod_template.admitted_by_queue()) {
      return {StrCat("metadata.", label), std::string(*queue)};
    }
  }
  if (!job.pod_template.queue().empty()) {
    return {StrCat("spec.template.metadata.", label), job.pod_template.queue(), true};
  }
  for (std::size_t i = 0; i < job.roles.size(); ++i) {
    const std::string& queue = job.roles[i].pod_template.queue();
    if (queue.empty()) continue;
    return {StrCat("spec.roles[", i, "].template.metadata.", label), queue, true};
  }
  return {};
}

}  // namespace

StallReason HoldReason(const api::TrainingJob& job, bool was_placed) {
  const api::RecoveryState& recovery = job.status.recovery;
  // An attempt is no sign of pods: a suspension begins one of a job that never had any.
  if (was_placed || recovery.running_attempt >= 0 || !recovery.incidents.empty()) return {};
  if (const NamedQueue queue = QueueOf(job); !queue.field.empty()) {
    return {queue.of_pods ? kQueueNotSupported : kQueueUnavailable,
            StrCat(queue.field, ": names Kueue's queue ", queue.name,
                   queue.of_pods
                       ? ", which would admit each pod by itself, and not the job; the job gets no "
                         "pods; move the label to the job"
                       : ", and Kueue is not followed: it is not installed, or the chart's "
                         "kueue.enabled is false; the job gets no pods; install Kueue and set "
                         "kueue.enabled, or remove the label")};
  }
  return {};
}

}  // namespace yardmaster::op
