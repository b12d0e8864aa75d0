// The TrainingJob "team/a" of a story or a random history, as the API server in memory has it, and
// the operator that runs it. TESTONLY. Thread safety: none.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "pkg/extender/testing/planner_fixture.h"
#include "pkg/kube/testing/relist.h"
#include "pkg/operator/capacity/capacity_controller.h"
#include "pkg/operator/hosts/node_observer.h"
#include "pkg/operator/jobs/job_controller.h"

namespace yardmaster {

class JobStoryFixture : public extender::PlannerFixture {
 protected:
  // The controllers of one operator with what it has seen: a new object is a new process.
  class Operator {
   public:
    using OnNotice = std::function<void(const op::JobNotice&)>;
    explicit Operator(
        JobStoryFixture& test, const OnNotice& on_notice = [](const op::JobNotice&) {})
        : test_(test),
          marker(test.client_, cache, {}, [](const op::HostNotice&) {}),
          jobs(test.client_, cache, hosts, marker, test.clock_, on_notice, {}, 1),
          capacity(test.client_, cache, hosts, test.clock_, on_notice) {}

    // Sees everything as it is now; Nodes that are gone, too.
    void See() {
      std::set<std::string> there;
      const auto observe = [this](const std::string& name) {
        op::ObserveNode(cache, op::DefaultFaultRules(), name, test_.clock_.SteadyMs(), hosts);
      };
      Read(state::Kind::kFabric, kube::Fabrics());
      kube::Relist(test_.client_, kube::Nodes(), cache.sink(state::Kind::kNode),
                   [&](const nlohmann::json& node) {
                     there.insert(node["metadata"]["name"].get<std::string>());
                     observe(node["metadata"]["name"]);
                   });
      for (const std::string& name : nodes_) {
        if (there.count(name) == 0) observe(name);
      }
      nodes_ = there;
      Read(state::Kind::kPod, kube::Pods());
      Read(state::Kind::kGang, kube::Gangs());
      Read(state::Kind::kTrainingJob, kube::TrainingJobs());
      Read(state::Kind::kCapacityPool, kube::CapacityPools());
    }

   private:
    void Read(state::Kind kind, const kube::Resource& resource) {
      kube::Relist(test_.client_, resource, cache.sink(kind));
    }
    JobStoryFixture& test_;
    std::set<std::string> nodes_;

   public:
    op::HostHealth hosts;
    state::ClusterCache cache;
    op::HostMarker marker;
    op::JobController jobs;
    op::CapacityController capacity;
  };

  // `spec` over one of whole hosts.
  void SeedJob(const nlohmann::json& spec) {
    using nlohmann::json;
    json job = {{"apiVersion", api::kGroupVersion},
                {"kind", "TrainingJob"},
                {"metadata", {{"name", "a"}, {"namespace", "team"}, {"uid", "uid-a"}}},
                {"spec",
                 {{"gpusPerWorker", 8},
                  {"parallelism", {{"tensor", 8}}},
                  {"template",
                   {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}}}}}};
    job["spec"].merge_patch(spec);
    client_.Seed(kube::TrainingJobs(), job);
  }
  // A Fabric of one fabric pod with segments of four hosts; `spec` over it.
  void SeedFabric(int segments, const nlohmann::json& spec = nlohmann::json::object()) {
    nlohmann::json fabric = nlohmann::json::parse(R"({
      "apiVersion": "yardmaster.dev/v1alpha1", "kind": "Fabric",
      "metadata": {"name": "small", "uid": "fabric", "generation": 1},
      "spec": {"size": {"fabricPods": 1, "hostsPerSegment": 4},
               "tiers": [{"role": "tor", "scope": "Segment", "perRail": true, "downPorts": 8,
                          "downGbps": 200, "upPorts": 4, "upGbps": 400},
                         {"role": "agg", "scope": "FabricPod", "switches": 4, "downGbps": 400}]}})");
    fabric["spec"]["size"]["segmentsPerFabricPod"] = segments;
    fabric["spec"]["tiers"][1]["downPorts"] = 8 * segments;
    fabric["spec"].merge_patch(spec);
    client_.Seed(kube::Fabrics(), fabric);
  }

  // Of the job's pods, by name.
  std::map<std::string, std::string> Uids() {
    std::map<std::string, std::string> uids;
    for (const nlohmann::json& pod : client_.All(kube::Pods())) {
      const nlohmann::json& metadata = pod["metadata"];
      if (metadata["namespace"] == "team") uids[metadata["name"]] = metadata["uid"];
    }
    return uids;
  }
  nlohmann::json Job() { return *client_.Find(kube::TrainingJobs(), "team", "a"); }
  // Writes a field of its spec as a user does.
  void Change(const char* field, const nlohmann::json& value) {
    nlohmann::json job = Job();
    job["spec"][field] = value;
    client_.Seed(kube::TrainingJobs(), job);
  }
  nlohmann::json Capacity() { return Status("capacity"); }
  nlohmann::json Elastic() { return Status("elastic"); }
  // Of its status; empty without one of that type.
  nlohmann::json JobCondition(const std::string& type) {
    const nlohmann::json status = Job().value("status", nlohmann::json::object());
    for (const nlohmann::json& c : status.value("conditions", nlohmann::json::array())) {
      if (c["type"] == type) return c;
    }
    return nlohmann::json::object();
  }
  // "True", "False", "Unknown", or "(none)" without such a condition.
  std::string Is(const std::string& type) { return JobCondition(type).value("status", "(none)"); }
  bool IsTrue(const std::string& type) { return Is(type) == "True"; }

 private:
  nlohmann::json Status(const char* field) {
    return Job().value("status", nlohmann::json::object()).value(field, nlohmann::json::object());
  }
};

}  // namespace yardmaster
