#include "pkg/operator/pods/pod_builder.h"

#include <algorithm>
#include <set>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/connection_report.h"
#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/operator/testing/pod_edits.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

json Job() {
  return json::parse(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": "a", "namespace": "team", "uid": "u1"},
    "spec": {"workers": 4, "template": {"metadata": {"labels": {"app": "x"}},
      "spec": {"containers": [{"name": "trainer", "image": "i",
                               "env": [{"name": "MASTER_PORT", "value": "1"}]}]}}}})");
}

json BuildPod(const json& job, const WorkerShape& shape, int rank,
              const WorkerPlace* place = nullptr) {
  return op::BuildPod(JobOf(job), shape, rank, place);
}

std::string Env(const json& container, const std::string& name) {
  for (const json& entry : container["env"]) {
    if (entry["name"] == name) return entry["value"];
  }
  return "(unset)";
}

TEST(PodBuilderTest, APodIsGatedOwnedNamedByRankAndAsksForItsGpus) {
  const json pod = BuildPod(Job(), {4, 8}, 2);
  EXPECT_EQ(pod["metadata"]["name"], "a-2");
  EXPECT_EQ(pod["metadata"]["labels"][api::kRankLabel], "2");
  EXPECT_EQ(pod["metadata"]["labels"]["app"], "x");
  EXPECT_EQ(pod["metadata"]["ownerReferences"][0]["uid"], "u1");
  EXPECT_EQ(pod["spec"]["schedulingGates"][0]["name"], api::kPlacementGate);
  EXPECT_EQ(pod["spec"]["containers"][0]["resources"]["limits"][api::kGpuResource], "8");
  EXPECT_EQ(pod["spec"]["subdomain"], "a");
}

TEST(PodBuilderTest, APodWithAPlaceIsPinnedTolerantAndNotGated) {
  const WorkerPlace place{"n7", "the slot", true, {{api::kPriorityAnnotation, "2"}}};
  const json pod = BuildPod(Job(), {4, 8}, 2, &place);
  EXPECT_FALSE(pod["spec"].contains("schedulingGates"));
  EXPECT_EQ(pod["metadata"]["annotations"][api::kSlotAnnotation], "the slot");
  EXPECT_EQ(pod["metadata"]["annotations"][api::kPriorityAnnotation], "2");
  const json host = {{"key", "metadata.name"}, {"operator", "In"}, {"values", {"n7"}}};
  EXPECT_EQ(pod["spec"]["affinity"]["nodeAffinity"]
               ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"],
            json::array({{{"matchFields", json::array({host})}}}));
  const json tolerations = pod["spec"]["tolerations"];
  for (const char* key : {api::kPromisedKey, api::kBackupKey}) {
    const json wanted = {{"key", key}, {"operator", "Exists"}, {"effect", "NoSchedule"}};
    EXPECT_NE(std::find(tolerations.begin(), tolerations.end(), wanted), tolerations.end()) << key;
  }
}

