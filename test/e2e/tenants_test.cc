// What one namespace does on a real control plane, and what another notices of it: nothing.
#include <chrono>

#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

using Clock = std::chrono::steady_clock;

class TenantsTest : public StoryTest {
 protected:
  static constexpr char kOther[] = "other";

  void SetUp() override {
    ASSERT_TRUE(cluster_->plane().Kubectl({"create", "namespace", kOther}).ok());
  }
  void TearDown() override {
    EXPECT_TRUE(cluster_->plane().Kubectl({"delete", "namespace", kOther, "--timeout=120s"}).ok());
    StoryTest::TearDown();
  }

  // A TrainingJob of the other namespace.
  static json OtherJob(const std::string& name, const json& pod_template) {
    return {{"apiVersion", "yardmaster.dev/v1alpha1"},
            {"kind", "TrainingJob"},
            {"metadata", {{"name", name}, {"namespace", kOther}}},
            {"spec", {{"workers", 1}, {"gpusPerWorker", 8}, {"template", pod_template}}}};
  }
  static json Planned(const std::string& name) {
    const json job = cluster_->Get({"trainingjob", "-n", kOther, name});
    const json conditions = job.value("/status/conditions"_json_pointer, json::array());
    for (const json& condition : conditions) {
      if (condition["type"] == "Planned") return condition;
    }
    return json::object();
  }
};

// Two jobs in a namespace whose quota holds one of them.
class QuotaTest : public StoryTest {
 protected:
  void SetUp() override {
    ASSERT_TRUE(cluster_->plane()
                    .Apply(R"({"apiVersion": "v1", "kind": "ResourceQuota",
                               "metadata": {"name": "gpus", "namespace": "team"},
                               "spec": {"hard": {"requests.nvidia.com/gpu": "32"}}})")
                    .ok());
    // Nothing is admitted before the quota has been counted.
    ASSERT_TRUE(WaitFor(kPatience, [] {
      const json quota = cluster_->Get({"resourcequota", "-n", "team", "gpus"});
      return quota.is_object() && quota.contains("/status/used"_json_pointer);
    }));
  }
  void TearDown() override {
    EXPECT_TRUE(cluster_->plane().Kubectl({"delete", "resourcequota", "-n", "team", "gpus"}).ok());
    StoryTest::TearDown();
  }
  static int PodsOf(const std::string& job) {
    int count = 0;
    for (const json& pod : Pods()) count += IsOf(pod, job) ? 1 : 0;
    return count;
  }
  static bool IsOf(const json& pod, const std::string& job) {
    return pod["metadata"]["labels"].value(api::kJobLabel, "") == job;
  }
  static void EndPodsOf(const std::string& job) {
    for (const json& pod : Pods()) {
      if (!IsOf(pod, job)) continue;
      ASSERT_TRUE(cluster_->plane()
                      .Kubectl({"patch", "pod", pod["metadata"]["name"], "-n", "team",
                                "--subresource=status", "--type=merge", "-p",
                                R"({"status": {"phase": "Succeeded"}})"})
                      .ok());
    }
  }
};

TEST_F(QuotaTest, OfTwoJobsThatItHoldsOneByOneBothFinishAndNeitherHoldsAPart) {
  json both = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", json::array()}};
  for (const char* name : {"a1", "a2"}) {
    both["items"].push_back(json::parse(TrainingJob(name, 4, R"("priority": 0)")));
  }
  ASSERT_TRUE(cluster_->plane().Apply(both.dump()).ok());
  const auto runs = [](const char* name) { return ConditionOf(Job(name), "Running") == "True"; };
  ASSERT_TRUE(WaitFor(kPatience, [&] { return runs("a1") || runs("a2"); }))
      << Job("a1").dump(1) << Job("a2").dump(1);
  const std::string first = runs("a1") ? "a1" : "a2";
  const std::string second = first == "a1" ? "a2" : "a1";
  EXPECT_TRUE(Has(second, "Stalled"));
  EXPECT_TRUE(WaitFor(kPatience, [&] { return PodsOf(second) == 0; }));
  const json waits = Job(second);
  const std::string status = waits["status"].dump();
  EXPECT_NE(status.find("ResourceQuota gpus: requests.nvidia.com/gpu is short of 32"),
            std::string::npos)
      << status;
  EXPECT_EQ(PodsOf(first), 4);
  EndPodsOf(first);
  EXPECT_TRUE(Has(first, "Succeeded"));
  EXPECT_TRUE(Has(second, "Running")) << Job(second).dump(1);
  EndPodsOf(second);
  EXPECT_TRUE(Has(second, "Succeeded"));
}

TEST_F(QuotaTest, AJobThatIsLargerThanTheQuotaHoldsNothingAndLetsASmallerOneRun) {
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("large", 5, R"("priority": 0)")).ok());
  ASSERT_TRUE(Has("large", "Stalled"));
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("small", 4, R"("priority": 0)")).ok());
  EXPECT_TRUE(Has("small", "Running")) << Job("small").dump(1);
  EXPECT_TRUE(WaitFor(kPatience, [] { return PodsOf("large") == 0; }));
  EXPECT_NE(Job("large")["status"].dump().find("5 pods need 40, and the quota is 32 in all"),
            std::string::npos)
      << Job("large").dump(1);
}

