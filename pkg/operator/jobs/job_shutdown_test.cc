// In which order a job goes that is deleted.
#include "pkg/api/checkpoint_mark.h"
#include "pkg/kube/testing/kill_at_write.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

const json kAsked = {{"checkpoint", {{"request", "Annotation"}, {"graceSeconds", 100}}}};

class JobShutdownTest : public JobFixture {
 protected:
  void Delete() {
    ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
    if (!Exists()) {
      cache_->Remove(state::Kind::kTrainingJob,
                     json{{"metadata", {{"name", "a"}, {"namespace", "team"}}}});
    }
  }
  bool Exists() { return client_.Find(kube::TrainingJobs(), "team", "a").has_value(); }
  // As RunAll, which asks the job itself how many workers it has.
  void Look() {
    for (int i = 0; i < 6; ++i) {
      if (!Exists()) {
        cache_->Remove(state::Kind::kTrainingJob,
                       json{{"metadata", {{"name", "a"}, {"namespace", "team"}}}});
      }
      Reconcile();
    }
  }
  std::string Asked(int rank) {
    return Pod(rank)["metadata"]["annotations"].value(api::kCheckpointRequestAnnotation, "");
  }
  void WriteCheckpoint() {
    json pod = Pod(0);
    pod["metadata"]["annotations"][api::kCheckpointAnnotation] =
        api::EncodeCheckpointMark({clock_.WallMs() / 1000 * 1000, 20});
    client_.Seed(kube::Pods(), pod);
  }
  int Pods() { return static_cast<int>(client_.All(kube::Pods()).size()); }
};

TEST_F(JobShutdownTest, ItIsAskedForACheckpointThenItsPodsGoThenTheJob) {
  SeedJob(2, 2, kAsked);
  RunAll();
  EXPECT_EQ(Job()["metadata"]["finalizers"], json::array({api::kShutdownFinalizer}));
  Delete();
  ASSERT_TRUE(Exists());
  Look();
  EXPECT_EQ(Pods(), 2) << "they stay until they have written a checkpoint";
  EXPECT_NE(Asked(0), "");
  EXPECT_NE(Asked(1), "");
  clock_.Advance(5'000);
  WriteCheckpoint();
  client_.SetHook([](const kube::Call& call) {
    const bool pod = call.verb == kube::Verb::kDelete && kube::WhereOf(call.target) == "pods";
    return pod ? absl::UnavailableError("later") : absl::OkStatus();
  });
  for (int i = 0; i < 3; ++i) (void)TryReconcile();
  EXPECT_TRUE(Exists()) << "while a pod is there the job, its Service and its hosts stay";
  client_.SetHook({});
  Look();
  EXPECT_EQ(Pods(), 0);
  EXPECT_FALSE(Exists());
}

TEST_F(JobShutdownTest, AJobThatWritesNoCheckpointGoesAfterItsGracePeriod) {
  SeedJob(2, 2, kAsked);
  RunAll();
  Delete();
  Look();
  EXPECT_EQ(Pods(), 2);
  clock_.Advance(100'000);
  Look();
  EXPECT_EQ(Pods(), 0);
  EXPECT_FALSE(Exists());
}

TEST_F(JobShutdownTest, NoPodIsRecreatedForAJobThatIsDeleted) {
  SeedJob(2, 2, kAsked);
  RunAll();
  Delete();
  Look();
  FailPod(1, 1);
  Look();
  EXPECT_FALSE(Exists());
  EXPECT_EQ(Pods(), 0);
}

TEST_F(JobShutdownTest, AJobThatWaitsOrHasEndedGoesImmediately) {
  SeedJob(2, 2, kAsked);
  RunUntilStable();
  Delete();
  Look();
  EXPECT_FALSE(Exists());
  SeedJob(1, 1, kAsked);
  RunAll();
  SetPod(0, "Succeeded", "n0");
  RunUntilStable();
  Delete();
  Look();
  EXPECT_FALSE(Exists());
}

TEST_F(JobShutdownTest, ADeletionThatIsCutAtAnyWriteIsCarriedOnByTheNextLeader) {
  for (int kill_at = 0; kill_at < 6; ++kill_at) {
    SeedJob(2, 2, kAsked);
    NewLeader();
    RunAll();
    Delete();
    {
      kube::KillAtWrite kill(client_, kill_at);
      (void)TryReconcile();
    }
    NewLeader();
    Look();
    clock_.Advance(5'000);
    if (HasPod(0)) WriteCheckpoint();
    NewLeader();
    Look();
    EXPECT_FALSE(Exists()) << kill_at;
    EXPECT_EQ(Pods(), 0) << kill_at;
  }
}

TEST_F(JobShutdownTest, AJobThatIsAskedBySignalIsLeftToTheGarbageCollector) {
  SeedJob(2, 2);
  RunAll();
  EXPECT_FALSE(Job()["metadata"].contains("finalizers"));
  Delete();
  EXPECT_FALSE(Exists());
}

TEST_F(JobShutdownTest, FinalizersOfOthersStay) {
  SeedJob(1, 1, kAsked);
  json job = Job();
  job["metadata"]["finalizers"] = {"example.com/accounting"};
  client_.Seed(kube::TrainingJobs(), job);
  RunAll();
  Delete();
  Look();
  clock_.Advance(100'000);
  Look();
  ASSERT_TRUE(Exists());
  EXPECT_EQ(Job()["metadata"]["finalizers"], json::array({"example.com/accounting"}));
}

TEST_F(JobShutdownTest, AJobThatCannotBeReadAnyMoreIsLeftToTheGarbageCollector) {
  SeedJob(2, 2, kAsked);
  RunAll();
  json job = Job();
  job["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"][api::kGpuResource] = "4";
  client_.Seed(kube::TrainingJobs(), job);
  Look();
  EXPECT_EQ(Reason("Planned"), "Invalid");
  EXPECT_EQ(Pods(), 2) << "a wrong edit ends nothing";
  EXPECT_TRUE(Exists());
  job = Job();
  job["metadata"]["finalizers"].push_back("example.com/accounting");
  client_.Seed(kube::TrainingJobs(), job);
  Delete();
  for (int i = 0; i < 3; ++i) Reconcile();
  EXPECT_EQ(Job()["metadata"]["finalizers"], json::array({"example.com/accounting"}));
}

}  // namespace
}  // namespace yardmaster::op
