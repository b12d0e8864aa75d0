// One control plane with our processes for all tests of a program; each test has the namespace
// "team" to itself and leaves no job, gang, pod or taint behind. TESTONLY. Thread safety: one
// thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "test/e2e/cluster.h"

namespace yardmaster::testing {

using nlohmann::json;

inline constexpr int kHosts = 20;     // per segment, 8 of them backup hosts
inline constexpr int kPatience = 60;  // seconds; nothing here takes more than a few

inline std::string TrainingJob(const std::string& name, int workers, const std::string& spec) {
  return StrCat(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob",
    "metadata": {"name": ")",
                name, R"(", "namespace": "team"}, "spec": {"workers": )", workers,
                R"(, "gpusPerWorker": 8, "recovery": {"hostGraceSeconds": 1}, )", spec,
                R"(, "template": {"spec": {"containers": [{"name": "t", "image": "i"}]}}}})");
}

class StoryTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { SetUpCluster(false); }
  // `kueue`, `hosts`: as Cluster::Start's.
  static void SetUpCluster(bool kueue, int hosts = kHosts,
                           std::vector<std::string> operator_flags = {}) {
    auto cluster = Cluster::Start(hosts, kueue);
    ASSERT_TRUE(cluster.ok()) << cluster.status();
    cluster_ = cluster->release();
    cluster_->SetOperatorFlags(std::move(operator_flags));
    ASSERT_TRUE(cluster_->plane().Kubectl({"create", "namespace", "team"}).ok());
    ASSERT_TRUE(cluster_->StartExtender().ok());
    ASSERT_TRUE(cluster_->StartOperator().ok());
    ASSERT_TRUE(cluster_->StartAgent().ok());
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }
  void TearDown() override {
    ASSERT_TRUE(cluster_->plane()
                    .Kubectl({"delete", "trainingjobs", "-n", "team", "--all", "--timeout=60s"})
                    .ok());
    EXPECT_TRUE(WaitFor(kPatience, [&] {
      return Pods().empty() && cluster_->Get({"gangs", "-n", "team"})["items"].empty();
    })) << "a deleted job leaves pods or gangs behind";
    EXPECT_TRUE(WaitFor(kPatience, [&] { return PromisedHosts().empty(); }))
        << "a deleted job leaves taints behind";
  }

  static std::vector<json> Pods() {
    const json list = cluster_->Get({"pods", "-n", "team"});
    return list.is_object() ? list["items"].get<std::vector<json>>() : std::vector<json>{};
  }
  static json Gang(const std::string& job) {
    return cluster_->Get({"gang", "-n", "team", "trainingjob-" + job});
  }
  static json Job(const std::string& job) {
    return cluster_->Get({"trainingjob", "-n", "team", job});
  }
  static bool Has(const std::string& job, const std::string& condition) {
    return WaitFor(kPatience, [&] { return ConditionOf(Job(job), condition) == "True"; });
  }
  static bool Gated(const json& pod) {
    return pod["spec"].contains("schedulingGates") && !pod["spec"]["schedulingGates"].empty();
  }

  // Hosts that carry the taint of promised hosts.
  static std::set<std::string> PromisedHosts() {
    std::set<std::string> out;
    const json nodes = cluster_->Get({"nodes"});
    if (!nodes.is_object()) return out;
    for (const json& node : nodes["items"]) {
      const json taints = node.value("/spec/taints"_json_pointer, json::array());
      for (const json& taint : taints) {
        if (taint["key"] != api::kPromisedKey) continue;
        EXPECT_EQ(taint["effect"], "NoSchedule");
        out.insert(node["metadata"]["name"]);
      }
    }
    return out;
  }
  static std::set<std::string> HostsOf(const std::string& job) {
    std::set<std::string> out;
    const json gang = Gang(job);
    if (!gang.is_object()) return out;  // not made yet
    const json slots = gang.value("/status/assignments"_json_pointer, json::array());
    for (const json& slot : slots) out.insert(slot["host"]);
    return out;
  }

  // No host is promised twice, gangs are committed whole, and released pods go to their slot's
  // host.
  static void CheckPromises() {
    std::map<std::string, std::string> holder;
    std::map<std::string, std::string> host_of;
    const json gangs = cluster_->Get({"gangs", "-n", "team"});
    for (const json& gang : gangs["items"]) {
      const json slots = gang.value("/status/assignments"_json_pointer, json::array());
      EXPECT_TRUE(slots.empty() || slots.size() == gang["spec"]["workers"].get<std::size_t>());
      for (const json& slot : slots) {
        const std::string who =
            StrCat(gang["spec"]["owner"]["name"].get<std::string>(), "-", slot["rank"].get<int>());
        EXPECT_TRUE(holder.emplace(slot["host"], who).second) << slot["host"];
        host_of[who] = slot["host"];
      }
    }
    for (const json& pod : Pods()) {
      const std::string name = pod["metadata"]["name"];
      const std::string node = pod["spec"].value("nodeName", "");
      if (Gated(pod)) {
        EXPECT_EQ(node, "");
      } else {
        ASSERT_TRUE(host_of.count(name)) << name << " was released without a slot";
        EXPECT_TRUE(node.empty() || node == host_of[name]) << name;
      }
    }
  }

  static void SetPolicy(const std::string& name, bool in_force) {
    const std::string file = StrCat(YARDMASTER_SOURCE_DIR, "/test/e2e/policies/", name, ".yaml");
    auto done = cluster_->plane().Kubectl({in_force ? "apply" : "delete", "-f", file});
    ASSERT_TRUE(done.ok()) << done.status();
  }

  static inline Cluster* cluster_ = nullptr;
};

}  // namespace yardmaster::testing
