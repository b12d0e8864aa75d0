// What must not happen to a healthy job: broken sensors, ranks that die together, processes that
// end in the middle of a decision, pods that are stopped from outside.
#include <atomic>
#include <utility>

#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class JobFaultsTest : public JobFixture {
 protected:
  int PodsWithUidsOf(const std::map<int, std::string>& before) {
    int kept = 0;
    for (const auto& [rank, uid] : before) kept += Uid(rank) == uid ? 1 : 0;
    return kept;
  }
};

const json kReplace = {{"recovery", {{"onHostLoss", "Replace"}}}};

TEST_F(JobFaultsTest, WhenALargeShareOfTheHostsIsLostAtOnceNothingIsRemoved) {
  SeedJob(40, 40, kReplace);
  RunAll();
  const auto before = Uids();
  for (int i = 0; i < 12; ++i) SetNode(StrCat("n", i), false);
  RunUntilStable();
  clock_.Advance(3'600'000);
  RunUntilStable();
  EXPECT_EQ(PodsWithUidsOf(before), 40);
}

TEST_F(JobFaultsTest, NoMoreHostsAreReplacedInAMinuteThanTheCapAllows) {
  SeedJob(100, 100, kReplace);
  RunAll();
  const auto before = Uids();
  for (int i = 0; i < 9; ++i) SetNode(StrCat("n", i), false);
  RunUntilStable();
  clock_.Advance(10'000);
  RunUntilStable();
  EXPECT_EQ(PodsWithUidsOf(before), 96) << "four a minute";
  clock_.Advance(60'000);
  RunUntilStable();
  EXPECT_EQ(PodsWithUidsOf(before), 92);
}

TEST_F(JobFaultsTest, ANodeThatCannotBeReadIsUnknownAndNotLost) {
  SeedJob(2, 2, kReplace);
  json node = NodeObject("n1", true);
  node["spec"]["taints"] = json::array({{{"key", "x"}, {"effect", "NewEffectOfALaterVersion"}}});
  client_.Seed(kube::Nodes(), node);
  RunAll();
  const auto before = Uids();
  RunUntilStable();
  clock_.Advance(3'600'000);
  RunUntilStable();
  EXPECT_EQ(PodsWithUidsOf(before), 2);
}

TEST_F(JobFaultsTest, TheTimeOfALostHostBeginsAgainWhenItWasReadyMeanwhile) {
  SeedJob(2, 2, kReplace);
  RunAll();
  const auto before = Uids();
  SetNode("n1", false);
  RunUntilStable();
  SetNode("n1", true);
  Sync();  // another process leads: nothing is reconciled here
  clock_.Advance(60'000);
  SetNode("n1", false);
  RunUntilStable();
  EXPECT_EQ(PodsWithUidsOf(before), 2);
}

TEST_F(JobFaultsTest, RanksThatDieTogetherCostOneRestart) {
  SeedJob(16, 16);
  RunAll();
  for (int rank = 0; rank < 16; ++rank) FailPod(rank, 134);
  RunUntilStable();
  clock_.Advance(5'000);
  RunUntilStable();
  EXPECT_EQ(Status()["restarts"], 1);
  EXPECT_NE(Condition("Failed"), "True");
}

TEST_F(JobFaultsTest, PodsThatAreBeingDeletedDoNotCountAsSuccesses) {
  SeedJob(2, 2);
  RunAll();
  for (int rank = 0; rank < 2; ++rank) {
    MarkDeleting(rank);
    SetPod(rank, "Succeeded", StrCat("n", rank));  // it wrote its checkpoint and ended with 0
  }
  RunUntilStable();
  EXPECT_NE(Condition("Succeeded"), "True");
}

TEST_F(JobFaultsTest, ARestartThatIsCutInTheMiddleIsCarriedOnByTheNextLeader) {
  SeedJob(4, 4, {{"recovery", {{"onHostLoss", "Restart"}}}});
  RunAll();
  const auto before = Uids();
  SetNode("n1", false);
  RunUntilStable();
  clock_.Advance(10'000);
  std::atomic<int> deletes = 0;
  client_.SetHook([&](const kube::Call& call) {
    if (call.verb == kube::Verb::kDelete) ++deletes;
    return deletes.load() > 1 ? absl::CancelledError("killed") : absl::OkStatus();
  });
  (void)TryReconcile();
  client_.SetHook({});
  SetNode("n1", true);  // nothing in the cluster reminds of it any more
  NewLeader();
  RunUntilStable();
  EXPECT_EQ(PodsWithUidsOf(before), 0);
}

TEST_F(JobFaultsTest, ATemplateThatContradictsTheGpusIsACondition) {
  json containers = json::array({{{"name", "c"}, {"image", "i"}}});
  containers[0]["resources"]["limits"][api::kGpuResource] = 4;
  SeedJob(2, 2, {{"template", {{"spec", {{"containers", containers}}}}}});
  RunUntilStable();
  EXPECT_FALSE(HasPod(0));
  EXPECT_EQ(Reason("Planned"), "Invalid");
  EXPECT_NE(Message("Planned").find("spec.gpusPerWorker"), std::string::npos);
  EXPECT_EQ(CountNotices("Invalid"), 1);
}

TEST_F(JobFaultsTest, AMalformedTemplateIsRefusedWithItsFieldAndMendedWithoutATrace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"containers": [{"name": "c", "env": ["FOO=bar"]}]})", "containers[0].env[0]"},
      {R"({"containers": [{"name": "c", "env": [null]}]})", "containers[0].env[0].name"},
      {R"({"terminationGracePeriodSeconds": "30"})", "terminationGracePeriodSeconds"},
      {R"({"restartPolicy": 5})", "restartPolicy"},
      {R"({"volumes": {"v": {}}})", "volumes"},
      {R"({"tolerations": [7]})", "tolerations[0]"}};
  SeedJob(2, 2, {{"recovery", {{"inPlaceSeconds", 60}}}});
  const json sound = Job();
  for (const auto& [spec, field] : cases) {
    json job = sound;
    job["spec"]["template"]["spec"].merge_patch(json::parse(spec));
    client_.Seed(kube::TrainingJobs(), job);
    RunUntilStable();
    EXPECT_EQ(Reason("Planned"), "Invalid") << spec;
    EXPECT_NE(Message("Planned").find(StrCat("spec.template.spec.", field, ": ")),
              std::string::npos)
        << Message("Planned");
    EXPECT_FALSE(HasPod(0)) << spec;
  }
  json mended = sound;
  mended["status"] = Status();
  client_.Seed(kube::TrainingJobs(), mended);
  RunUntilStable();
  EXPECT_NE(Reason("Planned"), "Invalid");
  EXPECT_TRUE(HasPod(0) && HasPod(1));
}

TEST_F(JobFaultsTest, AQuotaThatRefusesPodsIsAConditionAndCostsOneRequest) {
  SeedJob(64, 64);
  int creates = 0;
  client_.SetHook([&](const kube::Call& call) {
    if (call.verb != kube::Verb::kCreate || kube::WhereOf(call.target) != "pods") {
      return absl::OkStatus();
    }
    ++creates;
    return absl::PermissionDeniedError("exceeded quota: gpus");
  });
  (void)TryReconcile();
  client_.ClearCalls();
  (void)TryReconcile();
  EXPECT_EQ(client_.calls().size(), 1u) << "a job that was refused before";
  EXPECT_EQ(Condition("Stalled"), "True");
  EXPECT_EQ(Reason("Stalled"), "QuotaExceeded");
  EXPECT_LE(creates, 4);
  client_.SetHook({});
  RunUntilStable();
  EXPECT_TRUE(HasPod(63));
  EXPECT_EQ(Condition("Stalled"), "False");
}

TEST_F(JobFaultsTest, ALongRefusalIsAConditionCutToWhatAConditionMayHave) {
  client_.SetRule(kube::TrainingJobs(), [](const json&, const json& after) {
    for (const json& c : after.value("/status/conditions"_json_pointer, json::array())) {
      if (c["message"].get<std::string>().size() > 4096) {
        return absl::InvalidArgumentError("status.conditions[].message: Too long");
      }
    }
    return absl::OkStatus();
  });
  std::string refusal = "Pod a-0 is invalid: ";
  for (int i = 0; i < 3000; ++i) refusal += "\u00e4";
  SeedJob(2, 2);
  client_.FailNext(kube::Verb::kCreate, "pods", absl::InvalidArgumentError(refusal), 100);
  for (int i = 0; i < 3; ++i) (void)TryReconcile();
  EXPECT_EQ(Reason("Stalled"), "PodsRefused");
  EXPECT_NE(Message("Stalled").find("Pod a-0 is invalid"), std::string::npos);
  EXPECT_EQ(CountNotices("Stalled"), 1);
}

TEST_F(JobFaultsTest, APodOfSomeoneElseUnderAWorkersNameIsACondition) {
  SeedJob(2, 2);
  client_.Seed(kube::Pods(),
               {{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata", {{"name", "a-1"}, {"namespace", "team"}, {"uid", "foreign"}}}});
  (void)TryReconcile();
  (void)TryReconcile();
  EXPECT_EQ(Reason("Stalled"), "NameTaken");
  EXPECT_NE(Message("Stalled").find("a-1"), std::string::npos) << Message("Stalled");
}

TEST_F(JobFaultsTest, AServiceOfSomeoneElseUnderTheJobsNameIsACondition) {
  SeedJob(2, 2);
  client_.Seed(kube::Services(),
               {{"apiVersion", "v1"},
                {"kind", "Service"},
                {"metadata", {{"name", "a"}, {"namespace", "team"}, {"uid", "foreign"}}}});
  (void)TryReconcile();
  (void)TryReconcile();
  EXPECT_EQ(Reason("Stalled"), "NameTaken");
  EXPECT_FALSE(HasPod(0)) << "workers that cannot find each other are not started";
}

TEST_F(JobFaultsTest, ByDefaultEveryWorkerRestartsWhenAHostIsLost) {
  SeedJob(3, 3);
  RunAll();
  const auto before = Uids();
  SetNode("n1", false);
  RunUntilStable();
  clock_.Advance(10'000);
  RunUntilStable();
  EXPECT_EQ(PodsWithUidsOf(before), 0) << "the communicator is dead";
  for (int rank = 0; rank < 3; ++rank) EXPECT_TRUE(HasPod(rank));
  EXPECT_EQ(Status()["restarts"], 0) << "a lost host is not the job's failure";
}

TEST_F(JobFaultsTest, ARestartsBackoffDoublesAndTheBudgetIsFullAgainAfterItsWindow) {
  SeedJob(
      2, 2,
      {{"recovery", {{"maxRestarts", 2}, {"restartWindowSeconds", 3600}, {"backoffSeconds", 10}}}});
  RunAll();
  FailPod(1, 1);
  RunUntilStable();
  EXPECT_TRUE(HasPod(0) && HasPod(1)) << "the first restart is immediate";
  RunAll();
  FailPod(1, 1);
  RunUntilStable();
  EXPECT_FALSE(HasPod(0)) << "the second waits";
  clock_.Advance(10'000);
  RunAll();
  EXPECT_EQ(Status()["restarts"], 2);
  clock_.Advance(3'601'000);
  FailPod(0, 1);
  RunUntilStable();
  EXPECT_EQ(Condition("Failed"), "(none)");
  EXPECT_TRUE(HasPod(0)) << "it ran for an hour, so the row of restarts has ended";
  RunAll();
  FailPod(0, 1);
  RunUntilStable();
  clock_.Advance(10'000);
  RunAll();
  FailPod(0, 1);
  RunUntilStable();
  EXPECT_EQ(Condition("Failed"), "True");
  EXPECT_EQ(Reason("Failed"), "NoRestartLeft");
  EXPECT_EQ(Status()["restarts"], 4);
  EXPECT_EQ(CountNotices("Recovering"), 5) << "one event an incident";
}

TEST_F(JobFaultsTest, RulesDecideByExitCodeAndByPodCondition) {
  const json rules =
      json::array({{{"action", "Fail"}, {"exitCodes", {42}}},
                   {{"action", "Ignore"}, {"exitCodes", {143}}},
                   {{"action", "Replace"}, {"exitCodesNotIn", {1, 42}}, {"container", "c"}}});
  SeedJob(3, 3, {{"recovery", {{"rules", rules}}}});
  RunAll();
  auto before = Uids();
  FailPod(1, 143);
  RunUntilStable();
  EXPECT_EQ(PodsWithUidsOf(before), 0);
  EXPECT_EQ(Status()["restarts"], 0) << "ignored";
  RunAll();
  before = Uids();
  FailPod(1, 77);
  RunUntilStable();
  EXPECT_EQ(PodsWithUidsOf(before), 2) << "the failed rank alone";
  RunAll();
  FailPod(2, 42);
  RunUntilStable();
  EXPECT_EQ(Condition("Failed"), "True");
  EXPECT_EQ(Reason("Failed"), "WorkerFailed");
  EXPECT_NE(Message("Failed").find("exit code 42"), std::string::npos) << Message("Failed");
}

TEST_F(JobFaultsTest, TheIncidentNamesTheWorkerThatFailedFirst) {
  SeedJob(3, 3);
  RunAll();
  const std::int64_t now_ms = clock_.WallMs();
  FailPod(0, 134, now_ms - 1'000);
  FailPod(1, 134, now_ms - 1'000);
  FailPod(2, 9, now_ms - 4'000);
  RunUntilStable();
  const json incident = Status()["recovery"]["incidents"][0];
  EXPECT_EQ(incident["exitCode"], 9);
  EXPECT_EQ(incident["host"], "n2");
  EXPECT_EQ(incident["ranks"], json::array({0, 1, 2}));
  EXPECT_EQ(Condition("Recovering"), "True");
  RunAll();
  EXPECT_EQ(Condition("Recovering"), "False");
}

TEST_F(JobFaultsTest, ADisruptedWorkerIsNotCountedAndNotASuccess) {
  SeedJob(2, 2, {{"recovery", {{"maxRestarts", 0}}}});
  RunAll();
  for (const char* phase : {"Failed", "Succeeded"}) {
    json pod = Pod(1);
    pod["status"]["phase"] = phase;
    pod["status"]["conditions"] = json::array({{{"type", "DisruptionTarget"}, {"status", "True"}}});
    client_.Seed(kube::Pods(), pod);
    RunUntilStable();
    EXPECT_EQ(Status()["restarts"], 0);
    RunAll();
    EXPECT_EQ(Condition("Running"), "True") << phase;
  }
}

TEST_F(JobFaultsTest, AWorkerThatOthersRemoveRestartsTheJobOnce) {
  SeedJob(3, 3);
  RunAll();
  const auto before = Uids();
  MarkDeleting(1);  // evicted, say
  RunUntilStable();
  EXPECT_EQ(PodsWithUidsOf(before), 1) << "the one that is still ending";
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-1", ""}, {.grace_period_seconds = 0}).ok());
  RunAll();
  EXPECT_EQ(Status()["recovery"]["attempt"], 1);
  EXPECT_EQ(Status()["restarts"], 0);
  EXPECT_EQ(Condition("Running"), "True");
}

TEST_F(JobFaultsTest, HostsThatAreHeldAreSaidOnce) {
  SeedJob(10, 10);
  RunAll();
  for (int i = 0; i < 5; ++i) SetNode(StrCat("n", i), false);
  RunUntilStable();
  clock_.Advance(60'000);
  RunUntilStable();
  EXPECT_EQ(Reason("Degraded"), "RecoveryHeld");
  EXPECT_NE(Message("Degraded").find("full disruption"), std::string::npos) << Message("Degraded");
  EXPECT_EQ(CountNotices("RecoveryHeld"), 1);
  for (int i = 0; i < 5; ++i) SetNode(StrCat("n", i), true);
  RunUntilStable();
  EXPECT_EQ(Condition("Degraded"), "False");
}

TEST_F(JobFaultsTest, ADecisionOnAnOldVersionOfTheJobIsNotWritten) {
  SeedJob(2, 2);
  RunAll();
  FailPod(1, 1);
  Sync();
  json job = Job();
  job["spec"]["recovery"]["onWorkerFailure"] = "Fail";  // not seen yet
  client_.Seed(kube::TrainingJobs(), job);
  EXPECT_TRUE(absl::IsAborted(controller_->Reconcile("team/a").status()));
  EXPECT_TRUE(HasPod(0)) << "nothing was done either";
  RunUntilStable();
  EXPECT_EQ(Condition("Failed"), "True");
}

}  // namespace
}  // namespace yardmaster::op
