// A Job or JobSet "team/a" with the label yardmaster.dev/wait over the operator's controller in
// memory, with what the extender and the job's controller would do.
//
// TESTONLY. Thread safety: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/api/suspended_wait.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/kube/testing/relist.h"
#include "pkg/operator/waiting/wait_controller.h"

namespace yardmaster::op {

class WaitFixture : public ::testing::Test {
 protected:
  using json = nlohmann::json;

  WaitFixture() { NewLeader(); }

  void NewLeader(bool enabled = true) {
    cache_ = std::make_unique<state::ClusterCache>();
    controller_ = std::make_unique<WaitController>(
        client_, *cache_, clock_, [this](const WaitNotice& notice) { notices_.push_back(notice); },
        WaitController::Options{enabled});
  }

  static kube::Resource Jobs() { return *ResourceOfWaitingKind("Job"); }
  static json PodTemplate(int gpus, const std::string& parallelism) {
    return {{"metadata", {{"annotations", {{api::kParallelismAnnotation, parallelism}}}}},
            {"spec",
             {{"schedulingGates", json::array({{{"name", api::kPlacementGate}}})},
              {"containers",
               json::array(
                   {{{"name", "c"}, {"resources", {{"limits", {{api::kGpuResource, gpus}}}}}}})}}}};
  }
  static json SuspendedJob(int pods) {
    return {{"apiVersion", "batch/v1"},
            {"kind", "Job"},
            {"metadata",
             {{"name", "a"},
              {"namespace", "team"},
              {"uid", "job"},
              {"labels", {{api::kWaitLabel, api::kWaitSuspended}}}}},
            {"spec",
             {{"suspend", true},
              {"completionMode", "Indexed"},
              {"completions", pods},
              {"parallelism", pods},
              {"template", PodTemplate(8, StrCat("tp=8,dp=", pods))}}}};
  }
  void SeedJob(int pods, const json& change = json::object()) {
    json job = SuspendedJob(pods);
    job.merge_patch(change);
    client_.Seed(Jobs(), job);
  }
  json Job() { return *client_.Find(Jobs(), "team", "a"); }
  void ChangeJob(const json& change) {
    json job = Job();
    job.merge_patch(change);
    if (change.contains("spec")) {
      job["metadata"]["generation"] = job["metadata"].value("generation", 0) + 1;
    }
    client_.Seed(Jobs(), job);
  }
  bool Suspended() { return Job()["spec"].value("suspend", false); }
  bool IsMarked() {
    return !Job().value("/metadata/annotations/yardmaster.dev~1resumed"_json_pointer, "").empty();
  }

  // As the Job controller makes the pod of an index.
  void MakePod(int index) {
    json pod = Job()["spec"]["template"];
    pod["metadata"]["name"] = StrCat("a-", index, "-x");
    pod["metadata"]["namespace"] = "team";
    pod["metadata"]["uid"] = StrCat("pod-", index);
    pod["metadata"]["labels"] = {{"batch.kubernetes.io/job-name", "a"},
                                 {"batch.kubernetes.io/controller-uid", "job"},
                                 {"batch.kubernetes.io/job-completion-index", StrCat(index)}};
    pod["metadata"]["ownerReferences"] = json::array({{{"apiVersion", "batch/v1"},
                                                       {"kind", "Job"},
                                                       {"name", "a"},
                                                       {"uid", "job"},
                                                       {"controller", true}}});
    client_.Seed(kube::Pods(), pod);
  }

  // --- What the extender does.
  std::optional<api::Gang> Gang() {
    const auto object = client_.Find(kube::Gangs(), "team", "job-a");
    if (!object) return std::nullopt;
    auto gang = api::DecodeGang(*object);
    EXPECT_TRUE(gang.ok()) << gang.status();
    return gang.ok() ? std::optional(*std::move(gang)) : std::nullopt;
  }
  api::GangPods Pods() { return Gang().value().pods; }
  void Write(const api::Gang& gang) { client_.Seed(kube::Gangs(), api::EncodeGang(gang)); }
  void Place() {
    api::Gang gang = Gang().value();
    ++gang.status.plan_generation;
    gang.status.committed_ms = clock_.WallMs();
    gang.status.assignments.clear();
    for (int rank = 0; rank < gang.job.workers; ++rank) {
      gang.status.assignments.push_back({rank, StrCat("n", rank), "p0", "s0", {0}});
    }
    SetCondition(gang, api::kPlannedCondition, true);
    Write(gang);
  }
  void GiveBack() {
    api::Gang gang = Gang().value();
    gang.status.assignments.clear();
    SetCondition(gang, api::kPlannedCondition, false);
    SetCondition(gang, api::kReleasedCondition, false);
    Write(gang);
  }
  void MarkReleased() {
    api::Gang gang = Gang().value();
    SetCondition(gang, api::kReleasedCondition, true);
    Write(gang);
  }
  void SetCondition(api::Gang& gang, const char* type, bool holds) {
    api::SetCondition(gang.status.conditions,
                      {type, holds ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                       "Because", "it is so", 1, 0},
                      clock_.WallMs());
  }

  // Brings the caches up to date, as the watches would.
  void Sync() {
    kube::Relist(client_, kube::Pods(), cache_->sink(state::Kind::kPod));
    kube::Relist(client_, kube::Gangs(), cache_->sink(state::Kind::kGang));
  }
  absl::StatusOr<std::optional<std::int64_t>> TryTurn(const std::string& kind = "Job") {
    Sync();
    return controller_->Reconcile(WaitKey("team", kind, "a"));
  }
  std::int64_t Turn(const std::string& kind = "Job") {
    const auto again = TryTurn(kind);
    EXPECT_TRUE(again.ok()) << again.status();
    return again.ok() ? again->value_or(0) : 0;
  }
  // Turns until three in a row write nothing, at most twenty.
  void Settle() {
    int quiet = 0;
    for (int i = 0; i < 20 && quiet < 3; ++i) {
      const std::int64_t before = client_.version();
      Turn();
      quiet = client_.version() == before ? quiet + 1 : 0;
    }
    EXPECT_EQ(quiet, 3) << "it never settles";
  }
  int CountNotices(const std::string& reason) const {
    int count = 0;
    for (const WaitNotice& notice : notices_) count += notice.reason == reason ? 1 : 0;
    return count;
  }
  std::string LastNote() const { return notices_.empty() ? "" : notices_.back().note; }

  FakeClock clock_;
  kube::FakeClient client_{clock_};
  std::vector<WaitNotice> notices_;
  std::unique_ptr<state::ClusterCache> cache_;
  std::unique_ptr<WaitController> controller_;
};

}  // namespace yardmaster::op
