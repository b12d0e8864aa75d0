#include "pkg/operator/standby/standby_controller.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/standby.h"
#include "pkg/kube/testing/kill_at_write.h"
#include "pkg/operator/testing/moving_job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

constexpr std::int64_t kHourMs = 3'600'000;

// A job of two on n0 and n1 that has run for a while. Host n5 is a backup host, n2 to n4 are free.
class StandbyControllerTest : public MovingJobFixture {
 protected:
  StandbyControllerTest() { NextLeader(); }

  // Another process, which knows nothing of what this one has done.
  void NextLeader() {
    standbys_ = std::make_unique<StandbyController>(
        client_, *cache_, clock_, [this](const JobNotice& notice) { notices_.push_back(notice); },
        [this] { return leads_; });
  }
  void Run(const json& spec = {{"recovery", {{"standby", 1}}}}) {
    RunJob(spec);
    SetBackup("n5");
    Look();
  }
  void SetBackup(const std::string& name) {
    json node = *client_.Find(kube::Nodes(), "", name);
    node["metadata"]["labels"][api::kBackupKey] = "true";
    client_.Seed(kube::Nodes(), node);
  }
  RunResult TryRound() {
    Sync();
    return standbys_->RunOnce();
  }
  // Rounds until nothing more is written.
  void Look() {
    for (int i = 0; i < 6; ++i) {
      const std::int64_t before = client_.version();
      const RunResult result = TryRound();
      EXPECT_TRUE(result.ok()) << result.failures[0].error;
      if (client_.version() == before) return;
    }
    ADD_FAILURE() << "every round writes";
  }
  // The hosts that are wanted have settled.
  void Settle() {
    Look();
    clock_.Advance(kSettleMs);
    Look();
  }
  std::vector<json> Standbys() {
    std::vector<json> out;
    for (const json& pod : client_.All(kube::Pods())) {
      if (pod["metadata"].value("/labels/yardmaster.dev~1standby"_json_pointer, "") == "a") {
        out.push_back(pod);
      }
    }
    return out;
  }
  static std::string HostOf(const json& pod) {
    return pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
              ["nodeSelectorTerms"][0]["matchFields"][0]["values"][0];
  }
  std::vector<std::string> StandbyHosts() {
    std::vector<std::string> out;
    for (const json& pod : Standbys()) out.push_back(HostOf(pod));
    std::sort(out.begin(), out.end());
    return out;
  }
  // As kube-scheduler and the kubelet do once it has the images.
  void StartStandbys() {
    for (json pod : Standbys()) {
      pod["spec"]["nodeName"] = HostOf(pod);
      pod["status"]["phase"] = "Running";
      client_.Seed(kube::Pods(), pod);
    }
  }
  json StandbyStatus() { return Status().value("standby", json::array()); }
  std::string StateOf(std::size_t i) {
    const json status = StandbyStatus();
    return i < status.size() ? status[i].value("state", "") : "(none)";
  }
  // What a failed rank would see: the extender gives rank 1 the host.
  void Replace(int rank, const std::string& host) {
    api::Gang gang = Gang().value();
    gang.status.assignments[static_cast<std::size_t>(rank)].host = host;
    ++gang.status.plan_generation;
    Write(gang);
    SetPod(rank, "Running", host);
  }

  bool leads_ = true;
  std::unique_ptr<StandbyController> standbys_;
};

TEST_F(StandbyControllerTest, TheImagesArePulledOnTheHostThatAReplacementWouldUse) {
  Run();
  EXPECT_EQ(StandbyHosts(), Hosts({"n5"}));
  EXPECT_EQ(StateOf(0), "Pulling");
  StartStandbys();
  Look();
  EXPECT_EQ(StateOf(0), "Ready");
  EXPECT_EQ(StandbyStatus()[0]["host"], "n5");
  // The job does not see it.
  const std::int64_t before = client_.version();
  RunUntilStable();
  EXPECT_EQ(client_.version(), before);
  EXPECT_EQ(Condition("Running"), "True");
}

TEST_F(StandbyControllerTest, AJobThatDoesNotAskHasNone) {
  Run(json::object());
  EXPECT_TRUE(Standbys().empty());
  EXPECT_FALSE(Status().contains("standby"));
}

TEST_F(StandbyControllerTest, TwoStandOnDifferentHosts) {
  Run({{"recovery", {{"standby", 2}}}});
  EXPECT_EQ(StandbyHosts(), Hosts({"n2", "n5"}));
}

TEST_F(StandbyControllerTest, OnceItsHostIsUsedTheNextOneIsPrepared) {
  Run();
  StartStandbys();
  Look();
  // Until rank 1 has its next host the standby stays.
  SetNode("n1", false);
  Settle();
  EXPECT_EQ(StandbyHosts(), Hosts({"n5"}));
  EXPECT_EQ(StateOf(0), "Ready");
  Replace(1, "n5");
  Settle();
  EXPECT_EQ(StandbyHosts(), Hosts({"n2"}));
  EXPECT_EQ(StandbyStatus()[0]["host"], "n2");
  EXPECT_EQ(StateOf(0), "Pulling");
}

