// A cluster in memory for tests of the planner: nodes of two segments, pods of jobs, and passes of
// processes that have just started. TESTONLY. Thread safety: none.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/extender/gang_planner.h"
#include "pkg/kube/fake_client.h"
#include "pkg/kube/object.h"

namespace yardmaster::extender {

using nlohmann::json;

inline constexpr int kHostsPerSegment = 4;  // one of them a backup host

// A cluster in memory: nodes of two segments, pods of jobs, our planner over it.
class PlannerFixture : public ::testing::Test {
 protected:
  PlannerFixture() : client_(clock_) {
    for (int s = 0; s < 2; ++s) {
      for (int h = 0; h < kHostsPerSegment; ++h) AddNode(s, h);
    }
  }

  static std::string NodeName(int segment, int host) { return StrCat("s", segment, "h", host); }

  void AddNode(int segment, int host, bool ready = true) {
    json node = {
        {"apiVersion", "v1"},
        {"kind", "Node"},
        {"metadata",
         {{"name", NodeName(segment, host)},
          {"labels", {{api::kFabricPodLabel, "p0"}, {api::kSegmentLabel, StrCat("s", segment)}}}}},
        {"spec", json::object()},
        {"status",
         {{"allocatable", {{api::kGpuResource, "8"}}},
          {"conditions",
           json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}}}};
    if (host == kHostsPerSegment - 1) node["metadata"]["labels"][api::kBackupKey] = "true";
    if (const auto before = client_.Find(kube::Nodes(), "", NodeName(segment, host))) {
      if (before->contains("spec")) node["spec"] = (*before)["spec"];
    }
    client_.Seed(kube::Nodes(), node);
  }

  // Spares are lent to preemptible jobs.
  void AddFabric() {
    client_.Seed(kube::Fabrics(), json::parse(R"({
      "apiVersion": "yardmaster.dev/v1alpha1", "kind": "Fabric", "metadata": {"name": "small"},
      "spec": {"size": {"fabricPods": 1, "segmentsPerFabricPod": 2, "hostsPerSegment": 4},
               "backup": {"hostsPerSegment": 1, "lendToPreemptible": true},
               "tiers": [{"role": "tor", "scope": "Segment", "perRail": true, "downPorts": 8,
                          "downGbps": 200, "upPorts": 4, "upGbps": 400},
                         {"role": "agg", "scope": "FabricPod", "switches": 4, "downPorts": 16,
                          "downGbps": 400}]}})"));
  }

  // `more`: further fields of the spec.
  void AddJob(const std::string& name, int workers, const char* placement = "{}",
              const json& more = json::object()) {
    json job = {{"apiVersion", api::kGroupVersion},
                {"kind", "TrainingJob"},
                {"metadata", {{"name", name}, {"namespace", "team"}, {"uid", "job-" + name}}},
                {"spec",
                 {{"workers", workers},
                  {"gpusPerWorker", 8},
                  {"parallelism", {{"tensor", 8}, {"data", workers}}},
                  {"placement", json::parse(placement)},
                  {"template", {{"spec", {{"containers", json::array()}}}}}}}};
    job["spec"].update(more);
    client_.Seed(kube::TrainingJobs(), job);
    for (int rank = 0; rank < workers; ++rank) AddPod(name, rank);
  }

  void AddPod(const std::string& job, int rank, const std::string& owner_uid = "") {
    static int life = 0;
    client_.Seed(
        kube::Pods(),
        {{"apiVersion", "v1"},
         {"kind", "Pod"},
         {"metadata",
          {{"name", StrCat(job, "-", rank)},
           {"namespace", "team"},
           {"uid", StrCat("pod-", job, "-", rank, "-", ++life)},
           {"labels", {{api::kJobLabel, job}, {api::kRankLabel, StrCat(rank)}}},
           {"ownerReferences", json::array({{{"apiVersion", api::kGroupVersion},
                                             {"kind", "TrainingJob"},
                                             {"name", job},
                                             {"uid", owner_uid.empty() ? "job-" + job : owner_uid},
                                             {"controller", true}}})}}},
         {"spec",
          {{"schedulingGates", json::array({{{"name", api::kPlacementGate}}})},
           {"containers",
            json::array(
                {{{"name", "c"}, {"resources", {{"limits", {{api::kGpuResource, "8"}}}}}}})}}},
         {"status", {{"phase", "Pending"}}}});
  }

  // As the operator would: a gated pod for every rank of every job that has none.
  void MakeMissingPods() {
    for (const json& job : client_.All(kube::TrainingJobs())) {
      const std::string name = job["metadata"]["name"];
      for (int rank = 0; rank < job["spec"]["workers"].get<int>(); ++rank) {
        if (!client_.Find(kube::Pods(), "team", StrCat(name, "-", rank))) AddPod(name, rank);
      }
    }
  }

  // As kube-scheduler would: released pods run on the host they are pinned to.
  void RunReleasedPods() {
    std::map<std::string, std::string> on;
    for (json pod : client_.All(kube::Pods())) {
      const std::string host = PinnedTo(pod);
      if (Gated(pod) || host.empty()) continue;
      const std::string name = pod["metadata"]["name"];
      EXPECT_TRUE(on.emplace(host, name).second) << name << " and " << on[host] << " on " << host;
      pod["spec"]["nodeName"] = host;
      pod["status"]["phase"] = "Running";
      client_.Seed(kube::Pods(), pod);
    }
  }

