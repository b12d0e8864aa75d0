// Rented hosts of a job that does not want them any more, while one of them is lost, or that cannot
// be read.
#include "pkg/operator/capacity/capacity_controller.h"
#include "pkg/operator/capacity/capacity_observer.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class RentalLeaveTest : public JobFixture {
 protected:
  // Both workers run on rented hosts; n1 is lost.
  void Start() {
    SeedJob(2, 8, {{"capacity", {{"maxCostPerHour", "50 USD"}}}});
    json job = Job();
    job["status"]["capacity"] = {
        {"phase", "Provisioned"},
        {"generation", 1},
        {"hosts", json::array({{{"pool", "spot"}, {"type", "Spot"}, {"hosts", 2}}})}};
    client_.Seed(kube::TrainingJobs(), job);
    RunAll();
    SetNode("n1", false);
    Sync();
    clock_.Advance(10'000);
    Sync();
  }
  // Ranks whose pods are removed by force.
  std::vector<int> Forced(const api::TrainingJob& job) {
    StallReason stall;
    api::CheckpointMark checkpoint;
    JobObservation seen =
        JobObserver(*cache_, *hosts_, *marker_, clock_).Observe(job, stall, checkpoint);
    seen.run.suspended = true;
    std::vector<int> ranks;
    for (const Removal& removal : NextStep(seen).remove) {
      if (removal.force) ranks.push_back(removal.rank);
    }
    return ranks;
  }
  int LivePods() {
    Sync();
    return CapacityObserver(*cache_, *hosts_, clock_).Observe(*cache_->FindJob("team/a")).live_pods;
  }
};

TEST_F(RentalLeaveTest, APodOfALostHostGoesByForceWhenTheJobIsSuspendedOrDeleted) {
  Start();
  api::TrainingJob job = *cache_->FindJob("team/a");
  EXPECT_EQ(Forced(job), std::vector<int>{}) << "the rental's step decides";
  job.run.suspended = true;
  EXPECT_EQ(Forced(job), std::vector<int>{1});
  job.run.suspended = false;
  job.metadata.deleted_ms = clock_.WallMs();
  EXPECT_EQ(Forced(job), std::vector<int>{1});
}

TEST_F(RentalLeaveTest, APodThatEndsOnALostHostDoesNotKeepTheHostsRented) {
  Start();
  EXPECT_EQ(LivePods(), 2);
  for (int rank = 0; rank < 2; ++rank) MarkDeleting(rank);
  EXPECT_EQ(LivePods(), 1) << "no kubelet ends the one on n1; it goes with its host";
  SetNode("n1", true);
  EXPECT_EQ(LivePods(), 2);
}

TEST_F(RentalLeaveTest, ClaimsOfAJobThatCannotBeReadStayAndThoseOfAJobThatIsGoneGo) {
  SeedJob(1, 1);
  const auto claim = [this](const char* name, const char* uid, const char* job) {
    client_.Seed(kube::NodeClaims(), {{"apiVersion", "karpenter.sh/v1"},
                                      {"kind", "NodeClaim"},
                                      {"metadata",
                                       {{"name", name},
                                        {"labels", {{api::kRentalLabel, uid}}},
                                        {"annotations", {{api::kRentalJobAnnotation, job}}}}}});
  };
  claim("its-own", "job", "team/a");
  claim("of-its-name-before", "old", "team/a");
  claim("of-none", "gone", "team/b");
  json job = Job();
  job["spec"]["gpusPerWorker"] = "eight";
  client_.Seed(kube::TrainingJobs(), job);
  NewLeader();
  Sync();
  CapacityController capacity(client_, *cache_, *hosts_, clock_, [](const JobNotice&) {});
  client_.SetHook([](const kube::Call& call) -> absl::Status {
    return call.verb == kube::Verb::kGet ? absl::UnavailableError("later") : absl::OkStatus();
  });
  EXPECT_FALSE(capacity.Sweep().ok());
  client_.SetHook({});
  EXPECT_EQ(client_.All(kube::NodeClaims()).size(), 3U) << "what is not known is not removed";
  ASSERT_TRUE(capacity.Sweep().ok());
  const auto left = client_.All(kube::NodeClaims());
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(kube::NameOf(left[0]), "its-own");
}

}  // namespace
}  // namespace yardmaster::op
