#include "pkg/api/node.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/status.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

json NodeJson() {
  return json::parse(R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"n1",
    "labels":{"yardmaster.dev/segment":"s0","zone":"7"},"managedFields":[{}]},
    "spec":{"unschedulable":true,"podCIDR":"x","taints":[{"key":"a","value":"b",
    "effect":"NoExecute"}]},
    "status":{"allocatable":{"nvidia.com/gpu":"8","cpu":"100m"},"capacity":{"nvidia.com/gpu":8},
    "conditions":[{"type":"MemoryPressure","status":"False"},{"type":"Ready","status":"Unknown"}],
    "addresses":[{"type":"InternalIP","address":"10.0.0.1"}]}})");
}

TEST(NodeTest, ReadsTheSliceThatPlacementNeeds) {
  auto node = DecodeNode(NodeJson());
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->metadata.name, "n1");
  EXPECT_TRUE(node->unschedulable);
  EXPECT_EQ(node->gpus(), 8);
  EXPECT_EQ(node->ready, std::optional<bool>(false));
  EXPECT_EQ(node->internal_ip, "10.0.0.1");
  ASSERT_EQ(node->taints.size(), 1u);
  EXPECT_EQ(node->taints[0].effect, TaintEffect::kNoExecute);
  EXPECT_FALSE(node->backup());
}

TEST(NodeTest, WhatIsWrittenReadsBackEqual) {
  auto node = DecodeNode(NodeJson());
  ASSERT_TRUE(node.ok());
  auto again = DecodeNode(EncodeNode(*node));
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(*again, *node);
}

TEST(NodeTest, ANodeWithoutSpecAndStatusIsReadAndHasNoGpus) {
  auto node = DecodeNode(json{{"metadata", {{"name", "n"}}}});
  ASSERT_TRUE(node.ok());
  EXPECT_EQ(node->gpus(), 0);
  EXPECT_FALSE(node->ready.has_value());
}

TEST(NodeTest, WrongFieldsAreNamed) {
  json bad = NodeJson();
  bad["status"]["allocatable"]["nvidia.com/gpu"] = "many";
  bad["spec"]["taints"][0]["effect"] = "noexecute";
  const std::string message = MessageOf(DecodeNode(bad).status());
  EXPECT_NE(message.find("status.allocatable[\"nvidia.com/gpu\"]: expected a quantity"),
            std::string::npos);
  EXPECT_NE(message.find("spec.taints[0].effect: expected NoSchedule"), std::string::npos);
  EXPECT_NE(message.find("did you mean NoExecute?"), std::string::npos);
}

// A kubelet whose devices are all unhealthy reports 0 of them allocatable.
TEST(NodeTest, AResourceOfWhichNothingIsAllocatableCountsAsNoneWhateverTheCapacity) {
  json object = NodeJson();
  object["status"]["allocatable"]["nvidia.com/gpu"] = "0";
  auto node = DecodeNode(object);
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->gpus(), 0);
}

TEST(NodeTest, ConditionsOfEveryKubeletAreLeftOutAndOthersKept) {
  json object = NodeJson();
  object["status"]["conditions"] = json::array();
  for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable",
                           "GpuFault", "Ready", "KernelDeadlock"}) {
    object["status"]["conditions"].push_back({{"type", type}, {"status", "True"}});
  }
  auto node = DecodeNode(object);
  ASSERT_TRUE(node.ok()) << node.status();
  EXPECT_EQ(node->ready, std::optional<bool>(true));
  const std::vector<std::pair<std::string, std::string>> kept = {{"GpuFault", "True"},
                                                                 {"KernelDeadlock", "True"}};
  EXPECT_EQ(node->conditions, kept);
}

TEST(NodeTest, ABackupIsMarkedByTheLabelOrByATaintThatIsNotTheExtendersOwn) {
  Node node;
  node.metadata.labels[kBackupKey] = "false";
  EXPECT_FALSE(node.backup());
  node.metadata.labels[kBackupKey] = "true";
  EXPECT_TRUE(node.backup());
  node.metadata.labels.clear();
  node.taints = {{kBackupKey, kChosenBackupValue, TaintEffect::kNoSchedule}};
  EXPECT_FALSE(node.backup());
  node.taints.push_back({kBackupKey, "", TaintEffect::kNoSchedule});
  EXPECT_TRUE(node.backup());
}

TEST(NodeTest, TheFirstInternalAddressIsTheHosts) {
  json object = NodeJson();
  object["status"]["addresses"] = {{{"type", "Hostname"}, {"address", "n1"}},
                                   {{"type", "InternalIP"}, {"address", "10.0.0.7"}},
                                   {{"type", "InternalIP"}, {"address", "fd00::7"}}};
  EXPECT_EQ(DecodeNode(object)->internal_ip, "10.0.0.7");
}

TEST(NodeTest, ANameIsNeededAndANamespaceIsNot) {
  EXPECT_EQ(MessageOf(DecodeNode(json::object()).status()),
            "metadata.name: is missing; give it a value");
  json object = NodeJson();
  object["metadata"]["namespace"] = "x";
  EXPECT_EQ(DecodeNode(object)->metadata.namespace_name, "");
}

}  // namespace
}  // namespace yardmaster::api
