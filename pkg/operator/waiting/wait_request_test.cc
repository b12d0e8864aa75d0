#include "pkg/operator/waiting/wait_request.h"

#include <utility>

#include "pkg/operator/testing/wait_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class WaitRequestTest : public WaitFixture {
 protected:
  static kube::Resource JobSets() { return *ResourceOfWaitingKind("JobSet"); }
  static json ReplicatedJob(const std::string& name, int replicas, int pods, int gpus) {
    return {{"name", name},
            {"replicas", replicas},
            {"template",
             {{"spec",
               {{"completions", pods},
                {"parallelism", pods},
                {"template", PodTemplate(gpus, "tp=8")}}}}}};
  }
  static json JobSet(const json& jobs) {
    return {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
            {"kind", "JobSet"},
            {"metadata",
             {{"name", "a"},
              {"namespace", "team"},
              {"uid", "set"},
              {"labels", {{api::kWaitLabel, api::kWaitSuspended}}}}},
            {"spec", {{"suspend", true}, {"replicatedJobs", jobs}}}};
  }
  // As admission leaves a pod as it is.
  static absl::StatusOr<api::Gang> RequestOf(const kube::Resource& resource, const json& object) {
    const WaitingJob job = ReadWaitingJob(resource, object);
    YM_ASSIGN_OR_RETURN(const auto sets, PodSetsOf(job, object));
    std::vector<std::shared_ptr<const api::Pod>> first;
    for (const PodSet& set : sets) {
      YM_ASSIGN_OR_RETURN(api::Pod pod, api::DecodePod(set.first_pod));
      first.push_back(std::make_shared<const api::Pod>(std::move(pod)));
    }
    return WaitRequestOf(job, sets, first);
  }
  static std::string Why(const kube::Resource& resource, const json& object) {
    const auto request = RequestOf(resource, object);
    EXPECT_TRUE(absl::IsInvalidArgument(request.status())) << request.status();
    return std::string(request.status().message());
  }
  static json Changed(json object, const json& change) {
    object.merge_patch(change);
    return object;
  }
};

TEST_F(WaitRequestTest, AJobAsksForOneRankAnIndex) {
  const auto gang = RequestOf(Jobs(), SuspendedJob(4));
  ASSERT_TRUE(gang.ok()) << gang.status();
  EXPECT_EQ(gang->metadata.name, "job-a");
  EXPECT_EQ(gang->job.workers, 4);
  EXPECT_EQ(gang->job.gpus_per_worker, 8);
  EXPECT_EQ(gang->job.parallelism.data, 4);
  EXPECT_EQ(gang->rank_bases, (std::vector<api::RankBase>{{"", 0}}));
}

TEST_F(WaitRequestTest, AJobSetAsksForAllItsPodsWithGpus) {
  const auto gang =
      RequestOf(JobSets(), JobSet({ReplicatedJob("leader", 1, 1, 8), ReplicatedJob("log", 3, 1, 0),
                                   ReplicatedJob("worker", 2, 4, 8)}));
  ASSERT_TRUE(gang.ok()) << gang.status();
  EXPECT_EQ(gang->metadata.name, "jobset-a");
  EXPECT_EQ(gang->owner.uid, "set");
  EXPECT_EQ(gang->job.workers, 9);
  EXPECT_EQ(gang->rank_bases, (std::vector<api::RankBase>{{"0", 0}, {"4", 1}, {"5", 5}}));
}

TEST_F(WaitRequestTest, PodsOfDifferentTemplatesAreRoles) {
  const auto gang =
      RequestOf(JobSets(), JobSet({ReplicatedJob("a", 1, 2, 8), ReplicatedJob("b", 1, 2, 4)}));
  ASSERT_TRUE(gang.ok()) << gang.status();
  ASSERT_EQ(gang->roles.size(), 2u);
  EXPECT_EQ(gang->roles[1].first_rank, 2);
}

