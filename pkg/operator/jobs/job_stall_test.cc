// A TrainingJob whose workers run and make no progress, from what agents write on its pods.
#include "pkg/api/checkpoint_mark.h"
#include "pkg/api/progress_report.h"
#include "pkg/kube/testing/kill_at_write.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

constexpr std::int64_t kHourMs = 3'600'000;

class JobStallTest : public JobFixture {
 protected:
  // Four workers that run for an hour, rank r on host n<r>.
  void Run(const json& recovery = json::object()) {
    SeedJob(4, 6, {{"recovery", recovery}});
    RunAll();
    Pass(kHourMs);
    before_ = Uids();
  }
  void Pass(std::int64_t ms) {
    clock_.Advance(ms);
    RunUntilStable();
  }
  std::int64_t HostMs() const { return clock_.WallMs() - behind_ms_; }
  void Report(int rank, api::ProgressState state,
              api::ProcessActivity processes = api::ProcessActivity::kUnknown) {
    reports_[rank] = {state, HostMs() - 60'000, processes, std::nullopt, 2, 0, 0};
    Renew(rank);
  }
  // The agent says the same again.
  void Renew(int rank) {
    reports_[rank].time_ms = HostMs();
    json pod = Pod(rank);
    pod["metadata"]["annotations"][api::kProgressAnnotation] =
        api::EncodeProgressReport(reports_[rank]);
    client_.Seed(kube::Pods(), pod);
  }
  void Withdraw(int rank) {
    json pod = Pod(rank);
    pod["metadata"]["annotations"].erase(api::kProgressAnnotation);
    client_.Seed(kube::Pods(), pod);
  }
  void Stop(int rank) {
    Report(rank, api::ProgressState::kWaiting, api::ProcessActivity::kStopped);
  }
  // The agents of the first ranks report four times that their workers are stopped.
  void StopForLong(int ranks) {
    for (int i = 0; i < 4; ++i) {
      for (int rank = 0; rank < ranks; ++rank) Stop(rank);
      Pass(api::kProgressRenewalMs);
    }
  }
  // Ranks whose pods have gone come again, on the hosts from n<first> on where they may not stay.
  void StartAgain(int moved_rank, const std::string& host) {
    for (int rank = 0; rank < 4; ++rank) {
      if (Phase(rank) == "Running") continue;
      SetPod(rank, "Running", rank == moved_rank ? host : StrCat("n", rank));
    }
    RunUntilStable();
  }

  std::int64_t behind_ms_ = 0;  // the clocks of the hosts
  std::map<int, std::string> before_;
  std::map<int, api::ProgressReport> reports_;
};

TEST_F(JobStallTest, ByDefaultAConditionAndOneEventNameTheWorker) {
  Run();
  Stop(2);
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "True");
  EXPECT_EQ(Reason("Stalled"), "WorkerCannotRun");
  EXPECT_NE(Message("Stalled").find("worker 2 on host n2"), std::string::npos)
      << Message("Stalled");
  EXPECT_EQ(Condition("Running"), "True");
  const std::int64_t version = client_.version();
  Pass(api::kProgressLifeMs);
  EXPECT_EQ(client_.version(), version) << "nothing is written while nothing changes";
  EXPECT_EQ(CountNotices("Stalled"), 1);
  EXPECT_EQ(Uids(), before_);
  Report(2, api::ProgressState::kProgressing);
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "False");
  EXPECT_EQ(Reason("Stalled"), "Progressing");
}

TEST_F(JobStallTest, AWorkerIsSeenToGoOnWhateverTheClockOfItsHost) {
  behind_ms_ = 300'000;
  Run();
  Stop(2);
  RunUntilStable();
  ASSERT_EQ(Condition("Stalled"), "True");
  Pass(30'000);
  Report(2, api::ProgressState::kProgressing);
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "False");
  EXPECT_EQ(Reason("Stalled"), "Progressing");
  Stop(1);
  RunUntilStable();
  ASSERT_EQ(Condition("Stalled"), "True");
  Pass(30'000);
  Report(1, api::ProgressState::kProgressing);
  NewLeader();
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "Unknown") << "it has not seen the earlier report";
}

TEST_F(JobStallTest, TheLastWordOfAnAgentThatIsGoneDoesNotStay) {
  Run();
  Stop(2);
  RunUntilStable();
  ASSERT_EQ(Condition("Stalled"), "True");
  for (int i = 0; i < 8; ++i) {
    Pass(api::kProgressRenewalMs);
    Renew(2);
  }
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "True");
  Pass(api::kProgressLifeMs + 1);
  EXPECT_EQ(Condition("Stalled"), "Unknown");
  EXPECT_EQ(Reason("Stalled"), "NotKnown");
  EXPECT_NE(Message("Stalled").find("agents do not report any more"), std::string::npos);
  const std::int64_t version = client_.version();
  Pass(kHourMs);
  EXPECT_EQ(client_.version(), version) << "nothing is written while nothing changes";
  Stop(2);
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "True");
  EXPECT_EQ(CountNotices("Stalled"), 1) << "it may be the same hang";
}

TEST_F(JobStallTest, AReportThatIsWithdrawnIsNoProgressAndALaterOneMayBe) {
  Run();
  Report(1, api::ProgressState::kProgressing);  // after a pause that ended long before
  Pass(kHourMs);
  Stop(2);
  RunUntilStable();
  ASSERT_EQ(Condition("Stalled"), "True");
  Withdraw(2);
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "Unknown");
  EXPECT_EQ(Reason("Stalled"), "NotKnown");
  Pass(60'000);
  Report(2, api::ProgressState::kProgressing);
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "False");
  EXPECT_EQ(Reason("Stalled"), "Progressing");
}

