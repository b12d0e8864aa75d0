// Kueue and JobSet themselves beside our programs: one cluster for all tests of a program, of which
// each has the namespace "team" to itself and ends when nothing of its jobs is left. The queue is
// for 10 of 24 hosts.
//
// Everything is waited for, with limits that a busy machine does not reach. TESTONLY. Thread
// safety: one thread.
#pragma once

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/e2e/story_fixture.h"
#include "test/kinds/checker.h"
#include "test/kinds/job_objects.h"
#include "test/kinds/kind_controller.h"

namespace yardmaster::testing {

inline constexpr int kLongPatience = 240;  // seconds
inline constexpr int kQueuedHosts = 10;

class RealKindsTest : public StoryTest {
 protected:
  static void SetUpTestSuite() {
    SetUpCluster(true);
    if (cluster_ == nullptr || HasFatalFailure()) return;
    for (const auto& [name, config] :
         {std::pair{"jobset", "{}"}, std::pair{"kueue", kKueueConfig}}) {
      auto controller = KindController::Start(cluster_->plane(), name, config);
      ASSERT_TRUE(controller.ok()) << controller.status();
      controllers_.push_back(std::move(*controller));
    }
    MakeQueue();
  }
  static void TearDownTestSuite() {
    controllers_.clear();
    StoryTest::TearDownTestSuite();
  }
  void SetUp() override { ASSERT_EQ(controllers_.size(), 2U) << "the controllers do not run"; }
  void TearDown() override {
    if (controllers_.size() != 2) return;
    DeleteAll();
    ExpectNothingLeft();
  }

  static void DeleteAll() {
    const auto done =
        cluster_->plane().Kubectl({"delete", "jobsets,jobs,trainingjobs", "-n", "team", "--all",
                                   StrCat("--timeout=", kLongPatience, "s")});
    EXPECT_TRUE(done.ok()) << done.status();
  }
  static void ExpectNothingLeft() {
    std::vector<std::string> left;
    EXPECT_TRUE(WaitFor(kLongPatience, [&] {
      left = Leftovers(View());
      return left.empty();
    })) << Join(left, "\n");
  }

  // Creates it, again and again until the webhooks that were just started have agreed.
  static void Create(const json& object) {
    absl::Status last;
    EXPECT_TRUE(WaitFor(kLongPatience, [&] {
      last = cluster_->plane().Kubectl({"create", "-f", "-"}, object.dump()).status();
      return last.ok();
    })) << last;
  }
  static void Patch(const std::string& kind, const std::string& name, const json& patch) {
    absl::Status last;
    EXPECT_TRUE(WaitFor(kLongPatience, [&] {  // a webhook of a controller that starts again answers
                                              // a moment later
      last = cluster_->plane()
                 .Kubectl({"patch", kind, name, "-n", "team", "--type=merge", "-p", patch.dump()})
                 .status();
      return last.ok();
    })) << last;
  }
  // Gone at once, its pods later.
  static void DeleteWithoutWaiting(const std::string& kind, const std::string& name) {
    const auto done =
        cluster_->plane().Kubectl({"delete", kind, name, "-n", "team", "--wait=false"});
    EXPECT_TRUE(done.ok()) << done.status();
  }

  // Pods of the job, whatever its kind, that are neither ending nor ended.
  static std::vector<json> LivePods(const std::string& job) {
    std::vector<json> out;
    for (json& pod : Pods()) {
      const json labels = pod["metadata"].value("labels", json::object());
      const bool ours = labels.value("jobset.sigs.k8s.io/jobset-name", "") == job ||
                        labels.value("batch.kubernetes.io/job-name", "") == job ||
                        labels.value(api::kJobLabel, "") == job;
      const std::string phase = pod.value("/status/phase"_json_pointer, "");
      if (ours && phase != "Succeeded" && phase != "Failed" &&
          !pod["metadata"].contains("deletionTimestamp")) {
        out.push_back(std::move(pod));
      }
    }
    return out;
  }
  // Hosts of its pods that run.
  static std::set<std::string> RunsOn(const std::string& job) {
    std::set<std::string> out;
    for (const json& pod : LivePods(job)) {
      if (pod.value("/status/phase"_json_pointer, "") == "Running")
        out.insert(pod["spec"]["nodeName"]);
    }
    return out;
  }
  static bool Runs(const std::string& job, std::size_t size) {
    return WaitFor(kLongPatience,
                   [&] { return RunsOn(job).size() == size && LivePods(job).size() == size; });
  }
  static std::set<std::string> Uids(const std::string& job) {
    std::set<std::string> out;
    for (const json& pod : LivePods(job)) out.insert(pod["metadata"]["uid"]);
    return out;
  }
  // It runs with `size` pods, of which none is one of `before`.
  static bool RunsAnew(const std::string& job, std::size_t size,
                       const std::set<std::string>& before) {
    return WaitFor(kLongPatience, [&] {
      const std::set<std::string> now = Uids(job);
      return now.size() == size && RunsOn(job).size() == size &&
             std::none_of(now.begin(), now.end(),
                          [&](const std::string& uid) { return before.contains(uid); });
    });
  }
  static std::set<std::string> HostsHeldBy(const std::string& gang) {
    std::set<std::string> out;
    const json object = cluster_->Get({"gang", "-n", "team", gang});
    if (!object.is_object()) return out;
    for (const json& slot : object.value("/status/assignments"_json_pointer, json::array()))
      out.insert(slot["host"]);
    return out;
  }
  static bool HoldsNothing(const std::string& job, const std::string& gang) {
    return WaitFor(kLongPatience,
                   [&] { return LivePods(job).empty() && HostsHeldBy(gang).empty(); });
  }
  static void FailAPod(const std::string& job) {
    const std::vector<json> pods = LivePods(job);
    ASSERT_FALSE(pods.empty());
    const auto done =
        cluster_->plane().Kubectl({"label", "pod", "-n", "team", pods[0]["metadata"]["name"],
                                   "pod-failed.stage.kwok.x-k8s.io=true"});
    ASSERT_TRUE(done.ok()) << done.status();
  }
  static void SetReady(const std::string& host, bool ready) {
    const std::string label = StrCat("node-not-ready.stage.kwok.x-k8s.io", ready ? "-" : "=true");
    const auto done = cluster_->plane().Kubectl({"label", "node", host, "--overwrite", label});
    ASSERT_TRUE(done.ok()) << done.status();
  }
  static bool IsReady(const std::string& host) {
    return ConditionOf(cluster_->Get({"node", host}), "Ready") == "True";
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

  static std::vector<json> Items(const std::vector<std::string>& arguments) {
    const json list = cluster_->Get(arguments);
    return list.is_object() ? list["items"].get<std::vector<json>>() : std::vector<json>{};
  }
  static ClusterView View() { return {Pods(), Items({"gangs", "-n", "team"}), Items({"nodes"})}; }
  static void ExpectPromisesKept() {
    const std::vector<std::string> broken = BrokenPromises(View());
    EXPECT_TRUE(broken.empty()) << Join(broken, "\n");
  }
  static void ExpectFinished() {
    std::vector<std::string> open;
    EXPECT_TRUE(WaitFor(kLongPatience, [&] {
      open = Unfinished(View());
      return open.empty();
    })) << Join(open, "\n");
  }

  static inline std::vector<std::unique_ptr<KindController>> controllers_;

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
