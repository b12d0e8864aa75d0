// The admission policy that gives pods their plan and the shims, tried with pods as job controllers
// make them: recorded ones of seven projects, and those of Kubernetes' own controllers as they
// come.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <set>
#include <thread>
#include <utility>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "test/integration/control_plane.h"

namespace yardmaster::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kNamespace[] = "yardmaster-system";
constexpr char kAnnotation[] = "yardmaster.dev/network-shim";
const char* const kVariables[] = {"NCCL_CONF_FILE", "YARDMASTER_PLAN", "YARDMASTER_SHIM_STATUS",
                                  "NCCL_IBVERBS_LIB", "LD_PRELOAD"};

json Named(const json& list, const std::string& name) {
  for (const json& entry : list) {
    if (entry.value("name", "") == name) return entry;
  }
  return nullptr;
}

// What of `before` is not in `after`: members that are missing or other, named list entries that
// are gone or have changed places among themselves.
void Lost(const json& before, const json& after, const std::string& path,
          std::vector<std::string>& lost) {
  if (before.is_object()) {
    for (const auto& [key, value] : before.items()) {
      if (!after.is_object() || !after.contains(key)) {
        lost.push_back(StrCat(path, "/", key));
      } else {
        Lost(value, after[key], StrCat(path, "/", key), lost);
      }
    }
    return;
  }
  if (!before.is_array()) {
    if (before != after) lost.push_back(path);
    return;
  }
  std::size_t at = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    // Entries without a name are told apart by what they are.
    const auto same = [&](const json& entry) {
      return before[i].is_object() && before[i].contains("name")
                 ? entry.value("name", "") == before[i]["name"]
                 : entry == before[i];
    };
    while (at < after.size() && !same(after[at])) ++at;
    if (at == after.size()) {
      lost.push_back(StrCat(path, "/", i));
      return;
    }
    Lost(before[i], after[at++], StrCat(path, "/", i), lost);
  }
}

class ShimPolicyTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto plane = ControlPlane::Start({.mutating_policies = true});
    ASSERT_TRUE(plane.ok()) << plane.status();
    plane_ = plane->release();
    ASSERT_TRUE(plane_->Kubectl({"create", "namespace", kNamespace}).ok());
    const auto policy =
        RunProgram({plane_->bin() + "/helm", "template", "yardmaster",
                    YARDMASTER_SOURCE_DIR "/helm/yardmaster", "--namespace", kNamespace,
                    "--show-only", "templates/shim-policy.yaml", "--set",
                    StrCat("networkShim.apiVersion=admissionregistration.k8s.io/",
                           plane_->kubernetes_minor() < 36 ? "v1beta1" : "v1")},
                   "", {{"HOME", plane_->folder()}});
    ASSERT_TRUE(policy.ok()) << policy.status();
    ASSERT_TRUE(plane_->Apply(*policy).ok());
    ASSERT_TRUE(Eventually([] {
      const auto pod = Admitted({{"apiVersion", "v1"},
                                 {"kind", "Pod"},
                                 {"metadata", {{"name", "probe"}}},
                                 {"spec", {{"containers", {{{"name", "c"}, {"image", "i"}}}}}}});
      return pod.ok() && !Named((*pod)["spec"]["volumes"], "yardmaster-network").is_null();
    })) << "the policy is not in force";
  }
  static void TearDownTestSuite() {
    delete plane_;
    plane_ = nullptr;
  }
  static bool Eventually(const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    return true;
  }

  // What would be stored of a pod that asks for both shims; nothing is.
  static absl::StatusOr<json> Admitted(json pod) {
    pod["metadata"]["annotations"][kAnnotation] = "verbs,socket";
    const auto text = plane_->Kubectl(
        {"create", "--dry-run=server", "-n", "default", "-o", "json", "-f", "-"}, pod.dump());
    if (!text.ok()) return text.status();
    return json::parse(*text);
  }

  // What a controller wrote as the API server takes it: names that need no other objects.
  static json AsCreated(json pod) {
    json& metadata = pod["metadata"];
    for (const char* key :
         {"uid", "resourceVersion", "creationTimestamp", "deletionTimestamp",
          "deletionGracePeriodSeconds", "namespace", "finalizers", "ownerReferences"}) {
      metadata.erase(key);
    }
    pod.erase("status");
    json& spec = pod["spec"];
    spec.erase("nodeName");
    spec.erase("priority");
    for (json& container : spec["containers"]) container["image"] = "registry.example/train";
    return pod;
  }

  // Everything a pod was made with is there as it was, and every container has the plan and the
  // shims.
  static void Check(const json& before, const json& after, const std::string& what) {
    std::vector<std::string> lost;
    Lost(before["spec"], after["spec"], "spec", lost);
    EXPECT_THAT(lost, ::testing::IsEmpty()) << what;
    const json& spec = after["spec"];
    for (const char* volume : {"yardmaster-network", "yardmaster-shim", "yardmaster-status"}) {
      EXPECT_FALSE(Named(spec["volumes"], volume).is_null()) << what << ": " << volume;
    }
    EXPECT_EQ(spec["initContainers"][0]["name"], "yardmaster-shim") << what;
    for (const json& container : spec["containers"]) {
      std::set<std::string> paths, names;
      for (const json& mount : container["volumeMounts"]) {
        EXPECT_TRUE(paths.insert(mount["mountPath"]).second) << what << ": " << mount;
      }
      EXPECT_EQ(paths.count("/etc/yardmaster/network"), 1u) << what;
      for (const json& variable : container["env"]) {
        EXPECT_TRUE(names.insert(variable["name"]).second) << what << ": " << variable;
      }
      for (const char* name : kVariables) EXPECT_EQ(names.count(name), 1u) << what << ": " << name;
    }
  }

  static ControlPlane* plane_;
};