struct Typo {
  const char* name;
  const char* spec;   // of the pod
  const char* field;  // what the condition names
};

constexpr Typo kTypos[] = {
    {"env-text", R"({"containers": [{"name": "t", "image": "i", "env": ["FOO=bar"]}]})",
     "spec.template.spec.containers[0].env[0]: expected an object"},
    {"env-number", R"({"containers": [{"name": "t", "image": "i", "env": [{"name": 5}]}]})",
     "spec.template.spec.containers[0].env[0].name: expected a string"},
    {"env-null", R"({"containers": [{"name": "t", "image": "i", "env": [null]}]})",
     "spec.template.spec.containers[0].env[0].name: is missing"},
    {"grace",
     R"({"containers": [{"name": "t", "image": "i"}], "terminationGracePeriodSeconds": "30"})",
     "spec.template.spec.terminationGracePeriodSeconds: expected an integer"},
    {"restart", R"({"containers": [{"name": "t", "image": "i"}], "restartPolicy": 5})",
     "spec.template.spec.restartPolicy: expected a string"},
    {"gates", R"({"containers": [{"name": "t", "image": "i"}], "schedulingGates": "x"})",
     "spec.template.spec.schedulingGates: expected a list"},
    {"affinity",
     R"({"containers": [{"name": "t", "image": "i"}], "affinity": {"nodeAffinity": 1}})",
     "spec.template.spec.affinity.nodeAffinity: expected an object"}};

TEST_F(TenantsTest, AMalformedTemplateIsSaidOnItsJobAndStopsNobodyElse) {
  ASSERT_TRUE(WaitFor(kPatience, [] { return !cluster_->LeaderOf("operator").empty(); }));
  const std::string leader = cluster_->LeaderOf("operator");
  json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", json::array()}};
  for (const Typo& typo : kTypos) {
    list["items"].push_back(OtherJob(typo.name, {{"spec", json::parse(typo.spec)}}));
  }
  json role = OtherJob(
      "role", {{"spec", {{"containers", json::array({{{"name", "t"}, {"image", "i"}}})}}}});
  role["spec"]["roles"] =
      json::array({{{"name", "data"}, {"template", {{"spec", json::parse(kTypos[0].spec)}}}}});
  list["items"].push_back(role);
  ASSERT_TRUE(cluster_->plane().Apply(list.dump()).ok());
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("good", 2, R"("priority": 0)")).ok());
  EXPECT_TRUE(Has("good", "Running")) << Job("good").dump(1);
  for (const Typo& typo : kTypos) {
    EXPECT_TRUE(WaitFor(kPatience, [&] { return !Planned(typo.name).empty(); })) << typo.name;
    const json planned = Planned(typo.name);
    EXPECT_EQ(planned.value("status", ""), "False") << planned;
    EXPECT_EQ(planned.value("reason", ""), "Invalid") << planned;
    EXPECT_NE(planned.value("message", "").find(typo.field), std::string::npos) << planned;
  }
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    return Planned("role")
               .value("message", "")
               .find("spec.roles[0].template.spec.containers[0].env[0]") != std::string::npos;
  })) << Planned("role");
  EXPECT_EQ(cluster_->LeaderOf("operator"), leader) << "no operator has ended";
}

TEST_F(TenantsTest, JobsThatAQuotaRefusesDelayNoOtherNamespace) {
  constexpr int kJobs = 200;
  constexpr int kTogether = 40;  // of one command
  ASSERT_TRUE(cluster_->plane()
                  .Apply(json{{"apiVersion", "v1"},
                              {"kind", "ResourceQuota"},
                              {"metadata", {{"name", "none"}, {"namespace", kOther}}},
                              {"spec", {{"hard", {{"pods", "0"}}}}}}
                             .dump())
                  .ok());
  for (int i = 0; i < kJobs; i += kTogether) {
    json list = {{"apiVersion", "v1"}, {"kind", "List"}, {"items", json::array()}};
    for (int k = i; k < i + kTogether; ++k) {
      list["items"].push_back(
          OtherJob(StrCat("flood-", k),
                   {{"spec", {{"containers", json::array({{{"name", "t"}, {"image", "i"}}})}}}}));
    }
    const absl::Status applied = cluster_->plane().Apply(list.dump());
    ASSERT_TRUE(applied.ok()) << applied;
  }
  const Clock::time_point begin = Clock::now();
  ASSERT_TRUE(cluster_->plane().Apply(TrainingJob("good", 1, R"("priority": 0)")).ok());
  EXPECT_TRUE(WaitFor(kPatience, [] { return !Pods().empty(); }));
  const auto took =
      std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - begin).count();
  RecordProperty("first_pod_ms", static_cast<int>(took));
  EXPECT_LT(took, 2'000);
  EXPECT_TRUE(Has("good", "Running"));
  EXPECT_TRUE(WaitFor(kPatience, [] {
    const json job = cluster_->Get({"trainingjob", "-n", kOther, "flood-0"});
    return ConditionOf(job, "Stalled") == "True";
  }));
}

}  // namespace
}  // namespace yardmaster::testing