TEST_F(WaitRequestTest, AJobThatIsNoGangIsToldWhatToChange) {
  const json job = SuspendedJob(4);
  EXPECT_EQ(Why(Jobs(), Changed(job, {{"spec", {{"completionMode", "NonIndexed"}}}})),
            "spec.completionMode: is not Indexed; use Indexed: the index is the rank");
  EXPECT_NE(Why(Jobs(), Changed(job, {{"spec", {{"parallelism", 2}}}}))
                .find("spec.completions: is 4 with parallelism 2"),
            std::string::npos);
  EXPECT_NE(Why(Jobs(), Changed(job, {{"status", {{"succeeded", 1}}}})).find("status.succeeded"),
            std::string::npos);
  json plain = job;
  plain["spec"]["template"]["metadata"] = json::object();
  plain["spec"]["template"]["spec"].erase("schedulingGates");
  EXPECT_NE(Why(Jobs(), plain).find("yardmaster.dev/parallelism"), std::string::npos);
  json open = job;
  open["spec"]["template"]["spec"].erase("schedulingGates");
  EXPECT_NE(Why(Jobs(), open).find("lacks yardmaster.dev/placement"), std::string::npos);
  json wrong = job;
  wrong["spec"]["template"] = PodTemplate(8, "tp=8,dp=3");
  EXPECT_NE(Why(Jobs(), wrong).find("make both equal"), std::string::npos) << Why(Jobs(), wrong);
}

TEST_F(WaitRequestTest, WhatOnlyPodsSayIsNotAskedFor) {
  const std::vector<std::pair<json, std::string>> changes = {
      {{{"volumes", {{{"name", "d"}, {"persistentVolumeClaim", {{"claimName", "data"}}}}}}},
       "spec.template.spec.volumes"},
      {{{"schedulingGates", json::array({{{"name", "others.example/gate"}}})}},
       "spec.template.spec.schedulingGates"},
      {{{"nodeSelector", {{"kubernetes.io/hostname", "n1"}}}, {"nodeName", "n1"}},
       "spec.template.spec.nodeName"}};
  for (const auto& [change, field] : changes) {
    json job = SuspendedJob(2);
    job["spec"]["template"]["spec"].update(change);
    const std::string why = Why(Jobs(), job);
    EXPECT_NE(why.find(field), std::string::npos) << why;
    EXPECT_NE(why.find("set spec.suspend to false"), std::string::npos) << why;
  }
}

TEST_F(WaitRequestTest, JobSetsWhosePodsComeInStepsAreRefused) {
  const json set = JobSet({ReplicatedJob("a", 1, 2, 8), ReplicatedJob("b", 1, 2, 8)});
  EXPECT_NE(Why(JobSets(),
                Changed(set, {{"spec", {{"startupPolicy", {{"startupPolicyOrder", "InOrder"}}}}}}))
                .find("spec.startupPolicy"),
            std::string::npos);
  json depends = set;
  depends["spec"]["replicatedJobs"][1]["dependsOn"] =
      json::array({{{"name", "a"}, {"status", "Ready"}}});
  EXPECT_NE(Why(JobSets(), depends).find("dependsOn"), std::string::npos);
}

TEST_F(WaitRequestTest, SizesBeyondAGangAreRefused) {
  EXPECT_NE(
      Why(JobSets(), JobSet(json::array({ReplicatedJob("a", 16'384, 2, 8)}))).find("at most 16384"),
      std::string::npos);
  EXPECT_NE(
      Why(JobSets(), JobSet(json::array({ReplicatedJob("a", 16'385, 2, 8)}))).find("replicas"),
      std::string::npos);
  EXPECT_NE(Why(Jobs(), SuspendedJob(0)).find("spec.completions"), std::string::npos);
}

// Objects of tenants: any JSON at all.
TEST_F(WaitRequestTest, StrangeObjectsAreNoCrash) {
  const std::vector<json> strange = {
      json(),
      json::array(),
      "text",
      {{"spec", 1}},
      {{"spec", {{"template", json::array()}}}},
      {{"spec", {{"replicatedJobs", {1, json(), {{"replicas", -1}}}}}}}};
  for (const json& object : strange) {
    for (const kube::Resource& resource : {Jobs(), JobSets()}) {
      EXPECT_FALSE(RequestOf(resource, object).ok()) << object;
    }
  }
}

}  // namespace
}  // namespace yardmaster::op