TEST_F(StandbyControllerTest, ItLeavesAHostThatIsGoneForLongerThanAMoment) {
  Run();
  SetNode("n5", false);
  Look();
  SetNode("n5", true);
  Settle();
  EXPECT_EQ(StandbyHosts(), Hosts({"n5"}));
  SetNode("n5", false);
  Settle();
  EXPECT_EQ(StandbyHosts(), Hosts({"n2"}));
}

TEST_F(StandbyControllerTest, AHostThatTheJobAvoidsIsNotPrepared) {
  Run();
  json job = Job();
  job["status"]["recovery"]["avoidedHosts"] =
      json::array({{{"host", "n5"}, {"until", FormatTime(clock_.WallMs() + kHourMs)}}});
  client_.Seed(kube::TrainingJobs(), job);
  Settle();
  EXPECT_EQ(StandbyHosts(), Hosts({"n2"}));
}

TEST_F(StandbyControllerTest, ASuspendedJobAndOneThatHasEndedHaveNone) {
  Run();
  ASSERT_EQ(Standbys().size(), 1u);
  Suspend(true);
  Look();
  EXPECT_TRUE(Standbys().empty());
  EXPECT_FALSE(Status().contains("standby"));
  Suspend(false);
  Look();
  ASSERT_EQ(Standbys().size(), 1u);
  for (int rank = 0; rank < 2; ++rank) SetPod(rank, "Succeeded", StrCat("n", rank));
  RunUntilStable();
  ASSERT_EQ(Condition("Succeeded"), "True");
  Look();
  EXPECT_TRUE(Standbys().empty());
}

TEST_F(StandbyControllerTest, AFieldThatGoesBackToZeroRemovesIt) {
  Run();
  Change({{"recovery", {{"standby", 0}}}});
  Look();
  EXPECT_TRUE(Standbys().empty());
  EXPECT_FALSE(Status().contains("standby"));
}

TEST_F(StandbyControllerTest, WithoutAFreeHostTheStatusSaysSo) {
  Run();
  for (int i = 2; i < 6; ++i) SetNode(StrCat("n", i), false);
  Settle();
  EXPECT_TRUE(Standbys().empty());
  EXPECT_EQ(StateOf(0), "NoHost");
}

TEST_F(StandbyControllerTest, ARefusedPodIsAnEventAndDoesNotStopTheJob) {
  client_.SetHook([](const kube::Call& call) {
    const bool is_standby = call.verb == kube::Verb::kCreate &&
                            kube::WhereOf(call.target) == "pods" &&
                            call.body["metadata"]["labels"].contains(api::kStandbyLabel);
    return is_standby ? absl::PermissionDeniedError("exceeded quota: pods") : absl::OkStatus();
  });
  Run();
  EXPECT_EQ(StateOf(0), "Refused");
  EXPECT_NE(StandbyStatus()[0]["message"].get<std::string>().find("exceeded quota"),
            std::string::npos);
  EXPECT_EQ(CountNotices("StandbyRefused"), 1);
  EXPECT_EQ(Condition("Running"), "True");
  client_.ClearCalls();
  Look();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kCreate, "pods"), 0) << "tried again at once";
  clock_.Advance(60'000);
  Look();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kCreate, "pods"), 1);
  NextLeader();
  Look();
  EXPECT_EQ(client_.CountCalls(kube::Verb::kCreate, "pods"), 2);
  EXPECT_EQ(CountNotices("StandbyRefused"), 1) << "one for the same pod";
  client_.SetHook({});
  clock_.Advance(kHourMs);
  Look();
  EXPECT_EQ(StateOf(0), "Pulling");
}

