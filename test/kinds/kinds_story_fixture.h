// Real controllers of job kinds beside our programs: one cluster for all tests of a suite, of
// which each has the namespace "team" to itself and ends when nothing of its jobs is left.
//
// Everything is waited for, with limits that a busy machine does not reach. TESTONLY. Thread
// safety: one thread.
#pragma once

#include <algorithm>
#include <iterator>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "test/e2e/story_fixture.h"
#include "test/kinds/checker.h"
#include "test/kinds/kind_controller.h"

namespace yardmaster::testing {

inline constexpr int kLongPatience = 240;  // seconds

class KindsStoryTest : public StoryTest {
 protected:
  struct Wanted {
    const char* name;
    const char* config;
  };

  // `kinds`: those of the tests' jobs, as kubectl lists them.
  static void StartControllers(const std::vector<Wanted>& wanted, const std::string& kinds) {
    kinds_ = kinds;
    SetUpCluster(true);
    if (cluster_ == nullptr || HasFatalFailure()) return;
    for (const Wanted& one : wanted) {
      auto controller = KindController::Start(cluster_->plane(), one.name, one.config);
      ASSERT_TRUE(controller.ok()) << controller.status();
      controllers_.push_back(std::move(*controller));
    }
    all_run_ = true;
  }
  static void TearDownTestSuite() {
    all_run_ = false;
    controllers_.clear();
    StoryTest::TearDownTestSuite();
  }
  void SetUp() override { ASSERT_TRUE(all_run_) << "the controllers do not run"; }
  void TearDown() override {
    if (!all_run_) return;
    DeleteAll();
    ExpectNothingLeft();
  }

  static void DeleteAll() {
    const auto done = cluster_->plane().Kubectl(
        {"delete", kinds_, "-n", "team", "--all", StrCat("--timeout=", kLongPatience, "s")});
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

  // Pods with GPUs of the job, whatever its kind, that are neither ending nor ended.
  static std::vector<json> LivePods(const std::string& job) {
    static constexpr const char* kNames[] = {"jobset.sigs.k8s.io/jobset-name",
                                             "batch.kubernetes.io/job-name",
                                             "leaderworkerset.sigs.k8s.io/name",
                                             "training.kubeflow.org/job-name",
                                             "ray.io/cluster",
                                             api::kJobLabel};
    std::vector<json> out;
    for (json& pod : Pods()) {
      const json labels = pod["metadata"].value("labels", json::object());
      const bool ours = std::any_of(std::begin(kNames), std::end(kNames), [&](const char* label) {
        return labels.value(label, "") == job;
      });
      const json limits =
          pod["spec"]["containers"][0].value("/resources/limits"_json_pointer, json::object());
      const std::string phase = pod.value("/status/phase"_json_pointer, "");
      if (ours && limits.contains(api::kGpuResource) && phase != "Succeeded" && phase != "Failed" &&
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
  static inline std::string kinds_;
  static inline bool all_run_ = false;
};

}  // namespace yardmaster::testing
