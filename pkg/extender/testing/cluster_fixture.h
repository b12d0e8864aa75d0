// A cluster in memory for tests: nodes of two segments, jobs and their pods, and what the operator
// and kube-scheduler would do to them. TESTONLY. Thread safety: none.
#pragma once

#include <map>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::extender {

using nlohmann::json;

inline constexpr int kHostsPerSegment = 4;  // one of them a backup host

class ClusterFixture : public ::testing::Test {
 protected:
  ClusterFixture() : client_(clock_) {
    for (int s = 0; s < 2; ++s) {
      for (int h = 0; h < kHostsPerSegment; ++h) AddNode(s, h);
    }
  }

  static std::string NodeName(int segment, int host) { return StrCat("s", segment, "h", host); }

  void AddNode(int segment, int host, bool ready = true) {
    json node = {
        {"apiVersion", "v1"},
        {"kind", "Node"},
        {"metadata",
         {{"name", NodeName(segment, host)},
          {"labels", {{api::kFabricPodLabel, "p0"}, {api::kSegmentLabel, StrCat("s", segment)}}}}},
        {"spec", json::object()},
        {"status",
         {{"allocatable", {{api::kGpuResource, "8"}}},
          {"conditions",
           json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}}}};
    if (host == kHostsPerSegment - 1) node["metadata"]["labels"][api::kBackupKey] = "true";
    if (const auto before = client_.Find(kube::Nodes(), "", NodeName(segment, host))) {
      if (before->contains("spec")) node["spec"] = (*before)["spec"];
    }
    client_.Seed(kube::Nodes(), node);
  }

  // Spares are lent to preemptible jobs.
  void AddFabric() {
    client_.Seed(kube::Fabrics(), json::parse(R"({
      "apiVersion": "yardmaster.dev/v1alpha1", "kind": "Fabric", "metadata": {"name": "small"},
      "spec": {"size": {"fabricPods": 1, "segmentsPerFabricPod": 2, "hostsPerSegment": 4},
               "backup": {"hostsPerSegment": 1, "lendToPreemptible": true},
               "tiers": [{"role": "tor", "scope": "Segment", "perRail": true, "downPorts": 8,
                          "downGbps": 200, "upPorts": 4, "upGbps": 400},
                         {"role": "agg", "scope": "FabricPod", "switches": 4, "downPorts": 16,
                          "downGbps": 400}]}})"));
  }

  // `more`: further fields of the spec.
  void AddJob(const std::string& name, int workers, const char* placement = "{}",
              const json& more = json::object()) {
    json job = {{"apiVersion", api::kGroupVersion},
                {"kind", "TrainingJob"},
                {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", "job-" + name}}},
                {"spec",
                 {{"workers", workers},
                  {"gpusPerWorker", 8},
                  {"parallelism", {{"tensor", 8}, {"data", workers}}},
                  {"placement", json::parse(placement)},
                  {"template", {{"spec", {{"containers", json::array()}}}}}}}};
    job["spec"].update(more);
    client_.Seed(kube::TrainingJobs(), job);
    for (int rank = 0; rank < workers; ++rank) AddPod(name, rank);
  }

  void AddPod(const std::string& job, int rank, const std::string& owner_uid = "") {
    static int life = 0;
    client_.Seed(
        kube::Pods(),
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          {{"name", StrCat(job, "-", rank)},
           {"namespace", "team"},
           {"uid", StrCat("pod-", job, "-", rank, "-", ++life)},
           {"labels", {{api::kJobLabel, job}, {api::kRankLabel, StrCat(rank)}}},
           {"ownerReferences", json::array({{{"apiVersion", api::kGroupVersion},
                                             {"kind", "TrainingJob"},
                                             {"name", job},
                                             {"uid", owner_uid.empty() ? "job-" + job : owner_uid},
                                             {"controller", true}}})}}},
         {"spec",
          {{"schedulingGates", json::array({{{"name", api::kPlacementGate}}})},
           {"containers",
            json::array(
                {{{"name", "c"}, {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}},
         {"status", {{"phase", "Pending"}}}});
  }

  // As the operator would: a gated pod for every rank of every job that has none.
  void MakeMissingPods() {
    for (const json& job : client_.All(kube::TrainingJobs())) {
      const std::string name = job["metadata"]["name"];
      for (int rank = 0; rank < job["spec"]["workers"].get<int>(); ++rank) {
        if (!client_.Find(kube::Pods(), "team", StrCat(name, "-", rank))) AddPod(name, rank);
      }
    }
  }

  // As kube-scheduler would: released pods run on the host they are pinned to.
  void RunReleasedPods() {
    std::map<std::string, std::string> on;
    for (json pod : client_.All(kube::Pods())) {
      const std::string host = PinnedTo(pod);
      if (Gated(pod) || host.empty()) continue;
      const std::string name = pod["metadata"]["name"];
      EXPECT_TRUE(on.emplace(host, name).second) << name << " and " << on[host] << " on " << host;
      pod["spec"]["nodeName"] = host;
      pod["status"]["phase"] = "Running";
      client_.Seed(kube::Pods(), pod);
    }
  }

  void DeletePod(const std::string& name) {
    ASSERT_TRUE(client_.Delete({kube::Pods(), "team", name, ""}, {}).ok());
  }
  void Finish(const std::string& job) {
    for (json pod : client_.All(kube::Pods())) {
      if (pod["metadata"]["labels"][api::kJobLabel] != job) continue;
      pod["status"]["phase"] = "Succeeded";
      client_.Seed(kube::Pods(), pod);
    }
  }

  static bool Gated(const json& pod) {
    return pod["spec"].contains("schedulingGates") && !pod["spec"]["schedulingGates"].empty();
  }
  static std::string PinnedTo(const json& pod) {
    const json::json_pointer at(
        "/spec/affinity/nodeAffinity/"
        "requiredDuringSchedulingIgnoredDuringExecution/"
        "nodeSelectorTerms/0/matchFields/0/values/0");
    return pod.contains(at) ? pod[at].get<std::string>() : "";
  }
  json GangStatus(const std::string& job) {
    auto gang = client_.Find(kube::Gangs(), "team", "trainingjob-" + job);
    return gang && gang->contains("status") ? (*gang)["status"] : json::object();
  }

  bool Placed(const std::string& job) { return !Slots(job).empty(); }
  json Slots(const std::string& job) {
    const json status = GangStatus(job);
    return status.value("assignments", json::array());
  }
  // {"status", "reason", "message", ...} of a gang's condition; an empty object without it.
  json Condition(const std::string& job, const std::string& type) {
    const json status = GangStatus(job);
    for (const json& condition : status.value("conditions", json::array())) {
      if (condition["type"] == type) return condition;
    }
    return json::object();
  }

  FakeClock clock_;
  kube::FakeClient client_;
};

}  // namespace yardmaster::extender
