// Elastic jobs: smaller while a substitute is missing, larger when there is one, and as people
// scale them. One data group is one GPU here, a worker has eight.
#include "pkg/api/gang.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class JobElasticTest : public JobFixture {
 protected:
  void SeedElastic(int workers, int hosts, int min_workers, int max_workers) {
    SeedJob(workers, hosts,
            {{"elastic", {{"minData", 8 * min_workers}, {"maxData", 8 * max_workers}}}});
  }
  int Size() { return Status()["elastic"]["data"].get<int>() / 8; }
  void RunRanks(const std::vector<std::string>& hosts) {
    for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
      SetPod(static_cast<int>(rank), "Running", hosts[rank]);
    }
    RunUntilStable();
  }
  void LoseHost(const std::string& host) {
    SetNode(host, false);
    RunUntilStable();
    clock_.Advance(10'000);
    RunUntilStable();
  }
  void Scale(int workers) {
    json job = Job();
    job["spec"]["workers"] = workers;
    client_.Seed(kube::TrainingJobs(), job);
    RunUntilStable();
  }
  int Pods() { return static_cast<int>(client_.All(kube::Pods()).size()); }
};

TEST_F(JobElasticTest, WithoutASubstituteItGoesOnSmallerAndGrowsWhenTheHostIsBack) {
  SeedElastic(3, 3, 1, 3);
  RunUntilStable();
  RunRanks({"n0", "n1", "n2"});
  ASSERT_EQ(Condition("Running"), "True");
  LoseHost("n1");
  EXPECT_EQ(Size(), 3) << "a substitute may come";
  clock_.Advance(60'000);
  RunUntilStable();
  EXPECT_EQ(Size(), 2);
  EXPECT_EQ(Pods(), 2);
  EXPECT_EQ(CountNotices("Resizing"), 1);
  std::string world_size;
  const json pod = Pod(1);
  for (const json& variable : pod["spec"]["containers"][0]["env"]) {
    if (variable["name"] == "WORLD_SIZE") world_size = variable["value"];
  }
  EXPECT_EQ(world_size, "2");
  RunRanks({"n0", "n2"});
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Status()["workers"], 2);
  EXPECT_EQ(Job()["spec"]["workers"], 3) << "what it wishes for stays";
  clock_.Advance(600'000);
  RunUntilStable();
  EXPECT_EQ(Size(), 2) << "there is no room";
  SetNode("n1", true);
  RunUntilStable();
  clock_.Advance(30'000);
  RunUntilStable();
  EXPECT_EQ(Size(), 3);
  RunRanks({"n0", "n1", "n2"});
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Condition("Failed"), "(none)");
  EXPECT_EQ(Status()["restarts"], 0);
}

TEST_F(JobElasticTest, ItDoesNotGrowWhileAnotherJobWaits) {
  SeedElastic(3, 3, 1, 3);
  RunUntilStable();
  json other = Job();
  other["metadata"] = {{"name", "b"}, {"namespace", "team"}, {"uid", "other"}};
  other["spec"]["workers"] = 50;
  other["spec"].erase("elastic");
  other.erase("status");
  client_.Seed(kube::TrainingJobs(), other);
  SetNode("n2", false);
  clock_.Advance(60'000);
  RunUntilStable();
  ASSERT_EQ(Size(), 2);
  RunRanks({"n0", "n1"});
  SetNode("n2", true);
  RunUntilStable();
  clock_.Advance(3'600'000);
  RunUntilStable();
  EXPECT_EQ(Size(), 2);
}

TEST_F(JobElasticTest, ItIsScaledDownAtOnceAndUpWithinItsBounds) {
  SeedElastic(2, 4, 1, 3);
  RunUntilStable();
  RunRanks({"n0", "n1"});
  Scale(1);
  EXPECT_EQ(Size(), 1);
  EXPECT_EQ(Pods(), 1);
  RunRanks({"n0"});
  Scale(4);
  EXPECT_EQ(Size(), 1);
  clock_.Advance(600'000);
  RunUntilStable();
  EXPECT_EQ(Size(), 3) << "maxData";
}

TEST_F(JobElasticTest, NoPodIsMadeBeforeTheHostsOfTheOldSizeAreGivenBack) {
  SeedElastic(2, 2, 1, 2);
  RunUntilStable();
  api::Gang gang = SeedGangOfTwo();
  RunRanks({"n0", "n1"});
  Scale(1);
  EXPECT_EQ(Pods(), 0);
  EXPECT_EQ(Status()["elastic"]["targetData"], 8);
  EXPECT_EQ(Condition("Suspended"), "(none)") << "that word is the user's";
  gang.status.plan_generation = 0;
  gang.status.assignments.clear();
  client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  RunUntilStable();
  EXPECT_EQ(Pods(), 1);
  EXPECT_EQ(Status()["elastic"]["targetData"], 0);
}

TEST_F(JobElasticTest, ARunningJobIsAskedForACheckpointBeforeItIsResized) {
  SeedJob(2, 2,
          {{"elastic", {{"minData", 8}, {"maxData", 16}}},
           {"checkpoint", {{"request", "Annotation"}, {"graceSeconds", 60}}}});
  RunUntilStable();
  RunRanks({"n0", "n1"});
  Scale(1);
  EXPECT_EQ(Pods(), 2);
  EXPECT_TRUE(Pod(0)["metadata"]["annotations"].contains(api::kCheckpointRequestAnnotation));
  clock_.Advance(61'000);
  RunUntilStable();
  EXPECT_EQ(Pods(), 1);
}

TEST_F(JobElasticTest, AChangeOfSizeDoesNotBeginTheDeadlineAgain) {
  SeedJob(2, 2, {{"elastic", {{"minData", 8}, {"maxData", 16}}}, {"activeDeadlineSeconds", 900}});
  RunUntilStable();
  RunRanks({"n0", "n1"});
  const json start = Status()["startTime"];
  clock_.Advance(500'000);
  Scale(1);
  RunRanks({"n0"});
  ASSERT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Status()["startTime"], start);
  clock_.Advance(400'000);
  RunUntilStable();
  EXPECT_EQ(Reason("Failed"), "DeadlineExceeded");
}

TEST_F(JobElasticTest, AnIncidentThatIsDecidedWhenTheJobMayGrowHasItsEvent) {
  SeedJob(2, 3,
          {{"elastic", {{"minData", 8}, {"maxData", 24}}},
           {"recovery", {{"onHostLoss", "Replace"}, {"onWorkerFailure", "Replace"}}}});
  RunUntilStable();
  SeedGangOfTwo();
  RunRanks({"n0", "n1"});
  json job = Job();
  job["spec"]["workers"] = 3;
  client_.Seed(kube::TrainingJobs(), job);
  RunUntilStable();
  ASSERT_EQ(Size(), 2) << "it has not run long enough";
  clock_.Advance(600'000);
  FailPod(1, 1);
  Reconcile();
  EXPECT_EQ(Status()["recovery"]["incidents"].size(), 1u);
  EXPECT_EQ(CountNotices("Recovering"), 1);
}

TEST_F(JobElasticTest, ARankThatFoundNoRoomGoesAlsoWhereTheJobEndsFirst) {
  SeedElastic(2, 2, 1, 3);
  RunUntilStable();
  RunRanks({"n0", "n1"});
  json extra = Pod(1);
  extra["metadata"]["name"] = PodName("a", 2);
  extra["metadata"]["uid"] = "extra";
  extra["spec"].erase("nodeName");
  extra["status"]["phase"] = "Pending";
  client_.Seed(kube::Pods(), extra);
  json job = Job();
  job["status"]["elastic"]["previousData"] = 24;
  client_.Seed(kube::TrainingJobs(), job);
  for (int rank : {0, 1}) SetPod(rank, "Succeeded", StrCat("n", rank));
  client_.FailNext(kube::Verb::kDelete, "pods", absl::UnavailableError("later"));
  EXPECT_FALSE(TryReconcile().ok());
  ASSERT_EQ(Condition("Succeeded"), "True");
  RunUntilStable();
  EXPECT_FALSE(HasPod(2));
}

TEST_F(JobElasticTest, RentedHostsAreGivenBackBeforeTheJobHasItsNextSize) {
  SeedElastic(2, 2, 1, 2);
  RunUntilStable();
  RunRanks({"n0", "n1"});
  const auto rent = [this](const char* phase) {
    json job = Job();
    job["status"]["capacity"] = {
        {"phase", phase},
        {"generation", 1},
        {"hosts", json::array({{{"pool", "spot"}, {"type", "Spot"}, {"hosts", 2}}})}};
    client_.Seed(kube::TrainingJobs(), job);
  };
  rent("Provisioned");
  Scale(1);
  EXPECT_EQ(Pods(), 0);
  EXPECT_EQ(Size(), 2);
  EXPECT_EQ(Status()["elastic"]["targetData"], 8);
  rent("None");
  RunUntilStable();
  EXPECT_EQ(Size(), 1);
  EXPECT_EQ(Pods(), 1);
}

}  // namespace
}  // namespace yardmaster::op
