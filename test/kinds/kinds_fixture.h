// Kueue and JobSet themselves beside our programs. The queue is for 10 of 24 hosts.
//
// TESTONLY. Thread safety: one thread.
#pragma once

#include <string>

#include "test/kinds/kinds_story_fixture.h"

namespace yardmaster::testing {

inline constexpr int kQueuedHosts = 10;

class RealKindsTest : public KindsStoryTest {
 protected:
  static void SetUpTestSuite() {
    StartControllers({{"jobset", "{}"}, {"kueue", kKueueConfig}}, "jobsets,jobs,trainingjobs");
    if (!HasFatalFailure()) MakeQueue();
  }

  // An indexed Job of `size` pods.
  static json IndexedJob(const std::string& name, int size) {
    return {{"apiVersion", "batch/v1"},
            {"kind", "Job"},
            {"metadata", {{"name", name}, {"namespace", "team"}}},
            {"spec",
             {{"completionMode", "Indexed"},
              {"completions", size},
              {"parallelism", size},
              {"backoffLimit", 1000},
              {"template", PodTemplate(size)}}}};
  }
  // Two Jobs of `half` pods each; a pod that fails starts all of them anew.
  static json TwoJobs(const std::string& name, int half) {
    const json job = {{"parallelism", half},
                      {"completions", half},
                      {"backoffLimit", 0},
                      {"template", PodTemplate(2 * half)}};
    return {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
            {"kind", "JobSet"},
            {"metadata", {{"name", name}, {"namespace", "team"}}},
            {"spec",
             {{"failurePolicy", {{"maxRestarts", 1000}}},
              {"replicatedJobs",
               json::array({{{"name", "w"}, {"replicas", 2}, {"template", {{"spec", job}}}}})}}}};
  }
  // A TrainingJob of `size` workers with a host each.
  static json OurJob(const std::string& name, int size) {
    return json::parse(TrainingJob(name, size,
                                   StrCat(R"("parallelism": {"tensor": 8, "data": )", size,
                                          R"(}, "placement": {"data": {"within": "Fabric"}})")));
  }
  static json Queued(json job, const std::string& priority = "low") {
    job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "queue";
    job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority;
    return job;
  }

  // Kueue's Workload of the job; null while there is none.
  static json WorkloadOf(const std::string& job) {
    const json list = cluster_->Get({"workloads.kueue.x-k8s.io", "-n", "team"});
    if (!list.is_object()) return nullptr;
    for (const json& workload : list["items"]) {
      for (const json& owner : workload["metadata"].value("ownerReferences", json::array())) {
        if (owner["name"] == job) return workload;
      }
    }
    return nullptr;
  }
  static bool IsAdmitted(const std::string& job) {
    return ConditionOf(WorkloadOf(job), "Admitted") == "True";
  }

 private:
  // A job whose pods do not run in time gives its quota back and tries again.
  static constexpr const char* kKueueConfig =
      R"({"waitForPodsReady": {"timeout": "20s", "blockAdmission": false,
      "requeuingStrategy": {"backoffBaseSeconds": 1, "backoffMaxSeconds": 5}},
      "integrations": {"frameworks": ["batch/job", "jobset.x-k8s.io/jobset"]}})";

  static void MakeQueue() {
    const auto object = [](const std::string& kind, const std::string& name, const json& more) {
      json out = {
          {"apiVersion", "kueue.x-k8s.io/v1beta2"}, {"kind", kind}, {"metadata", {{"name", name}}}};
      out.merge_patch(more);
      return out;
    };
    const json quota = {{"name", api::kGpuResource}, {"nominalQuota", 8 * kQueuedHosts}};
    const json flavor = {{"name", "gpu"}, {"resources", json::array({quota})}};
    const json group = {{"coveredResources", json::array({api::kGpuResource})},
                        {"flavors", json::array({flavor})}};
    Create(object("ResourceFlavor", "gpu", json::object()));
    Create(object("WorkloadPriorityClass", "low", {{"value", 1}}));
    Create(object("WorkloadPriorityClass", "high", {{"value", 1000}}));
    Create(object("ClusterQueue", "queue",
                  {{"spec",
                    {{"namespaceSelector", json::object()},
                     {"preemption", {{"withinClusterQueue", "LowerPriority"}}},
                     {"resourceGroups", json::array({group})}}}}));
    Create(object("LocalQueue", "queue",
                  {{"metadata", {{"namespace", "team"}}}, {"spec", {{"clusterQueue", "queue"}}}}));
  }
};

}  // namespace yardmaster::testing
