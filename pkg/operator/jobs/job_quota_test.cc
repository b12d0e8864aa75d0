// Pods that the API server does not take: all or nothing holds for what it gives, too.
#include <utility>

#include "pkg/base/status.h"
#include "pkg/operator/jobs/refusal_reason.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class JobQuotaTest : public JobFixture {
 protected:
  JobQuotaTest() { UseOneWriter(); }

  // What the quota admits is counted before each create: no two at a time.
  void UseOneWriter() {
    controller_ = std::make_unique<JobController>(
        client_, *cache_, *hosts_, *marker_, clock_,
        [this](const JobNotice& notice) { notices_.push_back(notice); }, nullptr, 1);
  }
  // Job "b" beside "a", with as many workers.
  void SeedSecondJob() {
    json job = Job();
    job["metadata"]["name"] = "b";
    job["metadata"]["uid"] = "job-b";
    client_.Seed(kube::TrainingJobs(), job);
  }
  // A quota of GPUs for so many pods of 8.
  void SetQuota(int pods) {
    client_.SetHook([this, pods](const kube::Call& call) { return CheckQuota(call, pods); });
  }
  absl::Status CheckQuota(const kube::Call& call, int pods) {
    const int used = static_cast<int>(client_.All(kube::Pods()).size());
    if (!IsPodCreate(call) || used < pods) return absl::OkStatus();
    return absl::PermissionDeniedError(
        StrCat("pods is forbidden: exceeded quota: gpus, requested: requests.nvidia.com/gpu=8, "
               "used: requests.nvidia.com/gpu=",
               8 * used, ", limited: requests.nvidia.com/gpu=", 8 * pods));
  }
  static bool IsPodCreate(const kube::Call& call) {
    return call.verb == kube::Verb::kCreate && kube::WhereOf(call.target) == "pods";
  }
  // A policy refuses one pod and takes the others.
  void RefusePod(const std::string& name, const absl::Status& status) {
    client_.SetHook([name, status](const kube::Call& call) {
      const bool refused = IsPodCreate(call) && call.body["metadata"]["name"] == name;
      return refused ? status : absl::OkStatus();
    });
  }
  // Takes back what a refusal leaves, as the job loop does.
  absl::Status Try(const std::string& job, JobTurn turn = JobTurn::kWhole) {
    Sync();
    return TryUnsynced(job, turn);
  }
  absl::Status TryUnsynced(const std::string& job, JobTurn turn = JobTurn::kWhole) {
    absl::Status tried = controller_->RunOnce("team/" + job, turn).status();
    if (IsRefusal(tried)) (void)controller_->RunOnce("team/" + job, JobTurn::kLook);
    return tried;
  }
  void RefuseServices() {
    client_.SetHook([](const kube::Call& call) {
      const bool refused =
          call.verb == kube::Verb::kCreate && kube::WhereOf(call.target) == "services";
      return refused ? absl::PermissionDeniedError("exceeded quota: s, requested: services=1")
                     : absl::OkStatus();
    });
  }
  bool HasService() { return client_.Find(kube::Services(), "team", "a").has_value(); }
  void DeleteService() {
    ASSERT_TRUE(client_.Delete({kube::Services(), "team", "a", ""}, {}).ok());
  }
  int PodsOf(const std::string& job) {
    int count = 0;
    for (const json& pod : client_.All(kube::Pods())) {
      count += pod["metadata"]["labels"].value(api::kJobLabel, "") == job ? 1 : 0;
    }
    return count;
  }
  void EndPodsOf(const std::string& job) {
    for (const json& pod : client_.All(kube::Pods())) {
      if (pod["metadata"]["labels"].value(api::kJobLabel, "") != job) continue;
      EXPECT_TRUE(client_.Delete({kube::Pods(), "team", kube::NameOf(pod), ""}, {}).ok());
    }
  }
};

TEST_F(JobQuotaTest, AJobThatAQuotaHoldsInPartTakesItsPodsBackAndSaysByHowMuchItIsShort) {
  SeedJob(4, 4);
  SetQuota(3);
  EXPECT_FALSE(Try("a").ok());
  EXPECT_EQ(PodsOf("a"), 0);
  EXPECT_EQ(Reason("Stalled"), "QuotaExceeded");
  EXPECT_NE(Message("Stalled").find("ResourceQuota gpus: requests.nvidia.com/gpu: 4 pods need 32, "
                                    "and the quota is 24 in all; raise the quota or make the job"),
            std::string::npos)
      << Message("Stalled");
  EXPECT_EQ(Reason("Planned"), "QuotaExceeded") << "and not that its pods are being gathered";
  EXPECT_EQ(Message("Queued"), Message("Stalled"));
  SetQuota(4);
  EXPECT_TRUE(Try("a").ok());
  EXPECT_EQ(PodsOf("a"), 4);
  EXPECT_EQ(Condition("Stalled"), "False");
  EXPECT_EQ(Reason("Planned"), "Waiting");
}

