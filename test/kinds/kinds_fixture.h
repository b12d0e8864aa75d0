// Kueue and JobSet themselves beside our programs. The queue is for 10 of 24 hosts.
//
// TESTONLY. Thread safety: one thread.
#pragma once

#include <string>

#include "test/kinds/job_objects.h"
#include "test/kinds/kinds_story_fixture.h"

namespace yardmaster::testing {

inline constexpr int kQueuedHosts = 10;

class RealKindsTest : public KindsStoryTest {
 protected:
  static void SetUpTestSuite() {
    StartControllers({{"jobset", "{}"}, {"kueue", kKueueConfig}}, "jobsets,jobs,trainingjobs");
    if (!HasFatalFailure()) MakeQueue();
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
