#include "pkg/api/queue_status.h"

namespace yardmaster::api {

namespace {

constexpr std::string_view kQueuePhaseNames[] = {"None", "Pending", "Admitted", "Evicted"};
// Of an annotation that an admission check adds.
constexpr TextRule kAddedText{4096};

}  // namespace

void AdmittedPodSet::Describe(FieldVisitor& fields) {
  fields.Text("name", name, kLabelValue, Required("main: the workers; else a role.").Always());
  fields.Int("count", count, 0, kMaxAdmittedPods, "Pods that may exist.");
  fields.TextMap("nodeSelector", node_selector, 128, kLabelValue,
                 "Labels of the Nodes that pods go to, from the admitted flavors.");
  TolerationsField(fields, tolerations);
  fields.TextMap("labels", labels, 128, kLabelValue, "Labels that pods get.");
  fields.TextMap("annotations", annotations, 128, kAddedText, "Annotations that pods get.");
}

void QueueStatus::Describe(FieldVisitor& fields) {
  fields.Enum("phase", phase, kQueuePhaseNames,
              "Whether the job may have pods: only when Admitted.");
  fields.Text("name", name, kObjectName, About("The LocalQueue.").Always());
  fields.Text("workload", workload, kObjectName, About("The job's Workload.").Always());
  fields.Text("workloadUid", workload_uid, kUid,
              About("uid of the Workload that was admitted.").Always());
  fields.Text("clusterQueue", cluster_queue, kObjectName,
              About("The ClusterQueue that admitted it.").Always());
  fields.Objects("podSets", pod_sets, {.max_entries = 18, .map_key = "name"},
                 About("What was admitted. Written before any pod is made of it.").Always(),
                 "The workers, or the pods of one role.");
  fields.Text("message", message, kMessage, About("For people.").Always());
}

void AddAdmission(const QueueStatus& status, NodeConstraints& constraints) {
  const AdmittedPodSet* const workers = status.admitted(0);
  if (workers == nullptr) return;
  for (const auto& [key, value] : workers->node_selector) {
    constraints.node_selector.insert_or_assign(key, value);
  }
  constraints.tolerations.insert(constraints.tolerations.end(), workers->tolerations.begin(),
                                 workers->tolerations.end());
}

}  // namespace yardmaster::api
