// The planner over a cluster in memory: passes of processes that stay or have just started, and the
// promises that hold after each. TESTONLY. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "pkg/base/strings.h"
#include "pkg/extender/cluster_planner.h"
#include "pkg/extender/testing/cluster_fixture.h"
#include "pkg/kube/testing/relist.h"

namespace yardmaster::extender {

// The planner over a cluster in memory.
class PlannerFixture : public ClusterFixture {
 protected:
  // Writes in one order, so that "the n-th write" means something.
  static ClusterPlanner::Options OneThread() {
    ClusterPlanner::Options options;
    options.release.threads = 1;
    options.eviction_threads = 1;
    options.taints.threads = 1;
    return options;
  }

  // With their pods and Gangs.
  void DeleteAllJobs() {
    for (const kube::Resource& resource : {kube::Pods(), kube::Gangs(), kube::TrainingJobs()}) {
      for (const json& o : client_.All(resource)) {
        ASSERT_TRUE(client_.Delete({resource, "team", o["metadata"]["name"], ""}, {}).ok());
      }
    }
  }

  // A process that stays: its caches live on from pass to pass.
  class Process {
   public:
    Process(PlannerFixture& cluster, bool leader)
        : cluster_(cluster),
          planner_(
              cluster.client_, cache_, cluster.clock_,
              {[this] { return token_; }, [this](std::int64_t token) { LeadAbove(token); }},
              [&cluster](auto view) { cluster.view_ = std::move(view); },
              [&cluster](const ObjectNotice& notice) { cluster.notices_.push_back(notice); },
              cluster.planner_options_) {
      if (leader) Lead();
    }
    // A new hold of the lease. Another process's hold does not end by that.
    void Lead() { token_ = ++cluster_.last_token_; }
    void LoseLease() { token_ = 0; }
    std::int64_t token() const { return token_; }
    // Sees everything as it is now; view and notices go to the fixture.
    PassReport Pass() {
      Read(state::Kind::kNode, kube::Nodes());
      Read(state::Kind::kPod, kube::Pods());
      Read(state::Kind::kTrainingJob, kube::TrainingJobs());
      Read(state::Kind::kGang, kube::Gangs());
      Read(state::Kind::kFabric, kube::Fabrics());
      if (cluster_.has_devices_) {
        Read(state::Kind::kResourceSlice, kube::ResourceSlices());
        Read(state::Kind::kDeviceClass, kube::DeviceClasses());
        Read(state::Kind::kResourceClaim, kube::ResourceClaims());
        Read(state::Kind::kResourceClaimTemplate, kube::ResourceClaimTemplates());
      }
      return planner_.RunOnce();
    }

   private:
    void Read(state::Kind kind, const kube::Resource& resource) {
      kube::Relist(client(), resource, cache_.sink(kind));
    }
    kube::FakeClient& client() { return cluster_.client_; }
    void LeadAbove(std::int64_t token) {
      cluster_.last_token_ = std::max(cluster_.last_token_, token);
      Lead();
    }

    PlannerFixture& cluster_;
    std::int64_t token_ = 0;
    state::ClusterCache cache_;
    ClusterPlanner planner_;
  };

  // What a process that has just started would see.
  PassReport PassOfANewProcess(bool leader = true) { return Process(*this, leader).Pass(); }

  int CountNotices(const std::string& reason) const {
    return static_cast<int>(
        std::count_if(notices_.begin(), notices_.end(),
                      [&](const ObjectNotice& notice) { return notice.reason == reason; }));
  }

  // The promises that hold at every instant, whichever process was killed where.
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

  ClusterPlanner::Options planner_options_ = OneThread();
  std::int64_t last_token_ = 0;  // of any process
  bool has_devices_ = false;     // objects of resource.k8s.io are read
  std::shared_ptr<const View> view_;
  std::vector<ObjectNotice> notices_;
};

}  // namespace yardmaster::extender
