#include "pkg/api/kueue_workload.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::api {
namespace {

using nlohmann::json;

KueueWorkload Decode(const json& object) {
  auto workload = DecodeKueueWorkload(JsonView(object));
  EXPECT_TRUE(workload.ok()) << workload.status();
  return workload.ok() ? *std::move(workload) : KueueWorkload();
}

json Object() {
  return json::parse(R"({
    "apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "Workload",
    "metadata": {
      "name": "trainingjob-a-12345", "namespace": "team", "uid": "w1", "resourceVersion": "7",
      "annotations": {"yardmaster.dev/pod-sets": "hash", "other": "x"},
      "finalizers": ["kueue.x-k8s.io/resource-in-use"],
      "ownerReferences": [{"apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob",
                           "name": "a", "uid": "job", "controller": true}]},
    "spec": {"queueName": "research", "active": true, "podSets": [
      {"name": "main", "count": 4, "minCount": 2, "template": {"spec": {"containers": []}}},
      {"name": "data", "count": 1, "template": {}}]},
    "status": {
      "conditions": [
        {"type": "QuotaReserved", "status": "True", "reason": "QuotaReserved", "message": "m",
         "lastTransitionTime": "2026-01-02T03:04:05Z", "observedGeneration": 3},
        {"type": "Admitted", "status": "True", "reason": "Admitted", "message": "",
         "lastTransitionTime": "2026-01-02T03:04:05Z"}],
      "admission": {"clusterQueue": "gpus", "podSetAssignments": [
        {"name": "main", "count": 3, "flavors": {"nvidia.com/gpu": "h100", "cpu": "h100"},
         "topologyAssignment": {"levels": ["kubernetes.io/hostname"]}},
        {"name": "data", "flavors": {"cpu": "cpu"}}]},
      "admissionChecks": [
        {"name": "a", "state": "Ready", "podSetUpdates": [
          {"name": "main", "labels": {"l": "1"}, "annotations": {"a": "2"},
           "nodeSelector": {"pool": "p"},
           "tolerations": [{"key": "t", "operator": "Exists", "tolerationSeconds": 5}]}]},
        {"name": "b", "state": "Pending", "podSetUpdates": [{"name": "main"}]}],
      "reclaimablePods": [{"name": "main", "count": 1}]}})");
}

TEST(KueueWorkloadTest, WhatFollowsFromItIsRead) {
  const KueueWorkload workload = Decode(Object());
  EXPECT_EQ(workload.queue, "research");
  EXPECT_EQ(workload.pod_sets, (std::vector<QueuedPodSet>{{"main", 4, 2}, {"data", 1}}));
  EXPECT_TRUE(workload.has_finalizer());
  EXPECT_EQ(workload.metadata.controller()->uid, "job");
  EXPECT_EQ(workload.metadata.annotations.at(kPodSetsAnnotation), "hash");
  EXPECT_EQ(workload.metadata.annotations.size(), 1u);
  EXPECT_EQ(workload.cluster_queue, "gpus");
  ASSERT_EQ(workload.assignments.size(), 2u);
  EXPECT_EQ(workload.assignments[0].flavors, (std::vector<std::string>{"h100"}));
  EXPECT_EQ(workload.assignments[0].count, 3);
  EXPECT_TRUE(workload.assignments[0].has_topology);
  EXPECT_EQ(workload.assignments[1].count, std::nullopt);
  EXPECT_FALSE(workload.assignments[1].has_topology);
  ASSERT_EQ(workload.additions.size(), 1u) << "those of the check that is ready";
  EXPECT_EQ(workload.additions[0].tolerations[0].key, "t");
  EXPECT_EQ(workload.additions[0].node_selector.at("pool"), "p");
  EXPECT_EQ(workload.reclaimable.at("main"), 1);
  EXPECT_TRUE(workload.admitted());
}

TEST(KueueWorkloadTest, ConditionsOfOthersAreWrittenBackAsTheyWere) {
  const json object = Object();
  const json written = EncodeConditions(Decode(object).conditions);
  EXPECT_EQ(written[0], object["status"]["conditions"][0]);
  EXPECT_EQ(written[1]["lastTransitionTime"], "2026-01-02T03:04:05Z");
}

TEST(KueueWorkloadTest, AnEvictedOneIsNotAdmittedAndHoldsQuota) {
  json object = Object();
  object["status"]["conditions"].push_back(
      {{"type", "Evicted"}, {"status", "True"}, {"reason", "Preempted"}});
  KueueWorkload workload = Decode(object);
  EXPECT_FALSE(workload.admitted());
  EXPECT_TRUE(workload.evicted());
  EXPECT_TRUE(workload.holds_quota());
  object["status"].erase("admission");
  object["status"]["conditions"] = json::array();
  workload = Decode(object);
  EXPECT_FALSE(workload.admitted());
  EXPECT_FALSE(workload.holds_quota());
}

TEST(KueueWorkloadTest, ANewOneHasNoStatus) {
  json object = Object();
  object.erase("status");
  const KueueWorkload workload = Decode(object);
  EXPECT_FALSE(workload.admitted());
  EXPECT_FALSE(workload.finished());
  EXPECT_TRUE(workload.conditions.empty());
}

TEST(KueueWorkloadTest, FieldsOfAnotherTypeAreNamed) {
  json object = Object();
  object["spec"]["podSets"][0]["count"] = "four";
  const auto workload = DecodeKueueWorkload(JsonView(object));
  ASSERT_FALSE(workload.ok());
  EXPECT_NE(workload.status().message().find("spec.podSets[0].count"), std::string::npos);
}

TEST(KueueWorkloadTest, AFlavorNamesNodes) {
  const auto flavor = DecodeResourceFlavor(JsonView(json::parse(R"({
    "metadata": {"name": "h100"},
    "spec": {"nodeLabels": {"gpu": "h100"}, "topologyName": "t",
             "nodeTaints": [{"key": "spot", "value": "true", "effect": "NoSchedule"}],
             "tolerations": [{"key": "spot", "operator": "Equal", "value": "true"}]}})")));
  ASSERT_TRUE(flavor.ok()) << flavor.status();
  EXPECT_EQ(flavor->node_labels.at("gpu"), "h100");
  ASSERT_EQ(flavor->tolerations.size(), 1u);
  EXPECT_EQ(flavor->tolerations[0].value, "true");
}

}  // namespace
}  // namespace yardmaster::api
