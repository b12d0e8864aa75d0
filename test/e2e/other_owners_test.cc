// Jobs of other controllers on a real control plane: some of whose indexes have ended, and those
// that hold hosts without pods.
#include "pkg/api/suspended_wait.h"
#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

class OtherOwnersTest : public StoryTest {
 protected:
  static void TearDownJobs() {
    EXPECT_TRUE(cluster_->plane()
                    .Kubectl({"delete", "jobs,pods", "-n", "team", "--all", "--timeout=60s"})
                    .ok());
    EXPECT_TRUE(cluster_->plane()
                    .Kubectl({"delete", "configmap", "owner", "-n", "team", "--ignore-not-found"})
                    .ok());
  }
  void TearDown() override {
    TearDownJobs();
    StoryTest::TearDown();
  }

  static json GpuPod() {
    return json::parse(R"({"restartPolicy": "Never",
        "schedulingGates": [{"name": "yardmaster.dev/placement"}],
        "containers": [{"name": "t", "image": "i",
                        "resources": {"limits": {"nvidia.com/gpu": "8"}}}]})");
  }
  static json IndexedJob(const std::string& name, int size, const json& more = json::object()) {
    json job = {{"apiVersion", "batch/v1"},
                {"kind", "Job"},
                {"metadata", {{"name", name}, {"namespace", "team"}}},
                {"spec",
                 {{"completionMode", "Indexed"},
                  {"completions", size},
                  {"parallelism", size},
                  {"template",
                   {{"metadata",
                     {{"annotations", {{"yardmaster.dev/parallelism", StrCat("tp=8,dp=", size)}}}}},
                    {"spec", GpuPod()}}}}}};
    job.merge_patch(more);
    return job;
  }
  static void Apply(const json& object) {
    const absl::Status applied = cluster_->plane().Apply(object.dump());
    ASSERT_TRUE(applied.ok()) << applied;
  }
  static void PatchJob(const std::string& name, const std::string& patch) {
    const auto done = cluster_->plane().Kubectl(
        {"patch", "job", name, "-n", "team", "--type=merge", "-p", patch});
    ASSERT_TRUE(done.ok()) << done.status();
  }
  // Unfinished pods of the job that are on a node.
  static std::vector<json> Running(const std::string& job) {
    std::vector<json> out;
    for (const json& pod : Pods()) {
      if (pod["metadata"]["labels"].value("batch.kubernetes.io/job-name", "") != job) continue;
      const std::string phase = pod["status"].value("phase", "");
      const bool ended = phase == "Succeeded" || phase == "Failed";
      if (!ended && !pod["spec"].value("nodeName", "").empty()) out.push_back(pod);
    }
    return out;
  }
  static std::size_t HostsHeldBy(const std::string& gang) {
    const json object = cluster_->Get({"gang", "-n", "team", gang});
    return object.is_object()
               ? object.value("/status/assignments"_json_pointer, json::array()).size()
               : 0;
  }
  static std::string EventsOf(const std::string& reason) {
    return cluster_->Get({"events", "-n", "team", "--field-selector=reason=" + reason}).dump();
  }
};

TEST_F(OtherOwnersTest, AResumedJobRunsWithTheIndexesThatHaveNotEnded) {
  Apply(IndexedJob("j", 2));
  ASSERT_TRUE(WaitFor(kPatience, [] { return Running("j").size() == 2; }));
  const std::string first = Running("j")[0]["metadata"]["name"];
  ASSERT_TRUE(cluster_->plane()
                  .Kubectl({"patch", "pod", first, "-n", "team", "--subresource=status",
                            "--type=merge", "-p", R"({"status": {"phase": "Succeeded"}})"})
                  .ok());
  ASSERT_TRUE(WaitFor(kPatience, [] {
    return !cluster_->Get({"job", "-n", "team", "j"})
                .value("/status/completedIndexes"_json_pointer, "")
                .empty();
  }));
  PatchJob("j", R"({"spec": {"suspend": true}})");
  ASSERT_TRUE(WaitFor(kPatience, [] { return Running("j").empty() && HostsHeldBy("job-j") == 0; }));
  PatchJob("j", R"({"spec": {"suspend": false}})");
  EXPECT_TRUE(WaitFor(kPatience, [] { return Running("j").size() == 1; }))
      << cluster_->Get({"gang", "-n", "team", "job-j"}).dump(1);
}

