// Random histories of a job: hosts come and go, workers fail and are deleted, containers restart in
// place or wait to, the job is suspended and resumed, and the operator is killed at random writes
// all the time. When the cluster is well again the job runs in full after any history, and no
// failure has been counted twice.
#include <set>

#include "pkg/base/random.h"
#include "pkg/base/testing/rounds.h"
#include "pkg/kube/testing/kill_at_write.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

constexpr int kWorkers = 5;
constexpr int kHosts = 12;
constexpr int kEvents = 40;

class JobHistoryTest : public JobFixture, public ::testing::WithParamInterface<int> {
 protected:
  JobHistoryTest() : random_(static_cast<std::uint64_t>(GetParam())) {}

  int Below(int bound) {
    return static_cast<int>(random_.Below(static_cast<std::uint64_t>(bound)));
  }
  // As extender, kube-scheduler and kubelets would: each waiting rank runs on a free host that is
  // Ready.
  void RunWaiting() {
    std::set<std::string> taken;
    for (int rank = 0; rank < kWorkers; ++rank) {
      if (HasPod(rank)) taken.insert(Pod(rank)["spec"].value("nodeName", ""));
    }
    for (int rank = 0; rank < kWorkers; ++rank) {
      if (!HasPod(rank) || Phase(rank) == "Running" || Phase(rank) == "Failed") continue;
      for (int host = 0; host < kHosts; ++host) {
        const std::string name = StrCat("n", host);
        if (lost_.count(name) != 0 || !taken.insert(name).second) continue;
        SetPod(rank, "Running", name);
        break;
      }
    }
  }
  void Event() {
    const int rank = Below(kWorkers);
    const std::string host = StrCat("n", Below(kHosts));
    switch (Below(10)) {
      case 0:
        if (Phase(rank) != "Running") return;
        FailPod(rank, 1 + Below(200));
        ++failures_;
        return;
      case 1:
        if (lost_.size() >= 2) return;
        lost_.insert(host);
        return SetNode(host, false);
      case 2:
        lost_.erase(host);
        return SetNode(host, true);
      case 3:
        if (HasPod(rank))
          client_.Delete({kube::Pods(), "team", PodName("a", rank), ""}, {}).IgnoreError();
        return;
      case 4:
        return Suspend(Below(2) == 0);
      case 5:
        return clock_.Advance(1'000 * (1 + Below(30)));
      case 6:
        RestartAsAsked(lost_);
        return;
      case 7:
        if (Phase(rank) != "Running" || !in_place_) return;
        EndContainer(rank, 1 + Below(200), Below(2) == 0);
        ++failures_;
        return;
      default:
        return RunWaiting();
    }
  }
  // The process goes on until it is killed at a random write.
  void ReconcileAndBeKilled() {
    {
      kube::KillAtWrite kill(client_, Below(6));
      (void)TryReconcile();
    }
    NewLeader();
  }

  // Kubelets start the containers that waited.
  void EndBackoffs() {
    for (int rank = 0; rank < kWorkers; ++rank) {
      if (Phase(rank) != "Running") continue;
      json pod = Pod(rank);
      const json::json_pointer container("/status/containerStatuses/0");
      if (!pod.contains(container) || !pod[container]["state"].contains("waiting")) continue;
      pod[container]["restartCount"] = pod[container]["restartCount"].get<int>() + 1;
      pod[container]["state"] = {{"running", json::object()}};
      started_for_[Uid(rank)] = GenerationOf(pod);
      client_.Seed(kube::Pods(), pod);
    }
  }

  Random random_;
  const bool in_place_ = GetParam() % 3 != 0;
  std::set<std::string> lost_;
  int failures_ = 0;
};

TEST_P(JobHistoryTest, InTheEndTheJobRunsInFullAndNoFailureIsCountedTwice) {
  SeedJob(kWorkers, kHosts,
          {{"recovery",
            {{"maxRestarts", 10'000},
             {"backoffSeconds", 0},
             {"inPlaceSeconds", in_place_ ? 45 : 0},
             {"onHostLoss", GetParam() % 2 == 0 ? "Replace" : "Restart"}}}});
  std::int64_t attempt = 0;
  for (int event = 0; event < kEvents; ++event) {
    Event();
    if (Below(4) == 0) {
      ReconcileAndBeKilled();
    } else {
      Reconcile();
    }
    const std::int64_t now = Status().value("/recovery/attempt"_json_pointer, std::int64_t{0});
    ASSERT_GE(now, attempt) << "an attempt is never taken back";
    attempt = now;
  }
  for (const std::string& host : lost_) SetNode(host, true);
  lost_.clear();
  Suspend(false);
  for (int i = 0; i < 10; ++i) {
    RunUntilStable();
    RestartAsAsked();
    EndBackoffs();
    RunWaiting();
    clock_.Advance(30'000);
  }
  RunUntilStable();
  EXPECT_EQ(Condition("Running"), "True") << Job().dump(1);
  EXPECT_NE(Condition("Failed"), "True");
  EXPECT_LE(Status()["restarts"], failures_);
  std::set<std::string> hosts;
  for (int rank = 0; rank < kWorkers; ++rank) {
    EXPECT_EQ(Phase(rank), "Running") << rank;
    hosts.insert(Pod(rank)["spec"]["nodeName"].get<std::string>());
  }
  EXPECT_EQ(hosts.size(), static_cast<std::size_t>(kWorkers));
}

// About ten kills each.
INSTANTIATE_TEST_SUITE_P(Seeds, JobHistoryTest, ::testing::Range(0, Rounds(100)));

}  // namespace
}  // namespace yardmaster::op
