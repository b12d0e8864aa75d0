#include "pkg/operator/jobs/job_controller.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/operator/hosts/node_observer.h"
#include "pkg/operator/pods/pod_builder.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class JobControllerTest : public ::testing::Test {
 protected:
  JobControllerTest()
      : client_(clock_),
        marker_(client_, cache_, {}, [](const HostNotice&) {}),
        controller_(client_, cache_, hosts_, marker_, clock_,
                    [this](const JobNotice& notice) { notices_.push_back(notice); }) {
    client_.Seed(
        kube::TrainingJobs(),
        {{"apiVersion", api::kGroupVersion},
         {"kind", "TrainingJob"},
         {"metadata", {{"name", "a"}, {"namespace", "team"}, {"uid", "job"}}},
         {"spec",
          {{"workers", 2},
           {"gpusPerWorker", 8},
           {"recovery",
            {{"hostGraceSeconds", 10},
             {"maxRestarts", 1},
             {"onHostLoss", "Replace"},
             {"onWorkerFailure", "Replace"}}},
           {"template",
            {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}}}}}});
    SetNode("n0", true);
    SetNode("n1", true);
  }

  void SetNode(const std::string& name, bool ready) {
    client_.Seed(kube::Nodes(),
                 {{"apiVersion", "v1"},
                  {"kind", "Node"},
                  {"metadata", {{"name", name}}},
                  {"status",
                   {{"conditions",
                     json::array({{{"type", "Ready"}, {"status", ready ? "True" : "False"}}})}}}});
  }

  // Brings the caches up to date, as the watches would.
  std::optional<std::int64_t> Reconcile() {
    for (const json& o : client_.All(kube::Nodes())) {
      cache_.Deliver(state::Kind::kNode, o);
      ObserveNode(cache_, DefaultFaultRules(), kube::NameOf(o), clock_.SteadyMs(), hosts_);
    }
    for (const auto& pod : cache_.Take().pods) {
      const std::string& name = pod->metadata.name;
      if (!client_.Find(kube::Pods(), "team", name)) {
        cache_.Remove(state::Kind::kPod,
                      json{{"metadata", {{"name", name}, {"namespace", "team"}}}});
      }
    }
    for (const json& o : client_.All(kube::Pods())) cache_.Deliver(state::Kind::kPod, o);
    for (const json& o : client_.All(kube::TrainingJobs())) {
      cache_.Deliver(state::Kind::kTrainingJob, o);
    }
    auto again = controller_.Reconcile("team/a");
    EXPECT_TRUE(again.ok()) << again.status();
    return again.ok() ? *again : std::nullopt;
  }

  void SetSpec(const std::string& field, const json& value) {
    json job = *client_.Find(kube::TrainingJobs(), "team", "a");
    job["spec"][field] = value;
    client_.Seed(kube::TrainingJobs(), job);
  }

  void SetPod(int rank, const std::string& phase, const std::string& node) {
    json pod = *client_.Find(kube::Pods(), "team", PodName("a", rank));
    pod["spec"]["nodeName"] = node;
    pod["spec"].erase("schedulingGates");
    pod["status"]["phase"] = phase;
    client_.Seed(kube::Pods(), pod);
  }
  bool HasPod(int rank) {
    return client_.Find(kube::Pods(), "team", PodName("a", rank)).has_value();
  }
  json Status() { return (*client_.Find(kube::TrainingJobs(), "team", "a"))["status"]; }
  std::string Condition(const std::string& type) {
    const json status = Status();
    for (const json& condition : status["conditions"]) {
      if (condition["type"] == type) return condition["status"];
    }
    return "(none)";
  }

  FakeClock clock_;
  kube::FakeClient client_;
  state::ClusterCache cache_;
  HostHealth hosts_;
  HostMarker marker_;
  std::vector<JobNotice> notices_;
  JobController controller_;
};

TEST_F(JobControllerTest, WorkersAndTheServiceAreMadeOnce) {
  Reconcile();
  EXPECT_TRUE(HasPod(0) && HasPod(1));
  EXPECT_TRUE(client_.Find(kube::Services(), "team", "a").has_value());
  client_.ClearCalls();
  Reconcile();
  Reconcile();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kCreate, "*"), 0);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kCreate, "pods"), 0);
}

TEST_F(JobControllerTest, AnUnchangedStatusIsNotWrittenAgain) {
  Reconcile();
  Reconcile();
  client_.ClearCalls();
  Reconcile();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kPatch, "trainingjobs/status"), 0);
}

TEST_F(JobControllerTest, APodThatIsThereAlreadyIsNotAnError) {
  Reconcile();
  state::ClusterCache behind;  // has not seen the pods yet
  JobController late(client_, behind, hosts_, marker_, clock_, [](const JobNotice&) {});
  behind.Deliver(state::Kind::kTrainingJob, client_.All(kube::TrainingJobs())[0]);
  EXPECT_TRUE(late.Reconcile("team/a").ok());
}

