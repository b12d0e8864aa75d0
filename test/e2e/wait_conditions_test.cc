// `kubectl wait --for=condition=X trainingjob/NAME` returns for each condition of
// docs/lifecycle.md. Jobs are brought there by what people, hosts and pods do; no test writes the
// status of a job.
#include <set>

#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

constexpr char kNotReady[] = "node-not-ready.stage.kwok.x-k8s.io";
constexpr char kOwnModel[] = "e2e-own";  // a GPU model that only hosts of this test have

class WaitConditionsTest : public StoryTest {
 protected:
  void TearDown() override {
    for (const std::string& host : own_) Label(host, StrCat(api::kGpuModelLabel, "-"));
    StoryTest::TearDown();
  }
  static void Run(const std::vector<std::string>& arguments) {
    const auto done = cluster_->plane().Kubectl(arguments);
    ASSERT_TRUE(done.ok()) << done.status();
  }
  static void Label(const std::string& host, const std::string& label) {
    Run({"label", "node", host, label});
  }
  // As a person has it in a script: `value` "" is the form without a value.
  void Wait(const std::string& job, const std::string& condition, const std::string& value = "") {
    const auto waited = cluster_->plane().Kubectl(
        {"wait", "trainingjob/" + job, "-n", "team", "--timeout=60s",
         StrCat("--for=condition=", condition, value.empty() ? "" : "=", value)});
    ASSERT_TRUE(waited.ok()) << waited.status() << "\n" << Job(job).dump(1);
    EXPECT_NE(waited->find("condition met"), std::string::npos) << *waited;
    EXPECT_EQ(ConditionOf(Job(job), condition), value.empty() ? "True" : value);
    if (value.empty()) seen_.insert(condition);
  }
  static void Suspend(const std::string& job, bool suspended) {
    Run({"patch", "trainingjob", job, "-n", "team", "--type=merge", "-p",
         StrCat(R"({"spec": {"suspend": )", suspended ? "true" : "false", "}}")});
  }
  // Two ordinary hosts get the test's own GPU model.
  void AddOwnHosts() {
    const json nodes = cluster_->Get({"nodes", "-l", "!yardmaster.dev/backup"});
    for (const json& node : nodes["items"]) {
      if (own_.size() == 2) return;
      own_.push_back(node["metadata"]["name"]);
      Label(own_.back(), StrCat(api::kGpuModelLabel, "=", kOwnModel));
    }
  }

  std::vector<std::string> own_;
  std::set<std::string> seen_;  // conditions that were waited for and became True
};

TEST_F(WaitConditionsTest, KubectlWaitReturnsForEveryConditionOfATrainingJob) {
  // No host has the model yet.
  ASSERT_TRUE(cluster_->plane()
                  .Apply(TrainingJob("w", 2, StrCat(R"("gpuModel": ")", kOwnModel, R"(")")))
                  .ok());
  Wait("w", "Queued");
  AddOwnHosts();
  Wait("w", "Placed");
  Wait("w", "Running");
  Wait("w", "Queued", "False");

  // No other host fits, so that it stays in recovery until this one is back.
  const std::string host = cluster_->Get({"pod", "-n", "team", "w-1"})["spec"]["nodeName"];
  Label(host, StrCat(kNotReady, "=true"));
  Wait("w", "Degraded");
  Wait("w", "Recovering");
  Wait("w", "Running", "False");
  Label(host, StrCat(kNotReady, "-"));
  Wait("w", "Running");
  Wait("w", "Recovering", "False");
  Wait("w", "Degraded", "False");

  Suspend("w", true);
  Wait("w", "Suspended");
  Suspend("w", false);
  Wait("w", "Suspended", "False");
  Wait("w", "Running");
  for (const json& pod : Pods()) {
    Run({"annotate", "pod", pod["metadata"]["name"], "-n", "team",
         "pod-complete.stage.kwok.x-k8s.io/delay=0s"});
  }
  Wait("w", "Succeeded");

  ASSERT_TRUE(cluster_->plane()
                  .Apply(R"({"apiVersion": "v1", "kind": "Pod",
                             "metadata": {"name": "f-0", "namespace": "team"},
                             "spec": {"containers": [{"name": "c", "image": "i"}]}})")
                  .ok());
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("f", 1, R"("priority": 0)")).ok());
  Wait("f", "Stalled");
  Run({"delete", "pod", "f-0", "-n", "team", "--timeout=60s"});
  Wait("f", "Running");
  Wait("f", "Stalled", "False");
  Run({"patch", "trainingjob", "f", "-n", "team", "--type=merge", "-p",
       R"({"spec": {"recovery": {"maxRestarts": 0}}})"});
  Run({"label", "pod", "f-0", "-n", "team", "pod-failed.stage.kwok.x-k8s.io=true"});
  Wait("f", "Failed");

  const std::set<std::string> all = {"Queued",    "Placed",    "Running", "Degraded", "Recovering",
                                     "Suspended", "Succeeded", "Failed",  "Stalled"};
  EXPECT_EQ(seen_, all);
}

}  // namespace
}  // namespace yardmaster::testing
