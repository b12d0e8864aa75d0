// Caches what admission returned for the first pods of jobs, so that alike jobs cause one dry run
// together instead of one each.
//
// Two jobs are alike if they are in one namespace, have the same labels, and their first pods
// differ only in what names the job: pod name, host name, owner, job label and address in the
// environment. A job whose template names it elsewhere, for example in a label, is like no other. A
// job with a ComputeDomain is not cached, because its claims name the job.
//
//   - An answer is valid for kLifeMs. So a change of a policy that refuses nothing takes effect
//     after at most kLifeMs.
//   - A refusal is not cached, nor a pod to which admission gave another name, job or owner.
//   - Drop clears a namespace. The caller drops it when a pod is refused there, because its
//     policies may have changed.
//
// Assumption: admission does not decide by the name or uid of a job. If a webhook does, the Gang
// requests what the pod of another job got. The pods are still created under the job's own name,
// and admission, kube-scheduler and the extender's filter check each of them.
//
// Complexity: the size of the first pod; Find is O(log kMost), Keep O(kMost). Thread safety: all
// methods from any thread. Lifetimes: the clock outlives the object.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "pkg/api/pod.h"
#include "pkg/api/training_job.h"
#include "pkg/base/clock.h"
#include "pkg/base/mutex.h"

namespace yardmaster::op {

// Returns `job` without its name and uid. Pods that are built from it are equal for alike jobs.
api::TrainingJob WithoutName(const api::TrainingJob& job);

class AdmissionAnswers {
 public:
  static constexpr std::int64_t kLifeMs = 30'000;
  static constexpr std::size_t kMost = 256;  // entries; the oldest is evicted

  explicit AdmissionAnswers(const Clock& clock) : clock_(clock) {}

  // Returns the first pod of `job` as admission would return it; null if a dry run is needed.
  // `nameless`: the pod of WithoutName(job) as text.
  std::shared_ptr<const api::Pod> Find(const api::TrainingJob& job,
                                       const std::string& nameless) const;
  // Stores `answer`, the first pod of `job` as admission returned it.
  void Keep(const api::TrainingJob& job, const std::string& nameless, const api::Pod& answer);
  void Drop(const std::string& namespace_name);

 private:
  using Key = std::pair<std::string, std::string>;  // namespace; labels and pod
  struct Answer {
    std::shared_ptr<const api::Pod> pod;
    std::int64_t time_ms = 0;  // steady clock
  };

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<Key, Answer> answers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
