// The jobs that the tests with real controllers create, each pod with a host to itself. TESTONLY.
// Thread safety: pure functions.
#pragma once

#include <string>

#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {

// Pods with one host each, in a gang of `size`. They leave a host that is not ready after two
// seconds.
inline json PodTemplate(int size) {
  json tolerations = json::array();
  for (const char* key : {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}) {
    tolerations.push_back(
        {{"key", key}, {"operator", "Exists"}, {"effect", "NoExecute"}, {"tolerationSeconds", 2}});
  }
  const json container = {
      {"name", "t"}, {"image", "i"}, {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}};
  return {
      {"metadata", {{"annotations", {{api::kParallelismAnnotation, StrCat("tp=8,dp=", size)}}}}},
      {"spec",
       {{"restartPolicy", "Never"},
        {"schedulingGates", json::array({{{"name", api::kPlacementGate}}})},
        {"tolerations", tolerations},
        {"containers", json::array({container})}}}};
}
// An indexed Job of `size` pods.
inline json IndexedJob(const std::string& name, int size) {
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
// Two Jobs of `half` pods each; a pod that fails makes all of them again.
inline json TwoJobs(const std::string& name, int half) {
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
inline json OurJob(const std::string& name, int size) {
  return json::parse(TrainingJob(name, size,
                                 StrCat(R"("parallelism": {"tensor": 8, "data": )", size,
                                        R"(}, "placement": {"data": {"within": "Fabric"}})")));
}
inline json Queued(json job, const std::string& priority = "low") {
  job["metadata"]["labels"]["kueue.x-k8s.io/queue-name"] = "queue";
  job["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] = priority;
  return job;
}

}  // namespace yardmaster::testing