ControlPlane* ShimPolicyTest::plane_ = nullptr;

TEST_F(ShimPolicyTest, PodsOfEveryKindKeepWhatTheirControllersWrote) {
  int pods = 0;
  std::set<std::string> kinds;
  for (const auto& file :
       fs::recursive_directory_iterator(YARDMASTER_SOURCE_DIR "/test/data/kinds")) {
    const std::string name = file.path().filename().string();
    if (name.find("created") == std::string::npos && name.find("gated") == std::string::npos) {
      continue;
    }
    std::ifstream in(file.path());
    std::string former;
    for (const json& object : json::parse(in)) {
      if (object["kind"] != "Pod") continue;
      // One pod of each shape: those of a job differ in names and indices.
      const std::string shape = object["spec"]["containers"].dump();
      if (shape == std::exchange(former, shape)) continue;
      const json before = AsCreated(object);
      const auto after = Admitted(before);
      ASSERT_TRUE(after.ok()) << file.path() << ": " << after.status();
      Check(before, *after, file.path().string());
      kinds.insert(file.path().parent_path().filename().string());
      ++pods;
    }
  }
  EXPECT_EQ(kinds.size(), 8u);  // the folders of test/data/kinds
  EXPECT_GE(pods, 12);
}

TEST_F(ShimPolicyTest, WhatControllersAddToContainersStays) {
  // The parts that controllers add and the recordings leave out: variables from the pod's own
  // fields and from Secrets, init containers, shared memory, ssh keys, several containers,
  // sidecars.
  const json pod = json::parse(R"({"apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "llama-worker-0", "labels": {"training.kubeflow.org/replica-index": "0"}},
    "spec": {
      "subdomain": "llama", "hostname": "llama-worker-0", "restartPolicy": "Never",
      "shareProcessNamespace": true,
      "schedulingGates": [{"name": "yardmaster.dev/placement"}],
      "initContainers": [
        {"name": "init-pytorch", "image": "alpine", "command": ["sh", "-c", "until nslookup m; do sleep 2; done"],
         "resources": {"limits": {"cpu": "100m", "memory": "20Mi"}}},
        {"name": "log", "image": "fluent", "restartPolicy": "Always",
         "volumeMounts": [{"name": "logs", "mountPath": "/logs"}]}],
      "containers": [
        {"name": "pytorch", "image": "train", "args": ["--x"],
         "envFrom": [{"secretRef": {"name": "keys", "optional": true}}],
         "env": [
           {"name": "MASTER_ADDR", "value": "llama-master-0"}, {"name": "MASTER_PORT", "value": "23456"},
           {"name": "PET_RDZV_ENDPOINT", "value": "llama-worker-0:23456"},
           {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": {
             "fieldPath": "metadata.annotations['batch.kubernetes.io/job-completion-index']"}}},
           {"name": "HF_TOKEN", "valueFrom": {"secretKeyRef": {"name": "hf", "key": "token"}}},
           {"name": "NCCL_IB_TC", "value": "160"}],
         "ports": [{"name": "rdzv", "containerPort": 23456}],
         "resources": {"limits": {"nvidia.com/gpu": "8", "rdma/hca": "1"}},
         "securityContext": {"capabilities": {"add": ["IPC_LOCK"]}},
         "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"},
                          {"name": "ssh", "mountPath": "/root/.ssh"},
                          {"name": "data", "mountPath": "/etc/yardmaster", "subPath": "x"}]},
        {"name": "metrics", "image": "exporter"}],
      "volumes": [
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "logs", "emptyDir": {}},
        {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
        {"name": "ssh", "secret": {"secretName": "llama-ssh", "defaultMode": 384,
          "items": [{"key": "ssh-privatekey", "path": "id_rsa"}]}}]}})");
  const auto after = Admitted(pod);
  ASSERT_TRUE(after.ok()) << after.status();
  Check(pod, *after, "pytorch");
  EXPECT_EQ((*after)["metadata"]["annotations"]["yardmaster.dev/kept-environment"], "NCCL_IB_TC");
  EXPECT_EQ((*after)["spec"]["initContainers"].size(), 3u);
}

