// The operator's processes over a TrainingJob in memory (job_cluster_fixture.h): the cache as the
// watches would fill it, and a job controller that a test may end at any write and start again.
//
// TESTONLY. Thread safety: one thread.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/operator/hosts/node_observer.h"
#include "pkg/operator/jobs/job_controller.h"
#include "pkg/operator/testing/job_cluster_fixture.h"

namespace yardmaster::op {

class JobFixture : public JobClusterFixture {
 protected:
  JobFixture() { NewLeader(); }

  void NewLeader() {
    cache_ = std::make_unique<state::ClusterCache>();
    hosts_ = std::make_unique<HostHealth>();
    marker_ = std::make_unique<HostMarker>(
        client_, *cache_, marker_options_,
        [this](const HostNotice& notice) { host_notices_.push_back(notice); });
    controller_ = std::make_unique<JobController>(
        client_, *cache_, *hosts_, *marker_, clock_,
        [this](const JobNotice& notice) { notices_.push_back(notice); },
        [this] { return writes_left_.fetch_sub(1) > 0; }, kPlacedWriteThreads, place_);
  }

  // Brings the caches up to date, as the watches would.
  void Sync() {
    for (const json& o : client_.All(kube::Nodes())) {
      cache_->Deliver(state::Kind::kNode, o);
      ObserveNode(*cache_, fault_rules_, kube::NameOf(o), clock_.SteadyMs(), *hosts_);
    }
    for (const auto& pod : cache_->Take().pods) {
      const std::string& name = pod->metadata.name;
      if (!client_.Find(kube::Pods(), "team", name)) {
        cache_->Remove(state::Kind::kPod,
                       json{{"metadata", {{"name", name}, {"namespace", "team"}}}});
      }
    }
    for (const json& o : client_.All(kube::Pods())) cache_->Deliver(state::Kind::kPod, o);
    for (const json& o : client_.All(kube::Gangs())) cache_->Deliver(state::Kind::kGang, o);
    for (const json& o : client_.All(kube::TrainingJobs())) {
      cache_->Deliver(state::Kind::kTrainingJob, o);
    }
  }
  absl::StatusOr<std::optional<std::int64_t>> TryReconcile() {
    Sync();
    return controller_->Reconcile("team/a");
  }
  std::optional<std::int64_t> Reconcile() {
    auto again = TryReconcile();
    EXPECT_TRUE(again.ok()) << again.status();
    return again.ok() ? *again : std::nullopt;
  }
  // Reconciles until three times in a row nothing was written, at most twelve times.
  void RunUntilStable() {
    int quiet = 0;
    for (int i = 0; i < 12 && quiet < 3; ++i) {
      const std::int64_t before = client_.version();
      Reconcile();
      quiet = client_.version() == before ? quiet + 1 : 0;
    }
  }

  // The whole job runs, rank r on host n<r>.
  void RunAll() {
    RunUntilStable();
    for (int rank = 0; rank < Workers(); ++rank) {
      if (Phase(rank) != "Running") SetPod(rank, "Running", StrCat("n", rank));
    }
    RunUntilStable();
  }
  int CountNotices(const std::string& reason) const {
    int count = 0;
    for (const JobNotice& notice : notices_) count += notice.reason == reason ? 1 : 0;
    return count;
  }

  std::vector<JobNotice> notices_;
  std::unique_ptr<state::ClusterCache> cache_;
  std::vector<FaultRule> fault_rules_ = DefaultFaultRules();
  std::atomic<int> writes_left_ = INT_MAX;  // then the process does not lead any more
  HostMarker::Options marker_options_;      // of the next NewLeader
  PlaceOptions place_;                      // of the next NewLeader: pods come first
  std::vector<HostNotice> host_notices_;
  std::unique_ptr<HostHealth> hosts_;
  std::unique_ptr<HostMarker> marker_;
  std::unique_ptr<JobController> controller_;
};

}  // namespace yardmaster::op