TEST_F(JobControllerTest, RunningWorkersMakeTheConditionTrueAndALostHostDegradesAndMovesTheRank) {
  Reconcile();
  SetPod(0, "Running", "n0");
  SetPod(1, "Running", "n1");
  Reconcile();
  EXPECT_EQ(Condition("Running"), "True");
  SetNode("n1", false);
  auto again = Reconcile();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(*again, 10'000);
  EXPECT_TRUE(HasPod(1)) << "its time is not up yet";
  EXPECT_EQ(Condition("Running"), "False");
  EXPECT_EQ(Condition("Degraded"), "True");
  clock_.Advance(10'000);
  Reconcile();
  EXPECT_FALSE(HasPod(1));
  EXPECT_TRUE(HasPod(0));
  Reconcile();
  EXPECT_TRUE(HasPod(1)) << "made again behind the gate";
  EXPECT_EQ(Status()["restarts"], 0);
}

TEST_F(JobControllerTest, AHostThatComesBackInTimeLosesNothing) {
  Reconcile();
  SetPod(0, "Running", "n0");
  SetPod(1, "Running", "n1");
  SetNode("n1", false);
  Reconcile();
  clock_.Advance(9'000);
  SetNode("n1", true);
  Reconcile();
  SetNode("n1", false);
  clock_.Advance(5'000);
  Reconcile();
  EXPECT_TRUE(HasPod(1)) << "the time begins again";
}

TEST_F(JobControllerTest, AFailedWorkerIsMadeAgainAndThenTheJobFails) {
  Reconcile();
  SetPod(0, "Failed", "n0");
  SetPod(1, "Running", "n1");
  Reconcile();
  EXPECT_FALSE(HasPod(0));
  EXPECT_EQ(Status()["restarts"], 1);
  Reconcile();
  SetPod(0, "Failed", "n0");
  Reconcile();
  EXPECT_EQ(Condition("Failed"), "(none)") << "decided, and not done yet";
  Reconcile();
  EXPECT_EQ(Condition("Failed"), "True");
  EXPECT_FALSE(HasPod(1)) << "what still ran is removed";
  client_.ClearCalls();
  Reconcile();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kCreate, "pods"), 0);
}

TEST_F(JobControllerTest, TheJobSucceedsWithItsWorkers) {
  Reconcile();
  SetPod(0, "Succeeded", "n0");
  SetPod(1, "Succeeded", "n1");
  Reconcile();
  EXPECT_EQ(Condition("Succeeded"), "True");
  ASSERT_FALSE(notices_.empty());
  EXPECT_EQ(notices_.back().reason, "Succeeded");
}

TEST_F(JobControllerTest, AHostLostByPolicyRestartsEveryWorkerOnce) {
  SetSpec("recovery", {{"hostGraceSeconds", 10}, {"onHostLoss", "Restart"}, {"inPlaceSeconds", 0}});
  Reconcile();
  SetPod(0, "Running", "n0");
  SetPod(1, "Running", "n1");
  SetNode("n1", false);
  Reconcile();
  clock_.Advance(10'000);
  Reconcile();
  EXPECT_FALSE(HasPod(0));
  EXPECT_FALSE(HasPod(1));
  Reconcile();
  EXPECT_TRUE(HasPod(0) && HasPod(1));
  client_.ClearCalls();
  Reconcile();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kDelete, "pods"), 0) << "they wait now";
  EXPECT_EQ(Condition("Failed"), "(none)");
}

TEST_F(JobControllerTest, AHostLostByPolicyFailsTheJobAndSaysThatItWasTheHost) {
  SetSpec("recovery", {{"hostGraceSeconds", 10}, {"onHostLoss", "Fail"}});
  Reconcile();
  SetPod(0, "Running", "n0");
  SetPod(1, "Running", "n1");
  SetNode("n1", false);
  Reconcile();
  EXPECT_EQ(Condition("Failed"), "(none)");
  clock_.Advance(10'000);
  Reconcile();
  Reconcile();
  EXPECT_EQ(Condition("Failed"), "True");
  EXPECT_FALSE(HasPod(0));
  ASSERT_FALSE(notices_.empty());
  EXPECT_EQ(notices_.back().reason, "Failed");
  EXPECT_NE(notices_.back().note.find("lost host n1: the job fails"), std::string::npos);
  Reconcile();
  EXPECT_FALSE(HasPod(0)) << "no worker is made again";
}

TEST_F(JobControllerTest, AJobThatContradictsItselfMakesNoPodsAndHearsWhyOnce) {
  SetSpec("parallelism", {{"tensor", 8}, {"data", 3}});
  Reconcile();
  Reconcile();
  EXPECT_FALSE(HasPod(0));
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_EQ(notices_[0].reason, "Invalid");
  EXPECT_TRUE(notices_[0].warning);
  EXPECT_NE(notices_[0].note.find("spec.parallelism"), std::string::npos) << notices_[0].note;
  EXPECT_EQ(Condition("Planned"), "False");
  SetSpec("parallelism", {{"tensor", 8}, {"data", 2}});
  Reconcile();
  EXPECT_TRUE(HasPod(0)) << "mended";
}

TEST_F(JobControllerTest, AStoppedGangShowsInTheJob) {
  Reconcile();
  api::Gang gang;
  gang.metadata.name = "trainingjob-a";
  gang.metadata.namespace_name = "team";
  gang.owner = {api::kGroupVersion, "TrainingJob", "a", "job", true};
  gang.job.workers = 2;
  gang.status.conditions = {
      {"Planned", api::ConditionStatus::kFalse, "Preempted", "made room", 0, 0},
      {api::kPreemptedCondition, api::ConditionStatus::kTrue, "Stopped", "made room", 0, 0}};
  cache_.Deliver(state::Kind::kGang, api::EncodeGang(gang));
  Reconcile();
  EXPECT_EQ(Condition("Preempted"), "True");
  EXPECT_EQ(Condition("Planned"), "False");
}

}  // namespace
}  // namespace yardmaster::op
