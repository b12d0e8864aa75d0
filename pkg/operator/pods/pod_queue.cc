#include "pkg/operator/pods/pod_queue.h"

#include "pkg/api/field_codec.h"

namespace yardmaster::op {

void AddAdmission(const api::TrainingJob& job, std::size_t index, api::PodManifest& pod) {
  const api::AdmittedPodSet* const admitted = job.status.queue.admitted(index);
  if (admitted == nullptr) return;
  // The quota is of these Nodes.
  for (const auto& [key, value] : admitted->node_selector) {
    pod.node_selector.insert_or_assign(key, value);
  }
  for (const api::Toleration& toleration : admitted->tolerations) {
    pod.tolerations.push_back(api::EncodeObject(toleration));
  }
  pod.labels.insert(admitted->labels.begin(), admitted->labels.end());
  pod.annotations.insert(admitted->annotations.begin(), admitted->annotations.end());
}

}  // namespace yardmaster::op
