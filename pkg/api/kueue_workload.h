// What Yardmaster reads of Kueue's objects: the Workload by which a job asks for quota, and the
// ResourceFlavor by which quota names Nodes. The fields that are read are the same in
// kueue.x-k8s.io/v1beta1 and v1beta2.
//
// Thread safety: values and pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "pkg/api/condition.h"
#include "pkg/api/metadata.h"
#include "pkg/api/node_constraints.h"

namespace yardmaster::api {

// On Workloads: their quota counts until it is taken off.
inline constexpr char kQuotaFinalizer[] = "kueue.x-k8s.io/resource-in-use";
inline constexpr char kJobUidLabel[] = "kueue.x-k8s.io/job-uid";
// On a job: its WorkloadPriorityClass.
inline constexpr char kQueuePriorityLabel[] = "kueue.x-k8s.io/priority-class";
// On a Workload of ours: what its pod sets were made from (operator/queue/workload_builder.h).
inline constexpr char kPodSetsAnnotation[] = "yardmaster.dev/pod-sets";

// Conditions of a Workload.
inline constexpr char kWorkloadQuotaReserved[] = "QuotaReserved";
inline constexpr char kWorkloadAdmitted[] = "Admitted";
inline constexpr char kWorkloadEvicted[] = "Evicted";
inline constexpr char kWorkloadRequeued[] = "Requeued";
inline constexpr char kWorkloadPodsReady[] = "PodsReady";
inline constexpr char kWorkloadFinished[] = "Finished";

// Pods that are alike.
struct QueuedPodSet {
  std::string name;
  int count = 0;
  std::optional<int> min_count = {};  // fewer may be admitted
  bool operator==(const QueuedPodSet&) const = default;
};

// What was admitted for a pod set.
struct QuotaAssignment {
  std::string name;
  std::vector<std::string> flavors;  // each once, ascending
  std::optional<int> count;
  bool has_topology = false;  // Kueue has chosen hosts
  bool operator==(const QuotaAssignment&) const = default;
};

// What an admission check adds to the pods of a pod set.
struct PodSetAddition {
  std::string name;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::map<std::string, std::string> node_selector;
  std::vector<Toleration> tolerations;
  bool operator==(const PodSetAddition&) const = default;
};

struct KueueWorkload {
  ObjectMeta metadata;
  std::string queue;
  std::vector<QueuedPodSet> pod_sets;
  std::vector<Condition> conditions;
  bool has_admission = false;
  std::string cluster_queue;
  std::vector<QuotaAssignment> assignments;
  std::vector<PodSetAddition> additions;   // of checks that are ready
  std::map<std::string, int> reclaimable;  // pods that need no quota any more, by pod set
  bool operator==(const KueueWorkload&) const = default;

  bool finished() const { return IsTrue(conditions, kWorkloadFinished); }
  bool evicted() const { return IsTrue(conditions, kWorkloadEvicted); }
  bool admitted() const {
    return has_admission && IsTrue(conditions, kWorkloadAdmitted) && !evicted();
  }
  bool holds_quota() const { return has_admission || IsTrue(conditions, kWorkloadQuotaReserved); }
  bool has_finalizer() const;
};

struct ResourceFlavor {
  std::map<std::string, std::string> node_labels;
  std::vector<Toleration> tolerations;
};

// Other fields are ignored. Errors: InvalidArgument naming each wrong field.
absl::StatusOr<KueueWorkload> DecodeKueueWorkload(JsonView object);
absl::StatusOr<ResourceFlavor> DecodeResourceFlavor(JsonView object);

}  // namespace yardmaster::api
