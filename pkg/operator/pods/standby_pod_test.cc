#include "pkg/operator/pods/standby_pod.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/pod.h"
#include "pkg/api/rank_resolver.h"
#include "pkg/api/standby.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

json JobObject() {
  const json trainer = {{"name", "trainer"},
                        {"image", "registry/train:1"},
                        {"imagePullPolicy", "Always"},
                        {"command", {"python", "train.py"}},
                        {"securityContext", {{"privileged", true}}},
                        {"volumeMounts", json::array({{{"name", "d"}, {"mountPath", "/d"}}})},
                        {"resources",
                         {{"requests", {{"cpu", "64"}, {"memory", "1Ti"}}},
                          {"limits", {{"nvidia.com/gpu", "8"}, {"rdma/hca", "8"}}}}}};
  json same = trainer;
  same["name"] = "same-image";
  same.erase("resources");
  const json pod = {
      {"metadata",
       {{"labels", {{"team", "x"}}}, {"annotations", {{"yardmaster.dev/parallelism", "tp=8"}}}}},
      {"spec",
       {{"containers", json::array({trainer, same})},
        {"initContainers", json::array({{{"name", "init"}, {"image", "init:2"}}})},
        {"volumes", json::array({{{"name", "d"}, {"hostPath", {{"path", "/d"}}}}})},
        {"hostNetwork", true},
        {"hostIPC", true},
        {"priorityClassName", "high"},
        {"serviceAccountName", "trainer"},
        {"imagePullSecrets", json::array({{{"name", "pull"}}})},
        {"nodeSelector", {{"disk", "fast"}}},
        {"tolerations", json::array({{{"key", "t"}, {"operator", "Exists"}}})}}}};
  return {
      {"apiVersion", "yardmaster.dev/v1alpha1"},
      {"kind", "TrainingJob"},
      {"metadata", {{"name", "a"}, {"namespace", "team"}, {"uid", "job"}}},
      {"spec",
       {{"workers", 2}, {"gpusPerWorker", 8}, {"recovery", {{"standby", 1}}}, {"template", pod}}}};
}

api::TrainingJob Job(const json& object = JobObject()) {
  auto job = api::DecodeTrainingJob(JsonView(object));
  EXPECT_TRUE(job.ok()) << job.status();
  return *std::move(job);
}

json Standby(const json& object = JobObject(), const std::string& host = "n7") {
  return BuildStandbyPod(Job(object), host);
}
std::string NameOf(const json& pod) { return pod["metadata"]["name"]; }

TEST(StandbyPodTest, ItPullsEveryImageOnceAsTheWorkerDoes) {
  const json spec = Standby()["spec"];
  ASSERT_EQ(spec["containers"].size(), 2u);
  EXPECT_EQ(spec["containers"][0]["image"], "init:2");
  EXPECT_FALSE(spec["containers"][0].contains("imagePullPolicy"));
  EXPECT_EQ(spec["containers"][1]["image"], "registry/train:1");
  EXPECT_EQ(spec["containers"][1]["imagePullPolicy"], "Always");
  for (const json& container : spec["containers"]) {
    EXPECT_EQ(container["command"], json({"sleep", "2147483647"}));
  }
  EXPECT_EQ(spec["imagePullSecrets"][0]["name"], "pull");
  EXPECT_EQ(spec["serviceAccountName"], "trainer");
  EXPECT_EQ(spec["restartPolicy"], "Never");
}

TEST(StandbyPodTest, ItAsksForNothingButAPlaceAmongThePodsOfItsHost) {
  const json pod = Standby();
  const auto decoded = api::DecodePod(JsonView(pod));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_EQ(decoded->requests, workload::ResourceList({{"pods", 1}}));
  EXPECT_TRUE(decoded->claims.empty());
  for (const char* left_out : {"volumes", "hostNetwork", "hostIPC", "priorityClassName",
                               "nodeSelector", "resourceClaims", "runtimeClassName"}) {
    EXPECT_FALSE(pod["spec"].contains(left_out)) << left_out;
  }
  // Where the template gives no amounts these are zero as well: a LimitRange would fill them in.
  for (const json& container : pod["spec"]["containers"]) {
    EXPECT_EQ(container["resources"]["requests"], json({{"cpu", "0"}, {"memory", "0"}}));
    EXPECT_EQ(container["resources"]["limits"], json({{"cpu", "0"}, {"memory", "0"}}));
  }
}

TEST(StandbyPodTest, ItMeetsTheStandardRestrictedWhateverTheTemplateDoes) {
  const json spec = Standby()["spec"];
  EXPECT_EQ(spec["securityContext"]["runAsNonRoot"], true);
  EXPECT_NE(spec["securityContext"]["runAsUser"], 0);
  EXPECT_EQ(spec["securityContext"]["seccompProfile"]["type"], "RuntimeDefault");
  EXPECT_EQ(spec["automountServiceAccountToken"], false);
  for (const json& container : spec["containers"]) {
    const json& security = container["securityContext"];
    EXPECT_FALSE(security.contains("privileged"));
    EXPECT_EQ(security["allowPrivilegeEscalation"], false);
    EXPECT_EQ(security["capabilities"], json({{"drop", {"ALL"}}}));
    EXPECT_FALSE(container.contains("volumeMounts"));
  }
}

TEST(StandbyPodTest, ItIsPinnedToItsHostAndToleratesWhatAWorkerDoes) {
  const json spec = Standby()["spec"];
  const json& terms = spec["affinity"]["nodeAffinity"]
                          ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  ASSERT_EQ(terms.size(), 1u);
  EXPECT_EQ(terms[0]["matchFields"][0]["values"], json({"n7"}));
  std::vector<std::string> keys;
  for (const json& toleration : spec["tolerations"]) keys.push_back(toleration["key"]);
  EXPECT_EQ(keys,
            (std::vector<std::string>{"t", api::kBackupKey, api::kPromisedKey, api::kGpuResource}));
}

TEST(StandbyPodTest, NothingTakesItForAWorker) {
  const json pod = Standby();
  EXPECT_EQ(pod["metadata"]["labels"], json({{api::kStandbyLabel, "a"}}));
  EXPECT_FALSE(pod["metadata"].contains("annotations"));
  EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["uid"], "job");
  const auto decoded = api::DecodePod(JsonView(pod));
  ASSERT_TRUE(decoded.ok()) << decoded.status();
  EXPECT_FALSE(api::WantsGang(*decoded));
  const auto membership = api::ResolveMembership(*decoded);
  ASSERT_TRUE(membership.ok()) << membership.status();
  EXPECT_FALSE(membership->has_value());
}

TEST(StandbyPodTest, ItsNameFollowsFromJobHostAndContents) {
  const std::string name = NameOf(Standby());
  EXPECT_EQ(name.rfind("a-standby-", 0), 0u);
  EXPECT_EQ(NameOf(Standby()), name);
  EXPECT_NE(NameOf(Standby(JobObject(), "n8")), name);
  json other = JobObject();
  other["metadata"]["uid"] = "job-2";
  EXPECT_NE(NameOf(Standby(other)), name);
  other = JobObject();
  other["spec"]["template"]["spec"]["containers"][0]["image"] = "registry/train:2";
  EXPECT_NE(NameOf(Standby(other)), name);
  other = JobObject();
  other["spec"]["recovery"]["maxRestarts"] = 3;
  EXPECT_EQ(NameOf(Standby(other)), name);
}

}  // namespace
}  // namespace yardmaster::op