TEST_F(JobStallTest, AProcessThatIsContinuedAndAHostThatIsNotReadyAreNoProgress) {
  Run();
  Stop(2);
  RunUntilStable();
  ASSERT_EQ(Condition("Stalled"), "True");
  Report(2, api::ProgressState::kWaiting, api::ProcessActivity::kBusy);
  RunUntilStable();
  EXPECT_EQ(Reason("Stalled"), "NotKnown") << "it may still wait";
  Stop(2);
  RunUntilStable();
  ASSERT_EQ(Condition("Stalled"), "True");
  SetNode("n1", false);
  RunUntilStable();
  EXPECT_NE(Reason("Stalled"), "Progressing") << "nothing is known of its worker";
}

TEST_F(JobStallTest, ASuspendedJobIsNotStalledWhateverIsKnown) {
  Run();
  Stop(2);
  RunUntilStable();
  Withdraw(2);
  RunUntilStable();
  ASSERT_EQ(Reason("Stalled"), "NotKnown");
  Suspend(true);
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "False");
  EXPECT_EQ(Reason("Stalled"), "Suspended");
}

TEST_F(JobStallTest, WithRestartTheJobLeavesTheHostAndGoesOn) {
  Run({{"onStall", "Restart"}});
  Stop(2);
  RunUntilStable();
  for (const auto& [rank, uid] : before_) EXPECT_NE(Uid(rank), uid) << rank;
  EXPECT_EQ(Pod(2)["metadata"]["annotations"][api::kAvoidHostsAnnotation], "n2");
  const json incident = Status()["recovery"]["incidents"][0];
  EXPECT_EQ(incident["cause"], "Stalled");
  EXPECT_EQ(incident["host"], "n2");
  EXPECT_EQ(Status()["restarts"], 1);
  Pass(10'000);
  StartAgain(2, "n4");
  EXPECT_EQ(Condition("Recovering"), "False");
  EXPECT_EQ(Condition("Stalled"), "(none)");
  EXPECT_EQ(CountNotices("Recovering"), 1);
  EXPECT_EQ(Status()["lostWork"][0]["cause"], "Stalled");
}

TEST_F(JobStallTest, ASecondStallWithinTheHourIsOnlyShown) {
  Run({{"onStall", "Restart"}});
  Stop(2);
  RunUntilStable();
  StartAgain(2, "n4");
  Pass(600'000);
  before_ = Uids();
  Stop(1);
  RunUntilStable();
  EXPECT_EQ(Uids(), before_);
  EXPECT_EQ(Condition("Stalled"), "True");
  for (std::int64_t ms = 0; ms < kHourMs; ms += api::kProgressRenewalMs) {
    Pass(api::kProgressRenewalMs);
    if (Uid(1) == before_[1]) Renew(1);
  }
  EXPECT_NE(Uid(0), before_[0]);
  EXPECT_EQ(Status()["restarts"], 2);
}

TEST_F(JobStallTest, AJobThatSaysThatTrainingIsOverIsNotRestarted) {
  Run({{"onStall", "Restart"}});
  json pod = Pod(0);
  pod["metadata"]["annotations"][api::kCheckpointAnnotation] =
      api::EncodeCheckpointMark({clock_.WallMs() / 1000 * 1000, 0, /*last=*/true});
  client_.Seed(kube::Pods(), pod);
  StopForLong(4);
  EXPECT_EQ(Uids(), before_);
  EXPECT_EQ(Condition("Stalled"), "(none)");
}

TEST_F(JobStallTest, AJobOfWhichAWorkerHasSucceededIsNotRestarted) {
  Run({{"onStall", "Restart"}});
  SetPod(3, "Succeeded", "n3");
  StopForLong(3);
  EXPECT_EQ(Uids(), before_);
  EXPECT_EQ(Condition("Stalled"), "(none)");
}

TEST_F(JobStallTest, AReportThatCannotBeReadSaysNothing) {
  Run({{"onStall", "Restart"}});
  json pod = Pod(2);
  pod["metadata"]["annotations"][api::kProgressAnnotation] = R"({"version":1,"state":"Hung"})";
  client_.Seed(kube::Pods(), pod);
  Pass(kHourMs);
  EXPECT_EQ(Uids(), before_);
  EXPECT_EQ(Condition("Stalled"), "(none)");
}

// The parameter: how many writes the first process gets through before it is killed.
class JobStallKillTest : public JobStallTest, public ::testing::WithParamInterface<int> {};

TEST_P(JobStallKillTest, TheJobRestartsOnce) {
  Run({{"onStall", "Restart"}});
  Stop(2);
  {
    kube::KillAtWrite kill(client_, GetParam());
    for (int i = 0; i < 4; ++i) (void)TryReconcile();
  }
  NewLeader();
  RunUntilStable();
  StartAgain(2, "n4");
  Pass(600'000);
  EXPECT_EQ(Status()["restarts"], 1);
  EXPECT_EQ(Status()["recovery"]["attempt"], 1);
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Condition("Stalled"), "(none)");
  for (const auto& [rank, uid] : before_) EXPECT_NE(Uid(rank), uid);
  EXPECT_EQ(Pod(2)["metadata"]["annotations"][api::kAvoidHostsAnnotation], "n2");
}

TEST_P(JobStallKillTest, TheConditionIsThereInTheEnd) {
  Run();
  Stop(2);
  {
    kube::KillAtWrite kill(client_, GetParam());
    for (int i = 0; i < 4; ++i) (void)TryReconcile();
  }
  NewLeader();
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "True");
  EXPECT_EQ(Uids(), before_);
}

INSTANTIATE_TEST_SUITE_P(EveryWrite, JobStallKillTest, ::testing::Range(0, 12));

}  // namespace
}  // namespace yardmaster::op
