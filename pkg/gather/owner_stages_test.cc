#include "pkg/gather/owner_stages.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::gather {
namespace {

using nlohmann::json;

const api::OwnerReference kJobSet{"jobset.x-k8s.io/v1alpha2", "JobSet", "s", "u", false};
const api::OwnerReference kVolcano{"batch.volcano.sh/v1alpha1", "Job", "v", "u", false};
const api::OwnerReference kMpi{"kubeflow.org/v2beta1", "MPIJob", "m", "u", false};
const api::OwnerReference kLws{"leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "l", "", false};

// Pods by subgroup, from index 0 on.
GatheredGang PodsOf(const std::vector<std::pair<std::string, int>>& counts) {
  GatheredGang gang;
  for (const auto& [subgroup, count] : counts) {
    for (int index = 0; index < count; ++index) {
      api::Membership membership;
      membership.subgroup = subgroup;
      membership.index = index;
      gang.members.push_back({std::make_shared<const api::Pod>(),
                              std::make_shared<const api::Membership>(membership), std::nullopt});
    }
  }
  return gang;
}

// One Job of one pod, two of two pods each that depend on it, and one of one pod.
json JobSet() {
  return json::parse(R"({"spec": {"replicatedJobs": [
      {"name": "a", "replicas": 1, "template": {"spec": {"parallelism": 1}}},
      {"name": "w", "replicas": 2, "template": {"spec": {"parallelism": 2}},
       "dependsOn": [{"name": "a", "status": "Ready"}]}]}})");
}

TEST(OwnerStagesTest, TheStagesThatHaveBegunAreWhole) {
  EXPECT_TRUE(StagesOf(kJobSet, JobSet(), PodsOf({{"0", 1}})).whole);
  EXPECT_FALSE(StagesOf(kJobSet, JobSet(), PodsOf({{"0", 1}, {"1", 2}, {"2", 1}})).whole);
  EXPECT_FALSE(StagesOf(kJobSet, JobSet(), PodsOf({{"0", 1}, {"1", 2}, {"2", 2}})).whole)
      << "nothing is to come";
}

TEST(OwnerStagesTest, ASetThatLacksPodsOfItsFirstStageIsNotWhole) {
  json set = JobSet();
  json& jobs = set["spec"]["replicatedJobs"];
  const json second = {
      {"name", "b"}, {"replicas", 1}, {"template", {{"spec", {{"parallelism", 1}}}}}};
  jobs.insert(jobs.begin(), second);
  EXPECT_FALSE(StagesOf(kJobSet, set, PodsOf({{"0", 1}})).whole) << "a quota holds a back, say";
  EXPECT_TRUE(StagesOf(kJobSet, set, PodsOf({{"0", 1}, {"1", 1}})).whole);
}

TEST(OwnerStagesTest, InitializersWithoutGpusAreNoStage) {
  json set = JobSet();
  set["spec"]["replicatedJobs"][0]["template"]["spec"]["template"] =
      json::parse(R"({"spec": {"containers": [{"name": "dataset-initializer"}]}})");
  EXPECT_FALSE(StagesOf(kJobSet, set, PodsOf({{"1", 2}, {"2", 1}})).whole);
  EXPECT_FALSE(StagesOf(kJobSet, set, PodsOf({{"1", 2}, {"2", 2}})).whole) << "nothing is to come";
}

TEST(OwnerStagesTest, AJobSetThatStartsInOrderHasAStageForEachReplicatedJob) {
  json set = JobSet();
  set["spec"]["replicatedJobs"][1].erase("dependsOn");
  EXPECT_FALSE(StagesOf(kJobSet, set, PodsOf({{"0", 1}})).whole);
  set["spec"]["startupPolicy"]["startupPolicyOrder"] = "InOrder";
  EXPECT_TRUE(StagesOf(kJobSet, set, PodsOf({{"0", 1}})).whole);
}

TEST(OwnerStagesTest, PodsOfNoReplicatedJobAreNoStage) {
  EXPECT_FALSE(StagesOf(kJobSet, JobSet(), PodsOf({{"0", 1}, {"7", 1}})).whole);
  EXPECT_FALSE(StagesOf(kJobSet, JobSet(), PodsOf({{"x", 1}})).whole);
  EXPECT_FALSE(StagesOf(kJobSet, json::object(), PodsOf({{"0", 1}})).whole);
}

TEST(OwnerStagesTest, AnExclusiveTopologyCannotBeFollowedAndSaysWhy) {
  json set = JobSet();
  set["metadata"]["annotations"]["alpha.jobset.sigs.k8s.io/exclusive-topology"] = "rack";
  const Stages stages = StagesOf(kJobSet, set, PodsOf({{"0", 1}}));
  EXPECT_FALSE(stages.whole);
  EXPECT_NE(stages.why_not.find("remove the annotation"), std::string::npos) << stages.why_not;
}

TEST(OwnerStagesTest, ATaskOfVolcanoMustNotComeBeforeRanksThatRun) {
  json job = json::parse(R"({"spec": {"tasks": [
      {"name": "worker", "replicas": 2, "dependsOn": {"name": ["master"]}},
      {"name": "master", "replicas": 1}]}})");
  EXPECT_TRUE(StagesOf(kVolcano, job, PodsOf({{"master", 1}})).whole);
  job["spec"]["tasks"][0].erase("dependsOn");
  job["spec"]["tasks"][1]["dependsOn"] = {{"name", {"worker"}}};
  EXPECT_FALSE(StagesOf(kVolcano, job, PodsOf({{"worker", 2}})).whole);
}

TEST(OwnerStagesTest, ALeaderThatComesFirstIsAStage) {
  json set = {{"spec", {{"leaderWorkerTemplate", {{"size", 4}}}}}};
  EXPECT_FALSE(StagesOf(kLws, set, PodsOf({{"", 1}})).whole);
  set["spec"]["startupPolicy"] = "LeaderReady";
  EXPECT_TRUE(StagesOf(kLws, set, PodsOf({{"", 1}})).whole);
  EXPECT_FALSE(StagesOf(kLws, set, PodsOf({{"", 3}})).whole) << "a worker is missing";
}

TEST(OwnerStagesTest, ALauncherThatWorksAndWaitsForTheWorkersCannotBeFollowed) {
  json job = {{"spec", {{"launcherCreationPolicy", "WaitForWorkersReady"}}}};
  EXPECT_TRUE(StagesOf(kMpi, job, PodsOf({{"", 2}})).why_not.empty());
  job["spec"]["runLauncherAsWorker"] = true;
  EXPECT_FALSE(StagesOf(kMpi, job, PodsOf({{"", 2}})).why_not.empty());
}

}  // namespace
}  // namespace yardmaster::gather