TEST_F(JobQuotaTest, OfTwoJobsThatAreMadeAtTheSameTimeNoneKeepsAPartOfTheQuota) {
  SeedJob(4, 4);
  SeedSecondJob();
  bool begun = false;
  // While "a" makes its second pod "b" makes all that it can.
  client_.SetHook([&](const kube::Call& call) {
    if (IsPodCreate(call) && call.body["metadata"]["name"] == "a-1" &&
        !std::exchange(begun, true)) {
      EXPECT_FALSE(TryUnsynced("b").ok());
    }
    return CheckQuota(call, 4);
  });
  (void)Try("a");
  EXPECT_EQ(PodsOf("a"), 4);
  EXPECT_EQ(PodsOf("b"), 0);
}

TEST_F(JobQuotaTest, OfTwoJobsUnderAQuotaOfOneTheOtherHoldsNothingAndRunsAfterIt) {
  SeedJob(4, 4);
  SeedSecondJob();
  SetQuota(1);
  EXPECT_FALSE(Try("a").ok());
  SetQuota(4);
  EXPECT_TRUE(Try("b").ok());
  EXPECT_FALSE(Try("a").ok());
  EXPECT_EQ(PodsOf("a"), 0);
  EXPECT_EQ(PodsOf("b"), 4);
  EXPECT_NE(Message("Stalled").find("is short of 32: 4 pods need 32, and others use 32 of 32; the "
                                    "job is tried again when pods of the namespace end"),
            std::string::npos)
      << Message("Stalled");
  EndPodsOf("b");
  EXPECT_TRUE(Try("a").ok());
  EXPECT_EQ(PodsOf("a"), 4);
}

TEST_F(JobQuotaTest, RefusalsByOthersThanQuotasOfAPartOfThePodsGiveBackTheRest) {
  const absl::Status refusals[] = {
      absl::PermissionDeniedError("pods \"a-2\" is forbidden: maximum cpu usage per Pod is 1"),
      absl::PermissionDeniedError("violates PodSecurity \"restricted:latest\": hostNetwork"),
      absl::PermissionDeniedError("admission webhook \"w\" denied the request: not this one"),
      absl::UnavailableError("failed calling webhook \"w\": connection refused"),
      absl::InvalidArgumentError("Pod \"a-2\" is invalid: spec.hostname: Invalid value")};
  SeedJob(4, 4);
  for (const absl::Status& refusal : refusals) {
    RefusePod("a-2", refusal);
    EXPECT_FALSE(Try("a").ok());
    EXPECT_EQ(PodsOf("a"), 0) << refusal;
    EXPECT_EQ(Reason("Stalled"), "PodsRefused") << refusal;
    EXPECT_NE(Message("Stalled").find(MessageOf(refusal)), std::string::npos) << Message("Stalled");
  }
  EXPECT_EQ(CountNotices("Stalled"), 1) << "one event for one reason";
  client_.SetHook({});
  EXPECT_TRUE(Try("a").ok());
  EXPECT_EQ(PodsOf("a"), 4);
}

TEST_F(JobQuotaTest, AFailureThatIsNoRefusalLeavesThePodsForTheNextTurn) {
  SeedJob(4, 4);
  RefusePod("a-2", absl::UnavailableError("no answer"));
  EXPECT_FALSE(Try("a").ok());
  EXPECT_EQ(PodsOf("a"), 2);
  EXPECT_EQ(Condition("Stalled"), "(none)");
}

TEST_F(JobQuotaTest, PodsThatCouldNotBeTakenBackAreInTheTurnsBeforeTheNextTry) {
  SeedJob(4, 4);
  SetQuota(3);
  client_.FailNext(kube::Verb::kDelete, "pods", absl::UnavailableError("busy"), 1);
  EXPECT_FALSE(Try("a").ok());
  EXPECT_GT(PodsOf("a"), 0);
  EXPECT_TRUE(Try("a", JobTurn::kLook).ok());
  EXPECT_EQ(PodsOf("a"), 0);
  EXPECT_EQ(Reason("Stalled"), "QuotaExceeded") << "it waits all the same";
}

TEST_F(JobQuotaTest, OfAJobThatHasAPlaceNothingIsTakenBack) {
  SeedJob(2, 3, {{"recovery", {{"onHostLoss", "Replace"}}}});
  RunUntilStable();
  SeedGangOfTwo();
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-1", ""}, {}).ok());
  SetQuota(1);
  EXPECT_FALSE(Try("a").ok());
  EXPECT_EQ(PodsOf("a"), 1) << "its Gang holds hosts";
  EXPECT_EQ(Reason("Stalled"), "QuotaExceeded");
  EXPECT_TRUE(Try("a", JobTurn::kLook).ok());
  EXPECT_EQ(PodsOf("a"), 1);
}

