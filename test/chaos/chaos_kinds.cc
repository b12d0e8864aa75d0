#include "test/chaos/chaos_kinds.h"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"

namespace yardmaster::chaos {

using nlohmann::json;

json LabelsOf(const std::string& kind, const std::string& job, int rank) {
  const std::string index = StrCat(rank);
  json labels = {{"chaos/job", job}};
  if (kind == "TrainingJob") {
    labels[api::kJobLabel] = job;
    labels[api::kRankLabel] = index;
  } else if (kind == "Job") {
    labels["batch.kubernetes.io/job-name"] = job;
    labels["batch.kubernetes.io/job-completion-index"] = index;
  } else if (kind == "JobSet") {
    labels["jobset.sigs.k8s.io/jobset-name"] = job;
    labels["jobset.sigs.k8s.io/jobset-uid"] = "u-" + job;
    labels["jobset.sigs.k8s.io/job-global-index"] = index;
    labels["batch.kubernetes.io/job-completion-index"] = "0";
  } else {
    const bool first = rank == 0;
    labels["training.kubeflow.org/job-name"] = job;
    labels["training.kubeflow.org/replica-index"] = first ? index : StrCat(rank - 1);
    if (kind == "MPIJob") {
      labels["training.kubeflow.org/replica-index"] = index;  // as with runLauncherAsWorker
      labels["training.kubeflow.org/operator-name"] = "mpi-operator";
      labels["training.kubeflow.org/job-role"] = first ? "launcher" : "worker";
    } else {
      labels["training.kubeflow.org/replica-type"] = first ? "master" : "worker";
    }
  }
  return labels;
}

json ControllerOf(const std::string& kind, const std::string& job, int rank) {
  const auto reference = [](const char* version, const char* of_kind, const std::string& name,
                            const std::string& uid) -> json {
    return {{"apiVersion", version},
            {"kind", of_kind},
            {"name", name},
            {"uid", uid},
            {"controller", true}};
  };
  const std::string uid = "u-" + job;
  if (kind == "TrainingJob") return reference(api::kGroupVersion, "TrainingJob", job, uid);
  if (kind == "Job") return reference("batch/v1", "Job", job, uid);
  if (kind == "PyTorchJob") return reference("kubeflow.org/v1", "PyTorchJob", job, uid);
  const std::string child = StrCat(job, "-", rank);
  if (kind == "JobSet") return reference("batch/v1", "Job", child, "u-" + child);
  if (rank > 0) return reference("kubeflow.org/v2beta1", "MPIJob", job, uid);
  return reference("batch/v1", "Job", job + "-launcher", uid + "-launcher");
}

kube::Resource OwnersOf(const std::string& kind) {
  if (kind == "Job") return {"batch", "v1", "jobs", "Job", true};
  if (kind == "JobSet") return {"jobset.x-k8s.io", "v1alpha2", "jobsets", "JobSet", true};
  if (kind == "MPIJob") return {"kubeflow.org", "v2beta1", "mpijobs", "MPIJob", true};
  return {"kubeflow.org", "v1", "pytorchjobs", "PyTorchJob", true};
}

json SpecOf(const std::string& kind, int workers) {
  const json indexed = {{"completions", workers}, {"parallelism", workers}};
  if (kind == "Job") return indexed;
  if (kind == "JobSet") {
    const json one = {{"spec", {{"completions", 1}, {"parallelism", 1}}}};
    return {{"replicatedJobs",
             json::array({{{"name", "w"}, {"replicas", workers}, {"template", one}}})}};
  }
  if (kind == "MPIJob") {
    return {{"runLauncherAsWorker", true},
            {"mpiReplicaSpecs", {{"Worker", {{"replicas", workers - 1}}}}}};
  }
  return {{"pytorchReplicaSpecs",
           {{"Master", {{"replicas", 1}}}, {"Worker", {{"replicas", workers - 1}}}}}};
}

}  // namespace yardmaster::chaos
