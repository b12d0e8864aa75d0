// What admission has made of the first pods of jobs, so that jobs of one template in one namespace
// ask about one pod and not about one each.
//
// Alike are the jobs of a namespace that have the same labels and whose first pods are the same but
// for what names the job: pod name, host name, owner, the job's label and its address in the
// environment. A template that names its job, as a label of its own, is like no other. An answer
// is kept for kLifeMs; nothing is kept of a refusal, or of a pod that admission gave another name,
// job or owner. Drop forgets a namespace when a pod is refused there: its policies may be others
// than they were. Changes of policies that refuse nothing are seen when kLifeMs are over.
//
// Assumption: admission does not decide by the name or the uid of a job. Where a webhook does, the
// Gang asks for what another job's pods get; the pods themselves are made under the job's own name,
// and admission, kube-scheduler and the extender's filter judge each of them.
//
// Jobs with a ComputeDomain ask alone: their claims name the job.
//
// Complexity: the size of the job's pod, O(log kMost) a look and O(kMost) an answer. Thread safety:
// all methods from any thread. Lifetimes: the clock outlives it.
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

// `job` without its name and uid: of alike jobs, pods built of these are equal.
api::TrainingJob WithoutName(const api::TrainingJob& job);

class AdmissionAnswers {
 public:
  static constexpr std::int64_t kLifeMs = 30'000;
  static constexpr std::size_t kMost = 256;  // the oldest goes first

  explicit AdmissionAnswers(const Clock& clock) : clock_(clock) {}

  // The first pod of `job` as admission would return it; null: a dry run has to tell. `nameless`:
  // the pod of WithoutName(job) as text.
  std::shared_ptr<const api::Pod> Find(const api::TrainingJob& job,
                                       const std::string& nameless) const;
  // `answer`: the first pod of `job` as admission has returned it.
  void Keep(const api::TrainingJob& job, const std::string& nameless, const api::Pod& answer);
  void Drop(const std::string& namespace_name);

 private:
  using Key = std::pair<std::string, std::string>;  // namespace; labels and pod
  struct Answer {
    std::shared_ptr<const api::Pod> pod;
    std::int64_t time_ms = 0;  // steady
  };

  const Clock& clock_;
  mutable Mutex mutex_;
  std::map<Key, Answer> answers_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace yardmaster::op