TEST_F(JobQuotaTest, OfAJobThatRunsNothingIsTakenBack) {
  SeedJob(3, 4, {{"recovery", {{"onWorkerFailure", "Replace"}}}});
  RunAll();
  FailPod(1, 1);
  SetQuota(2);
  for (int i = 0; i < 4; ++i) (void)Try("a");
  EXPECT_EQ(Reason("Stalled"), "QuotaExceeded");
  EXPECT_EQ(PodsOf("a"), 2) << "the others run on";
  EXPECT_EQ(Phase(0), "Running");
  EXPECT_EQ(Phase(2), "Running");
}

TEST_F(JobQuotaTest, PodsAreTakenBackInTurnsThatLeaveTimeForOtherJobs) {
  SeedJob(150, 1);
  SetQuota(149);
  Sync();
  EXPECT_FALSE(controller_->RunOnce("team/a", JobTurn::kWhole).ok());
  EXPECT_EQ(PodsOf("a"), 149) << "it has to be known as refused first";
  for (const int left : {86, 23, 0}) {
    Sync();
    const auto turn = controller_->RunOnce("team/a", JobTurn::kLook);
    ASSERT_TRUE(turn.ok()) << turn.status();
    EXPECT_EQ(PodsOf("a"), left);
    EXPECT_GT(turn->taken_back, 0u);
    EXPECT_TRUE(left == 0 || turn->look_again_ms.value_or(9'999) <= 100) << left;
  }
}

TEST_F(JobQuotaTest, AJobWhoseServiceIsRefusedGetsNoPodsBeforeItIsThere) {
  SeedJob(2, 2);
  RefuseServices();
  for (int i = 0; i < 2; ++i) {
    EXPECT_FALSE(Try("a").ok());
    EXPECT_EQ(Reason("Stalled"), "ServiceRefused");
    EXPECT_NE(Message("Stalled").find("the Service of the job is refused"), std::string::npos);
    EXPECT_EQ(PodsOf("a"), 0) << i;
  }
  EXPECT_TRUE(Try("a", JobTurn::kLook).ok());
  EXPECT_EQ(Condition("Stalled"), "True");
  EXPECT_EQ(client_.CountCalls(kube::Verb::kCreate, "pods"), 0);
  client_.SetHook({});
  EXPECT_TRUE(Try("a").ok());
  EXPECT_TRUE(HasService());
  EXPECT_EQ(PodsOf("a"), 2);
  EXPECT_EQ(Condition("Stalled"), "False");
}

TEST_F(JobQuotaTest, PodsThatWereMadeBeforeTheirServiceIsRefusedAreTakenBack) {
  for (const int workers : {1, 2}) {
    SeedJob(workers, 2);
    SetQuota(0);
    EXPECT_FALSE(Try("a").ok());
    ASSERT_EQ(Reason("Stalled"), "QuotaExceeded");
    DeleteService();
    RefuseServices();
    EXPECT_FALSE(Try("a").ok());
    EXPECT_EQ(Reason("Stalled"), "ServiceRefused");
    EXPECT_EQ(PodsOf("a"), 0);
    client_.SetHook({});
    EXPECT_TRUE(Try("a").ok());
    EXPECT_TRUE(HasService());
    EXPECT_EQ(PodsOf("a"), workers);
    EndPodsOf("a");
    DeleteService();
  }
}

TEST_F(JobQuotaTest, AServiceThatIsRefusedToAJobWithAPlaceIsTriedUntilItIsThere) {
  SeedJob(2, 3, {{"recovery", {{"onHostLoss", "Replace"}}}});
  RunUntilStable();
  SeedGangOfTwo();
  ASSERT_TRUE(client_.Delete({kube::Pods(), "team", "a-1", ""}, {}).ok());
  DeleteService();
  RefuseServices();
  for (int i = 0; i < 3; ++i) {
    EXPECT_FALSE(Try("a").ok());
    EXPECT_EQ(Reason("Stalled"), "ServiceRefused") << i;
    EXPECT_EQ(PodsOf("a"), 2) << i;
  }
  client_.SetHook({});
  EXPECT_TRUE(Try("a").ok());
  EXPECT_TRUE(HasService());
  EXPECT_EQ(Condition("Stalled"), "False");
}

TEST_F(JobQuotaTest, ARefusedJobThatIsSuspendedIsNotSaidToHaveItsPods) {
  SeedJob(2, 2);
  SetQuota(0);
  EXPECT_FALSE(Try("a").ok());
  Suspend(true);
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "False");
  EXPECT_EQ(Reason("Stalled"), "Suspended");
  Suspend(false);
  EXPECT_FALSE(Try("a").ok());
  EXPECT_EQ(Reason("Stalled"), "QuotaExceeded");
}

}  // namespace
}  // namespace yardmaster::op