TEST_F(ShimPolicyTest, PodsOfKubernetesOwnControllersGetThem) {
  const json container = {{"name", "train"},
                          {"image", "registry.example/train"},
                          {"env", {{{"name", "LOCAL"}, {"value", "1"}}}}};
  const auto template_of = [&](const std::string& app, const char* restart) {
    return json{
        {"metadata", {{"labels", {{"app", app}}}, {"annotations", {{kAnnotation, "verbs"}}}}},
        {"spec", {{"restartPolicy", restart}, {"containers", {container}}}}};
  };
  const json selector = {{"matchLabels", {{"app", "stateful"}}}};
  const json objects[] = {{{"apiVersion", "batch/v1"},
                           {"kind", "Job"},
                           {"metadata", {{"name", "indexed"}, {"namespace", "default"}}},
                           {"spec",
                            {{"completionMode", "Indexed"},
                             {"completions", 2},
                             {"parallelism", 2},
                             {"template", template_of("indexed", "Never")}}}},
                          {{"apiVersion", "apps/v1"},
                           {"kind", "StatefulSet"},
                           {"metadata", {{"name", "stateful"}, {"namespace", "default"}}},
                           {"spec",
                            {{"serviceName", "stateful"},
                             {"replicas", 1},
                             {"selector", selector},
                             {"template", template_of("stateful", "Always")}}}}};
  for (const json& object : objects) {
    ASSERT_TRUE(plane_->Apply(object.dump()).ok());
    const std::string name = object["metadata"]["name"];
    json pods;
    ASSERT_TRUE(Eventually([&] {
      const auto text = plane_->Kubectl({"get", "pods", "-l", "app=" + name, "-o", "json"});
      if (!text.ok()) return false;
      pods = json::parse(*text)["items"];
      return pods.size() == (name == "indexed" ? 2u : 1u);
    })) << name;
    for (const json& pod : pods) {
      const json& spec = pod["spec"];
      EXPECT_FALSE(Named(spec["volumes"], "yardmaster-network").is_null()) << name;
      const json& env = spec["containers"][0]["env"];
      EXPECT_EQ(Named(env, "LOCAL")["value"], "1");
      EXPECT_EQ(Named(env, "NCCL_IBVERBS_LIB")["value"], "/opt/yardmaster/libyardmaster-verbs.so");
      EXPECT_TRUE(Named(env, "LD_PRELOAD").is_null());
      // The controllers' own.
      EXPECT_EQ(Named(env, "JOB_COMPLETION_INDEX").is_null(), name != "indexed") << env;
      bool has_token = false;
      for (const json& volume : spec["volumes"]) has_token |= volume.contains("projected");
      EXPECT_TRUE(has_token) << "the ServiceAccount's volume";
    }
  }
}

}  // namespace
}  // namespace yardmaster::testing
