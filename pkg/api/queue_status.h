// Where a TrainingJob stands in its queue: status.queue. It is written before what follows from it,
// so that any leader carries on.
//
//   None -> Pending -> Admitted -> Evicted -> Pending
//
//   None      the job is in no queue
//   Pending   its Workload waits for quota; the job has no pods
//   Admitted  the job may have pods, of the sizes and on the nodes that are recorded here
//   Evicted   its pods are ended, as for a suspension; then the quota is given back
//
// Thread safety: values and pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "pkg/api/field_visitor.h"
#include "pkg/api/node_constraints.h"

namespace yardmaster::api {

inline constexpr int kMaxAdmittedPods = 1'000'000;

enum class QueuePhase { kNone, kPending, kAdmitted, kEvicted };

// The workers, or the pods of one role, as they were admitted.
struct AdmittedPodSet {
  std::string name;
  int count = 0;
  // What pods get besides their template.
  std::map<std::string, std::string> node_selector = {};
  std::vector<Toleration> tolerations = {};
  std::map<std::string, std::string> labels = {};
  std::map<std::string, std::string> annotations = {};
  bool operator==(const AdmittedPodSet&) const = default;

  void Describe(FieldVisitor& fields);
};

struct QueueStatus {
  QueuePhase phase = QueuePhase::kNone;
  std::string name;           // of the LocalQueue
  std::string workload;       // name of the Workload
  std::string workload_uid;   // that was admitted
  std::string cluster_queue;  // that admitted it
  // While the phase is Admitted: the workers, then the roles in the order of the spec.
  std::vector<AdmittedPodSet> pod_sets;
  std::string message;  // for people
  bool operator==(const QueueStatus&) const = default;

  // The job has no pods, or is to give them up.
  bool holds_job() const { return phase == QueuePhase::kPending || phase == QueuePhase::kEvicted; }
  // What was admitted for the workers (0) or for role `index` - 1; null: nothing.
  const AdmittedPodSet* admitted(std::size_t index) const {
    return phase == QueuePhase::kAdmitted && index < pod_sets.size() ? &pod_sets[index] : nullptr;
  }

  void Describe(FieldVisitor& fields);
};

// While the job is admitted, its workers go to Nodes of the admitted flavors alone, and tolerate
// their taints. A label that the job asks for with another value is replaced.
void AddAdmission(const QueueStatus& status, NodeConstraints& constraints);

}  // namespace yardmaster::api
