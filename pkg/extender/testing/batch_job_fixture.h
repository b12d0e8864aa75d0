// Indexed Jobs of batch/v1 over the cluster in memory, with what the Job controller would do to
// their pods. TESTONLY. Thread safety: none.
#pragma once

#include <string>
#include <vector>

#include "pkg/extender/testing/planner_fixture.h"

namespace yardmaster::extender {

inline kube::Resource BatchJobs() { return {"batch", "v1", "jobs", "Job", true}; }

class BatchJobFixture : public PlannerFixture {
 protected:
  void AddBatchJob(const std::string& name, int size) {
    client_.Seed(BatchJobs(),
                 {{"apiVersion", "batch/v1"},
                  {"kind", "Job"},
                  {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", Uid(name)}}},
                  {"spec", {{"parallelism", size}, {"completions", size}}},
                  {"status", json::object()}});
    for (int index = 0; index < size; ++index) AddJobPod(name, index, StrCat("tp=8,dp=", size));
  }
  static std::string Uid(const std::string& job) { return "uid-" + job; }

  // A pod of one container behind the gate, as admission leaves it.
  static json GatedPod(const std::string& name, const json& limits, const json& labels,
                       const json& owner, const std::string& parallelism) {
    return {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata",
             {{"name", name},
              {"namespace", "team"},
              {"uid", "uid-" + name},
              {"creationTimestamp", "2026-01-01T00:00:00Z"},
              {"annotations", {{api::kParallelismAnnotation, parallelism}}},
              {"labels", labels},
              {"ownerReferences", json::array({owner})}}},
            {"spec",
             {{"schedulingGates", json::array({{{"name", api::kPlacementGate}}})},
              {"containers", json::array({{{"name", "c"}, {"resources", {{"limits", limits}}}}})}}},
            {"status", {{"phase", "Pending"}}}};
  }

  // As admission and the Job controller would: a gated pod with a name of its own, which is
  // returned.
  std::string AddJobPod(const std::string& job, int index, const std::string& parallelism,
                        const std::string& owner_uid = "") {
    const std::string name = StrCat(job, "-", index, "-", ++pods_made_);
    const std::string uid = owner_uid.empty() ? Uid(job) : owner_uid;
    client_.Seed(kube::Pods(),
                 GatedPod(name, {{api::kGpuResource, "8"}},
                          {{"batch.kubernetes.io/job-name", job},
                           {"batch.kubernetes.io/controller-uid", uid},
                           {"batch.kubernetes.io/job-completion-index", StrCat(index)}},
                          {{"apiVersion", "batch/v1"},
                           {"kind", "Job"},
                           {"name", job},
                           {"uid", uid},
                           {"controller", true}},
                          parallelism));
    return name;
  }

  void ChangeJob(const std::string& name, const std::function<void(json&)>& change) {
    json job = *client_.Find(BatchJobs(), "team", name);
    change(job);
    client_.Seed(BatchJobs(), job);
  }
  void EndJob(const std::string& name, const std::string& type) {
    ChangeJob(name, [&](json& job) {
      job["status"]["conditions"] = json::array({{{"type", type}, {"status", "True"}}});
    });
  }
  void SuspendJob(const std::string& name, bool suspend) {
    ChangeJob(name, [&](json& job) { job["spec"]["suspend"] = suspend; });
  }

  std::vector<json> PodsOf(const std::string& job) {
    std::vector<json> out;
    for (const json& pod : client_.All(kube::Pods())) {
      const std::string owner =
          pod.value("/metadata/labels/batch.kubernetes.io~1job-name"_json_pointer, "");
      if (owner == job) out.push_back(pod);
    }
    return out;
  }
  void SetPhase(const std::string& pod, const std::string& phase) {
    json object = *client_.Find(kube::Pods(), "team", pod);
    object["status"]["phase"] = phase;
    client_.Seed(kube::Pods(), object);
  }
  void SetPhases(const std::string& job, const std::string& phase) {
    for (const json& pod : PodsOf(job)) SetPhase(pod["metadata"]["name"], phase);
  }
  void DeletePodsOf(const std::string& job) {
    for (const json& pod : PodsOf(job)) DeletePod(pod["metadata"]["name"]);
  }

  json Gang(const std::string& name) {
    const auto gang = client_.Find(kube::Gangs(), "team", name);
    return gang ? *gang : json::object();
  }
  // Hosts by rank; empty: it has no place.
  std::vector<std::string> HostsOf(const std::string& gang) {
    std::vector<std::string> hosts;
    const json object = Gang(gang);
    for (const json& slot : object.value("/status/assignments"_json_pointer, json::array())) {
      hosts.push_back(slot["host"]);
    }
    return hosts;
  }
  bool IsTrue(const std::string& gang, const std::string& type) {
    const json object = Gang(gang);
    for (const json& c : object.value("/status/conditions"_json_pointer, json::array())) {
      if (c["type"] == type) return c["status"] == "True";
    }
    return false;
  }
  std::string NoticesAbout(const std::string& reason) const {
    std::string out;
    for (const ObjectNotice& notice : notices_) {
      if (notice.reason == reason) out += notice.note + "\n";
    }
    return out;
  }

 private:
  int pods_made_ = 0;
};

}  // namespace yardmaster::extender