TEST_F(OtherOwnersTest, AJobThatWaitsSuspendedHasNoPodsUntilThereIsRoom) {
  const json waits = {{"metadata", {{"labels", {{api::kWaitLabel, api::kWaitSuspended}}}}},
                      {"spec", {{"suspend", true}}}};
  Apply(IndexedJob("first", 14));
  ASSERT_TRUE(WaitFor(kPatience, [] { return Running("first").size() == 14; }));
  Apply(IndexedJob("second", 14, waits));
  const auto gang = [] { return cluster_->Get({"gang", "-n", "team", "job-second"}); };
  ASSERT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(gang(), "Planned") == "False"; }));
  EXPECT_EQ(Pods().size(), 14u) << "only those of the first job are there";
  EXPECT_EQ(HostsHeldBy("job-second"), 0u);
  const auto explained = cluster_->Yardmaster({"explain", "second", "-n", "team"});
  ASSERT_TRUE(explained.ok()) << explained.status();
  EXPECT_NE(explained->find("planned now:"), std::string::npos) << *explained;
  ASSERT_TRUE(cluster_->plane().Kubectl({"delete", "job", "first", "-n", "team"}).ok());
  EXPECT_TRUE(WaitFor(kPatience, [] { return Running("second").size() == 14; }))
      << gang().dump(1) << cluster_->Get({"events", "-n", "team"}).dump(1);
  EXPECT_NE(EventsOf("Resumed").find("its gang has its hosts"), std::string::npos);
  EXPECT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(gang(), "Released") == "True"; }));
  // It gives its hosts back, and is resumed as soon as it has others.
  PatchJob("second", R"({"spec": {"suspend": true}})");
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    const json object = gang();
    return object.is_object() && object.value("/status/planGeneration"_json_pointer, 0) > 1 &&
           Running("second").size() == 14;
  })) << gang().dump(1);
}

TEST_F(OtherOwnersTest, ASuspendedJobThatLosesTheLabelStaysSuspendedWithoutHosts) {
  Apply(IndexedJob("first", 14));
  ASSERT_TRUE(WaitFor(kPatience, [] { return Running("first").size() == 14; }));
  Apply(IndexedJob("second", 14,
                   {{"metadata", {{"labels", {{api::kWaitLabel, api::kWaitSuspended}}}}},
                    {"spec", {{"suspend", true}}}}));
  const auto gang = [] { return cluster_->Get({"gang", "-n", "team", "job-second"}); };
  ASSERT_TRUE(WaitFor(kPatience, [&] { return ConditionOf(gang(), "Planned") == "False"; }));
  PatchJob("second", R"({"metadata": {"labels": {"yardmaster.dev/wait": null}}})");
  ASSERT_TRUE(WaitFor(kPatience, [&] {
    return gang().value("/spec/pods"_json_pointer, "First") == "First";
  })) << gang().dump(1);
  ASSERT_TRUE(cluster_->plane().Kubectl({"delete", "job", "first", "-n", "team"}).ok());
  ASSERT_TRUE(WaitFor(kPatience, [] { return PromisedHosts().empty() && Pods().empty(); }));
  EXPECT_EQ(HostsHeldBy("job-second"), 0u);
  EXPECT_EQ(cluster_->Get({"job", "-n", "team", "second"})["spec"]["suspend"], true);
}

TEST_F(OtherOwnersTest, AGangWithoutPodsGivesItsHostsBackThoughItsJobNeverEnds) {
  Apply(IndexedJob("nobody", 1, {{"spec", {{"managedBy", "example.com/nobody"}}}}));
  const json job = cluster_->Get({"job", "-n", "team", "nobody"});
  const std::string uid = job["metadata"]["uid"];
  Apply({{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          {{"name", "phantom"},
           {"namespace", "team"},
           {"annotations", {{"yardmaster.dev/parallelism", "tp=8,dp=1"}}},
           {"labels",
            {{"batch.kubernetes.io/job-name", "nobody"},
             {"batch.kubernetes.io/controller-uid", uid},
             {"batch.kubernetes.io/job-completion-index", "0"}}},
           {"ownerReferences", json::array({{{"apiVersion", "batch/v1"},
                                             {"kind", "Job"},
                                             {"name", "nobody"},
                                             {"uid", uid},
                                             {"controller", true}}})}}},
         {"spec", GpuPod()}});
  ASSERT_TRUE(WaitFor(kPatience, [] { return HostsHeldBy("job-nobody") == 1; }));
  ASSERT_TRUE(
      cluster_->plane()
          .Kubectl({"delete", "pod", "phantom", "-n", "team", "--force", "--grace-period=0"})
          .ok());
  EXPECT_TRUE(WaitFor(90, [] { return HostsHeldBy("job-nobody") == 0; }));
  EXPECT_TRUE(WaitFor(kPatience, [] { return PromisedHosts().empty(); }));
}

TEST_F(OtherOwnersTest, APodOfAConfigMapMakesNoGangAndIsTold) {
  Apply({{"apiVersion", "v1"},
         {"kind", "ConfigMap"},
         {"metadata", {{"name", "owner"}, {"namespace", "team"}}}});
  const std::string uid = cluster_->Get({"configmap", "-n", "team", "owner"})["metadata"]["uid"];
  Apply({{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          {{"name", "phantom"},
           {"namespace", "team"},
           {"annotations", {{"yardmaster.dev/parallelism", "tp=8,dp=1"}}},
           {"labels", {{api::kJobLabel, "x"}, {api::kRankLabel, "0"}}},
           {"ownerReferences", json::array({{{"apiVersion", "v1"},
                                             {"kind", "ConfigMap"},
                                             {"name", "owner"},
                                             {"uid", uid},
                                             {"controller", true}}})}}},
         {"spec", GpuPod()}});
  EXPECT_TRUE(WaitFor(kPatience, [] {
    return EventsOf("NotInGang").find("its controller is ConfigMap owner") != std::string::npos;
  }));
  EXPECT_TRUE(cluster_->Get({"gangs", "-n", "team"})["items"].empty());
}

}  // namespace
}  // namespace yardmaster::testing