  void DeletePod(const std::string& name) {
    ASSERT_TRUE(client_.Delete({kube::Pods(), "team", name, ""}, {}).ok());
  }
  void Finish(const std::string& job) {
    for (json pod : client_.All(kube::Pods())) {
      if (pod["metadata"]["labels"][api::kJobLabel] != job) continue;
      pod["status"]["phase"] = "Succeeded";
      client_.Seed(kube::Pods(), pod);
    }
  }

  // Writes in one order, so that "the n-th write" means something.
  static GangPlanner::Options OneThread() {
    GangPlanner::Options options;
    options.release_threads = 1;
    options.eviction_threads = 1;
    options.taints.threads = 1;
    return options;
  }

  // A process that stays: its caches live on from pass to pass.
  class Process {
   public:
    Process(PlannerFixture& cluster, bool leader)
        : cluster_(cluster),
          planner_(
              cluster.client_, cache_, cluster.clock_, [leader] { return leader; },
              [&cluster](auto view) { cluster.view_ = std::move(view); },
              [&cluster](const Notice& notice) { cluster.notices_.push_back(notice); },
              OneThread()) {}
    // Sees everything as it is now; view and notices go to the fixture.
    PassReport Pass() {
      Read(state::Kind::kNode, kube::Nodes());
      Read(state::Kind::kPod, kube::Pods());
      Read(state::Kind::kTrainingJob, kube::TrainingJobs());
      Read(state::Kind::kGang, kube::Gangs());
      Read(state::Kind::kFabric, kube::Fabrics());
      return planner_.Pass();
    }

   private:
    void Read(state::Kind kind, const kube::Resource& resource) {
      std::map<std::string, json> now;
      for (const json& object : client().All(resource)) {
        now[kube::KeyOf(object)] = object;
        cache_.Deliver(kind, object);
      }
      for (const auto& [key, object] : seen_[kind]) {
        if (now.count(key) == 0) cache_.Remove(kind, object);
      }
      seen_[kind] = std::move(now);
    }
    kube::FakeClient& client() { return cluster_.client_; }

    PlannerFixture& cluster_;
    state::WorldCache cache_;
    GangPlanner planner_;
    std::map<state::Kind, std::map<std::string, json>> seen_;
  };

  // What a process that has just started would see.
  PassReport PassOfANewProcess(bool leader = true) { return Process(*this, leader).Pass(); }

  static bool Gated(const json& pod) {
    return pod["spec"].contains("schedulingGates") && !pod["spec"]["schedulingGates"].empty();
  }
  static std::string PinnedTo(const json& pod) {
    const json::json_pointer at(
        "/spec/affinity/nodeAffinity/"
        "requiredDuringSchedulingIgnoredDuringExecution/"
        "nodeSelectorTerms/0/matchFields/0/values/0");
    return pod.contains(at) ? pod[at].get<std::string>() : "";
  }
  json GangStatus(const std::string& job) {
    auto gang = client_.Find(kube::Gangs(), "team", "trainingjob-" + job);
    return gang && gang->contains("status") ? (*gang)["status"] : json::object();
  }

  bool Placed(const std::string& job) { return !Slots(job).empty(); }
  json Slots(const std::string& job) {
    const json status = GangStatus(job);
    return status.value("assignments", json::array());
  }
  // {"status", "reason", "message", ...} of a gang's condition; an empty object without it.
  json Condition(const std::string& job, const std::string& type) {
    const json status = GangStatus(job);
    for (const json& condition : status.value("conditions", json::array())) {
      if (condition["type"] == type) return condition;
    }
    return json::object();
  }
  int CountNotices(const std::string& reason) const {
    return static_cast<int>(
        std::count_if(notices_.begin(), notices_.end(),
                      [&](const Notice& notice) { return notice.reason == reason; }));
  }

  // The promises that hold at every instant, whoever was killed where.
  void CheckPromises() {
    std::map<std::string, std::string> holder;  // host -> gang/rank
    std::map<std::string, json> slots;          // job-rank -> assignment
    for (const json& gang : client_.All(kube::Gangs())) {
      const json assignments = gang.value("/status/assignments"_json_pointer, json::array());
      const int workers = gang["spec"]["workers"];
      EXPECT_TRUE(assignments.empty() || static_cast<int>(assignments.size()) == workers)
          << "a gang is committed whole or not at all";
      const std::string job = gang["spec"]["owner"]["name"];
      for (const json& slot : assignments) {
        const std::string who = StrCat(job, "-", slot["rank"].get<int>());
        EXPECT_TRUE(holder.emplace(slot["host"], who).second)
            << slot["host"] << " is promised to " << holder[slot["host"]] << " and " << who;
        slots[who] = slot;
      }
    }
    for (const json& pod : client_.All(kube::Pods())) {
      const std::string name = pod["metadata"]["name"];
      if (Gated(pod)) {
        EXPECT_EQ(PinnedTo(pod), "");
        continue;
      }
      ASSERT_TRUE(slots.count(name)) << name << " was released without a committed slot";
      EXPECT_EQ(PinnedTo(pod), slots[name]["host"]);
    }
  }

  FakeClock clock_;
  kube::FakeClient client_;
  std::shared_ptr<const View> view_;
  std::vector<Notice> notices_;
};

}  // namespace yardmaster::extender
