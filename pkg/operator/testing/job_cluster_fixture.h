// One TrainingJob "team/a" on an API server in memory, with its Nodes and the pods as kubelets run
// them.
//
// TESTONLY. Thread safety: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {

class JobClusterFixture : public ::testing::Test {
 protected:
  using json = nlohmann::json;

  JobClusterFixture() : client_(clock_) {}

  // Seeds the job with `workers` workers and `spec` over the defaults, and hosts "n0", "n1", ...
  // Pods are recreated unless `spec` says that containers restart in place.
  void SeedJob(int workers, int hosts, const json& spec = json::object()) {
    json job = {{"apiVersion", api::kGroupVersion},
                {"kind", "TrainingJob"},
                {"metadata", {{"name", "a"}, {"namespace", "team"}, {"uid", "job"}}},
                {"spec",
                 {{"workers", workers},
                  {"gpusPerWorker", 8},
                  {"recovery", {{"hostGraceSeconds", 10}, {"inPlaceSeconds", 0}}},
                  {"template",
                   {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}}}}}};
    job["spec"].merge_patch(spec);
    client_.Seed(kube::TrainingJobs(), job);
    for (int i = 0; i < hosts; ++i) SetNode(StrCat("n", i), true);
  }

  static json NodeObject(const std::string& name, bool ready) {
    return {
        {"apiVersion", "v1"},
        {"kind", "Node"},
        {"metadata",
         {{"name", name}, {"labels", {{api::kFabricPodLabel, "p0"}, {api::kSegmentLabel, "s0"}}}}},
        {"spec", json::object()},
        {"status",
         {{"allocatable", {{api::kGpuResource, "8"}}},
          {"conditions",
           json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}}}};
  }
  // The job's Gang as the extender writes it: two workers on n0 and n1.
  api::Gang SeedGangOfTwo() {
    api::Gang gang;
    gang.metadata.name = api::GangName(api::kTrainingJobKind, "a");
    gang.metadata.namespace_name = "team";
    gang.metadata.uid = "gang";
    gang.job.workers = 2;
    gang.status.plan_generation = 1;
    gang.status.assignments = {{0, "n0", "p0", "s0", {0}}, {1, "n1", "p0", "s0", {0}}};
    client_.Seed(kube::Gangs(), api::EncodeGang(gang));
    return gang;
  }
  void SetNode(const std::string& name, bool ready) {
    json node = NodeObject(name, ready);
    if (auto known = client_.Find(kube::Nodes(), "", name)) {
      node["metadata"] = (*known)["metadata"];
      if (known->contains("spec")) node["spec"] = (*known)["spec"];
    }
    client_.Seed(kube::Nodes(), node);
  }

  int Workers() { return Job()["spec"]["workers"]; }

  void SetPod(int rank, const std::string& phase, const std::string& node) {
    json pod = Pod(rank);
    ASSERT_TRUE(pod.is_object()) << rank;
    pod["spec"]["nodeName"] = node;
    pod["spec"].erase("schedulingGates");
    pod["status"]["phase"] = phase;
    client_.Seed(kube::Pods(), pod);
  }
  // The container ends with `code`, as a kubelet reports it.
  void FailPod(int rank, int code, std::int64_t finished_ms = 0) {
    json pod = Pod(rank);
    ASSERT_TRUE(pod.is_object()) << rank;
    pod["status"]["phase"] = "Failed";
    json terminated = {{"exitCode", code}, {"reason", "Error"}};
    if (finished_ms != 0) terminated["finishedAt"] = FormatTime(finished_ms);
    pod["status"]["containerStatuses"] = json::array(
        {{{"name", "c"}, {"restartCount", 0}, {"state", {{"terminated", terminated}}}}});
    client_.Seed(kube::Pods(), pod);
  }
  // The container ends with `code` inside its pod, and the kubelet has started it again or, while
  // it backs off, not yet.
  void EndContainer(int rank, int code, bool started_again = true) {
    json pod = Pod(rank);
    ASSERT_TRUE(pod.is_object()) << rank;
    const json::json_pointer count("/status/containerStatuses/0/restartCount");
    const int before = pod.contains(count) ? pod[count].get<int>() : 0;
    const json ended = {
        {"terminated", {{"exitCode", code}, {"finishedAt", FormatTime(clock_.WallMs())}}}};
    const json state = started_again
                           ? json{{"running", {{"startedAt", FormatTime(clock_.WallMs())}}}}
                           : json{{"waiting", {{"reason", "CrashLoopBackOff"}}}};
    pod["status"]["containerStatuses"] =
        json::array({{{"name", "c"},
                      {"restartCount", before + (started_again ? 1 : 0)},
                      {"state", state},
                      {"lastState", ended}}});
    client_.Seed(kube::Pods(), pod);
    // It starts with the pod's present generation.
    if (started_again) started_for_[Uid(rank)] = GenerationOf(pod);
  }
  // Kubelets of hosts that are up restart the containers that were asked to. How many.
  int RestartAsAsked(const std::set<std::string>& hosts_down = {}) {
    int restarted = 0;
    for (int rank = 0; rank < Workers(); ++rank) {
      const json pod = Pod(rank);
      if (Phase(rank) != "Running" || hosts_down.count(pod["spec"]["nodeName"]) != 0) continue;
      // A pod begins with the generation that it was made with, that of its attempt.
      const std::string made_for = pod["metadata"]["annotations"][api::kAttemptAnnotation];
      const std::int64_t started =
          started_for_.try_emplace(Uid(rank), std::stoll(made_for)).first->second;
      if (GenerationOf(pod) <= started) continue;
      EndContainer(rank, 137);
      ++restarted;
    }
    return restarted;
  }
  static std::int64_t GenerationOf(const json& pod) {
    const json& annotations = pod["metadata"]["annotations"];
    return std::stoll(annotations.value(api::kRestartGenerationAnnotation, "0"));
  }
  // Deletion has begun, the kubelet has not finished it.
  void MarkDeleting(int rank) {
    json pod = Pod(rank);
    pod["metadata"]["deletionTimestamp"] = FormatTime(clock_.WallMs());
    client_.Seed(kube::Pods(), pod);
  }

  json Job() { return *client_.Find(kube::TrainingJobs(), "team", "a"); }
  // Writes fields of its spec as a user does.
  void Change(const json& spec) {
    json job = Job();
    job["spec"].merge_patch(spec);
    client_.Seed(kube::TrainingJobs(), job);
  }
  void Suspend(bool suspended) { Change({{"suspend", suspended}}); }
  json Status() { return Job().value("status", json::object()); }
  json Pod(int rank) {
    return client_.Find(kube::Pods(), "team", PodName("a", rank)).value_or(json());
  }
  bool HasPod(int rank) { return Pod(rank).is_object(); }
  bool IsGated(int rank) { return Pod(rank)["spec"].contains("schedulingGates"); }
  std::string HostOfPin(int rank) {
    return Pod(rank).value(
        "/spec/affinity/nodeAffinity/"
        "requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms/0/"
        "matchFields/0/values/0"_json_pointer,
        "");
  }
  std::string Phase(int rank) {
    const json pod = Pod(rank);
    return pod.is_object() ? pod.value("/status/phase"_json_pointer, "") : "(none)";
  }
  std::string Uid(int rank) {
    const json pod = Pod(rank);
    return pod.is_object() ? pod["metadata"]["uid"].get<std::string>() : "(none)";
  }
  std::map<int, std::string> Uids() {
    std::map<int, std::string> out;
    for (int rank = 0; rank < Workers(); ++rank) out[rank] = Uid(rank);
    return out;
  }
  json ConditionObject(const std::string& type) {
    const json status = Status();
    const json conditions = status.value("conditions", json::array());
    for (const json& condition : conditions) {
      if (condition["type"] == type) return condition;
    }
    return json::object();
  }
  std::string Condition(const std::string& type) {
    return ConditionObject(type).value("status", "(none)");
  }
  std::string Reason(const std::string& type) {
    return ConditionObject(type).value("reason", "(none)");
  }
  std::string Message(const std::string& type) {
    return ConditionObject(type).value("message", "(none)");
  }

  FakeClock clock_;
  kube::FakeClient client_;
  std::map<std::string, std::int64_t> started_for_;  // by pod uid: the generation its container has
};

}  // namespace yardmaster::op