TEST(PodBuilderTest, APodWithAPlaceKeepsEveryTermOfItsOwnAffinity) {
  json job = Job();
  job["spec"]["template"]["spec"]["affinity"]["nodeAffinity"]
     ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"] =
         json::parse(R"([{"matchExpressions": [{"key": "zone", "operator": "Exists"}]}, {}])");
  const WorkerPlace place{"n7", "the slot", false, {}};
  const json pod = BuildPod(job, {4, 8}, 2, &place);
  const json terms = pod["spec"]["affinity"]["nodeAffinity"]
                        ["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
  ASSERT_EQ(terms.size(), 2U);
  EXPECT_EQ(terms[0]["matchExpressions"].size(), 1U);
  EXPECT_EQ(terms[0]["matchFields"].size(), 1U);
  EXPECT_FALSE(terms[1].contains("matchFields")) << "it selects nothing, and stays so";
}

TEST(PodBuilderTest, LaunchersFindTheirEnvironmentAndTheTemplatesOwnIsKept) {
  const json pod = BuildPod(Job(), {4, 8}, 2);
  const json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(Env(container, "MASTER_ADDR"), "a-0.a.team.svc");
  EXPECT_EQ(Env(container, "MASTER_PORT"), "1");
  EXPECT_EQ(Env(container, "PET_NODE_RANK"), "2");
  EXPECT_EQ(Env(container, "PET_NNODES"), "4");
  EXPECT_EQ(Env(container, "WORLD_SIZE"), "4");
  EXPECT_EQ(Env(container, "LOCAL_RANK"), "0");
  EXPECT_EQ(Env(container, "LOCAL_WORLD_SIZE"), "1");
}

TEST(PodBuilderTest, TheSizesOfTheAxesStandInTheEnvironment) {
  WorkerShape shape{8, 8};
  shape.parallelism.tensor = 8;
  shape.parallelism.pipeline = 2;
  shape.parallelism.data = 4;
  const json pod = BuildPod(Job(), shape, 2);
  const json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(Env(container, "TENSOR_MODEL_PARALLEL_SIZE"), "8");
  EXPECT_EQ(Env(container, "PIPELINE_MODEL_PARALLEL_SIZE"), "2");
  EXPECT_EQ(Env(container, "DATA_PARALLEL_SIZE"), "4");
  EXPECT_EQ(Env(container, "CONTEXT_PARALLEL_SIZE"), "1");
}

TEST(PodBuilderTest, WhereDataGroupsRestartByThemselvesEachHasWhatALauncherOfItsOwnNeeds) {
  WorkerShape shape{6, 8};
  EXPECT_EQ(Env(BuildPod(Job(), shape, 4)["spec"]["containers"][0], "YARDMASTER_DATA_GROUP"),
            "(unset)");
  shape.data_groups = {0, 1, 2, 0, 1, 2};
  const json pod = BuildPod(Job(), shape, 4);
  const json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(Env(container, "YARDMASTER_DATA_GROUP"), "1");
  EXPECT_EQ(Env(container, "YARDMASTER_DATA_GROUPS"), "3");
  EXPECT_EQ(Env(container, "YARDMASTER_DATA_GROUP_RANK"), "1");
  EXPECT_EQ(Env(container, "YARDMASTER_DATA_GROUP_SIZE"), "2");
  EXPECT_EQ(Env(container, "YARDMASTER_DATA_GROUP_ADDR"), "a-1.a.team.svc");
}

TEST(PodBuilderTest, CheckpointsHaveTheirDirectoryTheirClaimAndTheFileOfRequests) {
  json job = Job();
  job["spec"]["checkpoint"] = {
      {"directory", "/ckpt"}, {"claim", "data"}, {"request", "Annotation"}};
  const json pod = BuildPod(job, {4, 8}, 0);
  const json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(Env(container, "YARDMASTER_CHECKPOINT_DIR"), "/ckpt");
  EXPECT_EQ(Env(container, "YARDMASTER_CHECKPOINT_REQUEST"), "/etc/yardmaster/checkpoint/request");
  std::set<std::string> mounts;
  for (const json& mount : container["volumeMounts"]) mounts.insert(mount["mountPath"]);
  EXPECT_TRUE(mounts.count("/ckpt") == 1 && mounts.count("/etc/yardmaster/checkpoint") == 1);
  bool claimed = false;
  for (const json& volume : pod["spec"]["volumes"]) {
    if (volume.contains("persistentVolumeClaim")) {
      claimed = volume["persistentVolumeClaim"]["claimName"] == "data";
    }
  }
  EXPECT_TRUE(claimed);
  job["spec"].erase("checkpoint");
  EXPECT_EQ(Env(BuildPod(job, {4, 8}, 0)["spec"]["containers"][0], "YARDMASTER_CHECKPOINT_DIR"),
            "(unset)");
}

TEST(PodBuilderTest, ACommandThatAsksForACheckpointIsTheHookOfAWorkersFirstContainer) {
  json job = Job();
  const json command = {"sh", "-c", "kill -USR1 1"};
  job["spec"]["checkpoint"] = {{"request", "Command"}, {"command", command}, {"graceSeconds", 300}};
  job["spec"]["template"]["spec"]["containers"].push_back({{"name", "logs"}, {"image", "i"}});
  const json pod = BuildPod(job, {4, 8}, 0);
  const json& containers = pod["spec"]["containers"];
  EXPECT_EQ(containers[0]["lifecycle"]["preStop"]["exec"]["command"], command);
  EXPECT_FALSE(containers.back().contains("lifecycle"));
  EXPECT_EQ(pod["spec"]["terminationGracePeriodSeconds"], 300) << "the time that the hook has";
  job["spec"]["checkpoint"] = {{"request", "Signal"}};
  EXPECT_FALSE(BuildPod(job, {4, 8}, 0)["spec"]["containers"][0].contains("lifecycle"));
}

TEST(PodBuilderTest, AMarkByFileLiesInAVolumeOfThePod) {
  json job = Job();
  job["spec"]["checkpoint"] = {{"mark", "File"}};
  const json pod = BuildPod(job, {4, 8}, 0);
  const json& container = pod["spec"]["containers"][0];
  EXPECT_EQ(Env(container, "YARDMASTER_CHECKPOINT_MARK"), "/run/yardmaster/checkpoint/mark");
  json mounted;
  for (const json& mount : container["volumeMounts"]) {
    if (mount["mountPath"] == "/run/yardmaster/checkpoint") mounted = mount;
  }
  ASSERT_TRUE(mounted.is_object());
  EXPECT_EQ(mounted["readOnly"], false);
  bool there = false;
  for (const json& volume : pod["spec"]["volumes"]) {
    if (volume["name"] == mounted["name"]) there = volume.contains("emptyDir");
  }
  EXPECT_TRUE(there) << "what the agent reads is an emptyDir";
  job["spec"]["checkpoint"]["mark"] = "Annotation";
  EXPECT_EQ(Env(BuildPod(job, {4, 8}, 0)["spec"]["containers"][0], "YARDMASTER_CHECKPOINT_MARK"),
            "(unset)");
}

TEST(PodBuilderTest, ATemplateGivesItsPodsNoAnnotationThatOnlyYardmasterWrites) {
  const char* const ours[] = {api::kAvoidHostsAnnotation,        api::kCheckpointRequestAnnotation,
                              api::kCheckpointAnnotation,        api::kSlotAnnotation,
                              api::kPriorityAnnotation,          api::kPathPlanAnnotation,
                              api::kNetworkGenerationAnnotation, api::kNcclConfAnnotation,
                              api::kKeptEnvironmentAnnotation,   api::kProfileAnnotation,
                              api::kConnectionsAnnotation,       api::kReleasedAnnotation,
                              api::kProgressAnnotation};
  json job = Job();
  for (const char* key : ours) {
    job["spec"]["template"]["metadata"]["annotations"][key] = "n1";
  }
  const json pod = BuildPod(job, {4, 8}, 0);
  for (const char* key : ours) EXPECT_FALSE(pod["metadata"]["annotations"].contains(key)) << key;
}

TEST(PodBuilderTest, ATemplateThatAsksForGpusItselfIsLeftAlone) {
  json job = Job();
  job["spec"]["template"]["spec"]["containers"][0]["resources"]["requests"][api::kGpuResource] = 8;
  const json pod = BuildPod(job, {4, 8}, 0);
  EXPECT_FALSE(pod["spec"]["containers"][0]["resources"].contains("limits"));
}

TEST(PodBuilderTest, GpusOfAnotherNameAreAskedForByThatName) {
  const json pod = BuildPod(Job(), {4, 2, "nvidia.com/mig-3g.40gb"}, 0);
  EXPECT_EQ(pod["spec"]["containers"][0]["resources"]["limits"],
            json({{"nvidia.com/mig-3g.40gb", "2"}}));
}

TEST(PodBuilderTest, PodsHaveTheJobsPriorityClassAndNoneOfOurAnnotations) {
  json job = Job();
  job["spec"]["priorityClassName"] = "gold";
  job["spec"]["template"]["metadata"]["annotations"] = {
      {api::kPriorityAnnotation, "7"}, {api::kSlotAnnotation, "{}"}, {"mine", "x"}};
  const json pod = BuildPod(job, {4, 8}, 0);
  EXPECT_EQ(pod["spec"]["priorityClassName"], "gold");
  const json& notes = pod["metadata"]["annotations"];
  EXPECT_EQ(notes.value("mine", ""), "x");
  for (const char* ours : {api::kSlotAnnotation, api::kPriorityAnnotation, api::kPathPlanAnnotation,
                           api::kProfileAnnotation}) {
    EXPECT_FALSE(notes.contains(ours)) << ours;
  }
}

TEST(PodBuilderTest, TheGracePeriodIsTheCheckpointsUnlessTheTemplateHasItsOwn) {
  json job = Job();
  EXPECT_EQ(BuildPod(job, {4, 8}, 0)["spec"]["terminationGracePeriodSeconds"], 120);
  job["spec"]["checkpoint"]["graceSeconds"] = 300;
  EXPECT_EQ(BuildPod(job, {4, 8}, 0)["spec"]["terminationGracePeriodSeconds"], 300);
  job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 7;
  EXPECT_EQ(BuildPod(job, {4, 8}, 0)["spec"]["terminationGracePeriodSeconds"], 7);
}

TEST(PodBuilderTest, PodsOfTheHostNetworkResolveTheirMasterAtTheJobsOwnPort) {
  json job = Job();
  job["status"]["rendezvousPort"] = 20'123;
  job["spec"]["template"]["spec"]["hostNetwork"] = true;
  job["spec"]["template"]["spec"]["containers"][0].erase("env");
  const json pod = BuildPod(job, {4, 8}, 0);
  EXPECT_EQ(pod["spec"]["dnsPolicy"], "ClusterFirstWithHostNet");
  EXPECT_EQ(Env(pod["spec"]["containers"][0], "MASTER_PORT"), "20123");
  EXPECT_EQ(BuildService(JobOf(job))["spec"]["ports"][0]["port"], 20'123);
  job["spec"]["template"]["spec"]["dnsPolicy"] = "None";
  EXPECT_EQ(BuildPod(job, {4, 8}, 0)["spec"]["dnsPolicy"], "None") << "the template's own is kept";
}

TEST(PodBuilderTest, APodCarriesItsAttempt) {
  const json pod = BuildPod(Job(), {.workers = 4, .attempt = 3}, 0);
  EXPECT_EQ(pod["metadata"]["annotations"][api::kAttemptAnnotation], "3");
}

TEST(PodBuilderTest, TheServiceIsHeadlessAndSelectsTheJobsPods) {
  const json service = BuildService(JobOf(Job()));
  EXPECT_EQ(service["spec"]["clusterIP"], "None");
  EXPECT_EQ(service["spec"]["selector"][api::kJobLabel], "a");
}

TEST(PodBuilderTest, TheServiceResolvesWhatOthersLookUp) {
  const auto publishes_all = [](const json& spec) {
    json job = Job();
    job["spec"].update(spec);
    return !BuildService(JobOf(job))["spec"]["selector"].contains(api::kRankLabel);
  };
  const json role = {
      {"name", "launcher"}, {"replicas", 1}, {"template", Job()["spec"]["template"]}};
  EXPECT_FALSE(publishes_all(json::object())) << "rank 0 is what MASTER_ADDR names";
  EXPECT_TRUE(publishes_all({{"publish", "All"}}));
  EXPECT_TRUE(publishes_all({{"roles", json::array({role})}}));
  EXPECT_FALSE(publishes_all({{"roles", json::array({role})}, {"publish", "RankZero"}}));
  EXPECT_TRUE(publishes_all(
      {{"parallelism", {{"tensor", 8}}}, {"elastic", {{"minData", 2}, {"maxData", 4}}}}))
      << "rank 0 may be another worker";
  EXPECT_TRUE(
      publishes_all({{"parallelism", {{"tensor", 8}}}, {"recovery", {{"unit", "DataGroup"}}}}))
      << "each data group has a first worker";
}

}  // namespace
}  // namespace yardmaster::op