TEST_F(StandbyControllerTest, ASlowWriteDoesNotPutTheNextRoundOff) {
  RunJob({{"recovery", {{"standby", 2}}}});
  SetBackup("n5");
  client_.SetHook([this](const kube::Call& call) {
    if (call.verb == kube::Verb::kCreate) clock_.Advance(30'000);
    return absl::OkStatus();
  });
  EXPECT_EQ(TryRound().done, 1);
  EXPECT_EQ(TryRound().done, 1);
}

TEST_F(StandbyControllerTest, ALostAnswerMakesNoSecondPod) {
  RunJob({{"recovery", {{"standby", 1}}}});
  SetBackup("n5");
  client_.FailNext(kube::Verb::kCreate, "pods", absl::DeadlineExceededError("no answer"), 1,
                   kube::FaultWhen::kAfterEffect);
  EXPECT_FALSE(TryRound().ok());
  Look();
  EXPECT_EQ(Standbys().size(), 1u);
}

TEST_F(StandbyControllerTest, AProcessThatDoesNotLeadWritesNothing) {
  RunJob({{"recovery", {{"standby", 1}}}});
  leads_ = false;
  const std::int64_t before = client_.version();
  (void)TryRound();
  EXPECT_EQ(client_.version(), before);
}

TEST_F(StandbyControllerTest, APodOfSomeoneElseUnderItsNameIsSaidAndLeftAlone) {
  Run();
  json pod = Standbys().at(0);
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", pod["metadata"]["name"], ""}, {}).ok());
  pod["metadata"].erase("ownerReferences");
  pod["metadata"]["uid"] = "other";
  client_.Seed(kube::Pods(), pod);
  Look();
  EXPECT_EQ(StateOf(0), "Refused");
  EXPECT_NE(StandbyStatus()[0]["message"].get<std::string>().find("does not belong to this job"),
            std::string::npos);
  EXPECT_EQ(Standbys().at(0)["metadata"]["uid"], "other");
  EXPECT_EQ(CountNotices("StandbyRefused"), 1);
}

TEST_F(StandbyControllerTest, APodWithTheLabelThatIsOfNoJobIsLeftAlone) {
  Run();
  client_.Seed(
      kube::Pods(),
      {{"metadata",
        {{"name", "mine"}, {"namespace", "team"}, {"labels", {{api::kStandbyLabel, "a"}}}}},
       {"spec", json::object()}});
  Suspend(true);
  Look();
  ASSERT_EQ(Standbys().size(), 1u);
  EXPECT_EQ(Standbys()[0]["metadata"]["name"], "mine");
}

// The process is killed at each of its writes, and two lead at once; the end is the same.
class StandbyCrashTest : public StandbyControllerTest, public ::testing::WithParamInterface<int> {};

TEST_P(StandbyCrashTest, TheNextLeaderGoesOn) {
  RunJob({{"recovery", {{"standby", 2}}}});
  SetBackup("n5");
  const auto killed = [&] {
    {
      kube::KillAtWrite kill(client_, GetParam());
      for (int i = 0; i < 3; ++i) (void)TryRound();
    }
    NextLeader();
  };
  killed();
  Settle();
  EXPECT_EQ(StandbyHosts(), Hosts({"n2", "n5"}));
  StartStandbys();
  Look();
  SetNode("n1", false);
  Look();
  Replace(1, "n5");
  Look();
  clock_.Advance(kSettleMs);
  killed();
  Settle();
  EXPECT_EQ(StandbyHosts(), Hosts({"n2", "n3"}));
  Suspend(true);
  killed();
  Look();
  EXPECT_TRUE(Standbys().empty());
  EXPECT_FALSE(Status().contains("standby"));
}

INSTANTIATE_TEST_SUITE_P(EveryWrite, StandbyCrashTest, ::testing::Range(0, 6));

TEST_F(StandbyControllerTest, TwoProcessesThatBothBelieveToLeadMakeOnePod) {
  RunJob({{"recovery", {{"standby", 1}}}});
  SetBackup("n5");
  Sync();
  state::ClusterCache behind;
  for (const json& o : client_.All(kube::Nodes())) behind.Deliver(state::Kind::kNode, o);
  for (const json& o : client_.All(kube::Gangs())) behind.Deliver(state::Kind::kGang, o);
  for (const json& o : client_.All(kube::Pods())) behind.Deliver(state::Kind::kPod, o);
  for (const json& o : client_.All(kube::TrainingJobs())) {
    behind.Deliver(state::Kind::kTrainingJob, o);
  }
  StandbyController other(
      client_, behind, clock_, [](const JobNotice&) {}, [] { return true; });
  EXPECT_TRUE(standbys_->RunOnce().ok());
  EXPECT_TRUE(other.RunOnce().ok());
  EXPECT_EQ(Standbys().size(), 1u);
  Look();
  EXPECT_EQ(Standbys().size(), 1u);
}

TEST_F(StandbyControllerTest, TheStatusOfAJobThatAnotherControllerRunsIsLeftAlone) {
  SeedJob(2, 6, {{"recovery", {{"standby", 1}}}, {"managedBy", "kueue.x-k8s.io/multikueue"}});
  json job = *client_.Find(kube::TrainingJobs(), "team", "a");
  job["status"]["standby"] = json::parse(R"([{"state": "Ready", "host": "far", "pod": "p"}])");
  client_.Seed(kube::TrainingJobs(), job);
  const std::int64_t before = client_.version();
  Look();
  EXPECT_EQ(client_.version(), before);
}

TEST_F(StandbyControllerTest, APodOfAnotherNamespaceThatNamesTheJobIsNotItsStandby) {
  Run();
  json pod = Standbys().at(0);
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", pod["metadata"]["name"], ""}, {}).ok());
  pod["metadata"]["namespace"] = "other";
  pod["metadata"]["uid"] = "forged";
  pod["status"] = {{"phase", "Running"}};
  client_.Seed(kube::Pods(), pod);
  Look();
  EXPECT_EQ(Standbys().size(), 2u) << "the job's own is made again";
  EXPECT_EQ(StateOf(0), "Pulling");
}

}  // namespace
}  // namespace yardmaster::op
