#include "pkg/operator/jobs/admission_answers.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {

namespace {

std::string TextOf(const api::TrainingJob& job, const std::string& nameless) {
  return nlohmann::json(job.metadata.labels).dump() + nameless;
}

bool AsksAlone(const api::TrainingJob& job) { return job.compute_domain; }

bool NamesJob(const api::TrainingJob& job, const api::Pod& pod) {
  const api::OwnerReference* owner = pod.metadata.controller();
  return pod.metadata.name == PodName(job.metadata.name, 0) && owner != nullptr &&
         owner->name == job.metadata.name && owner->uid == job.metadata.uid &&
         api::Find(pod.metadata.labels, api::kJobLabel) == std::string_view(job.metadata.name);
}

void SetNames(const api::TrainingJob& job, api::Pod& pod) {
  pod.metadata.name = PodName(job.metadata.name, 0);
  pod.metadata.labels[api::kJobLabel] = job.metadata.name;
  for (api::OwnerReference& owner : pod.metadata.owners) {
    if (!owner.controller) continue;
    owner.name = job.metadata.name;
    owner.uid = job.metadata.uid;
  }
}

}  // namespace

api::TrainingJob WithoutName(const api::TrainingJob& job) {
  api::TrainingJob nameless = job;
  nameless.metadata.name.clear();
  nameless.metadata.uid.clear();
  return nameless;
}

std::shared_ptr<const api::Pod> AdmissionAnswers::Find(const api::TrainingJob& job,
                                                       const std::string& nameless) const {
  if (AsksAlone(job)) return nullptr;
  std::shared_ptr<const api::Pod> answer;
  {
    const MutexLock lock(mutex_);
    const auto known = answers_.find({job.metadata.namespace_name, TextOf(job, nameless)});
    if (known == answers_.end() || known->second.time_ms + kLifeMs <= clock_.SteadyMs()) {
      return nullptr;
    }
    answer = known->second.pod;
  }
  auto pod = std::make_shared<api::Pod>(*answer);
  SetNames(job, *pod);
  return pod;
}

void AdmissionAnswers::Keep(const api::TrainingJob& job, const std::string& nameless,
                            const api::Pod& answer) {
  if (AsksAlone(job) || !NamesJob(job, answer)) return;
  const std::int64_t now_ms = clock_.SteadyMs();
  const MutexLock lock(mutex_);
  std::erase_if(answers_,
                [&](const auto& known) { return known.second.time_ms + kLifeMs <= now_ms; });
  if (answers_.size() >= kMost) {
    answers_.erase(std::min_element(
        answers_.begin(), answers_.end(),
        [](const auto& a, const auto& b) { return a.second.time_ms < b.second.time_ms; }));
  }
  answers_.insert_or_assign({job.metadata.namespace_name, TextOf(job, nameless)},
                            Answer{std::make_shared<const api::Pod>(answer), now_ms});
}

void AdmissionAnswers::Drop(const std::string& namespace_name) {
  const MutexLock lock(mutex_);
  std::erase_if(answers_, [&](const auto& known) { return known.first.first == namespace_name; });
}

}  // namespace yardmaster::op
