// What a job does about a host that holds it back.
#include "pkg/kube/testing/kill_at_write.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

constexpr std::int64_t kGraceMs = 120'000;
constexpr std::int64_t kHourMs = 3'600'000;
const std::int64_t kWarmUpMs = SlowHostLimits().warm_up_ms;

class JobHeldBackTest : public JobFixture {
 protected:
  // Of four workers; host n<r> has rank r.
  void Run(const json& recovery) {
    SeedJob(4, 8, {{"recovery", recovery}});
    RunAll();
    before_ = Uids();
  }
  void HoldBack(const std::string& host, const std::string& stays = "") {
    hosts_->ObserveHeldBack({{"team/a", {host, "50 % of its bandwidth", stays}}},
                            clock_.SteadyMs());
    RunUntilStable();
  }
  // The job has run for long.
  void RunWarm(const json& recovery) {
    Run(recovery);
    Pass(kWarmUpMs);
  }
  void Slow(int rank, const std::string& host) {
    hosts_->ObserveHeldBack(
        {{"team/a", {host, "1.8 times the compute time of its like", "", rank}}},
        clock_.SteadyMs());
    RunUntilStable();
  }
  void Recover() {
    hosts_->ObserveHeldBack({}, clock_.SteadyMs());
    RunUntilStable();
  }
  void Pass(std::int64_t ms) {
    clock_.Advance(ms);
    RunUntilStable();
  }
  int Kept() {
    int kept = 0;
    for (const auto& [rank, uid] : before_) kept += Uid(rank) == uid ? 1 : 0;
    return kept;
  }

  std::map<int, std::string> before_;
};

TEST_F(JobHeldBackTest, WithoutTheFieldItIsShownAndNothingMoves) {
  Run({{"onHostLoss", "Replace"}});
  HoldBack("n2");
  Pass(kHourMs);
  EXPECT_EQ(Kept(), 4);
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Condition("Degraded"), "True");
  EXPECT_EQ(Reason("Degraded"), "HeldBack");
  EXPECT_EQ(Message("Degraded"),
            "host n2 has 50 % of its bandwidth; the job stays there: spec.recovery.onBandwidthLoss "
            "is Keep; Replace moves the ranks there");
  EXPECT_EQ(CountNotices("HeldBack"), 1);
  Recover();
  EXPECT_EQ(Condition("Degraded"), "False");
}

TEST_F(JobHeldBackTest, TheRankLeavesTheHostOnceThatHasHeld) {
  Run({{"onHostLoss", "Replace"}, {"onBandwidthLoss", "Replace"}});
  HoldBack("n2");
  EXPECT_EQ(Kept(), 4);
  const auto again = Reconcile();
  ASSERT_TRUE(again.has_value());
  EXPECT_LE(*again, kGraceMs);
  Pass(kGraceMs);
  EXPECT_EQ(Kept(), 3);
  EXPECT_NE(Uid(2), before_[2]);
  EXPECT_EQ(Pod(2)["metadata"]["annotations"][api::kAvoidHostsAnnotation], "n2");
  const json incident = Status()["recovery"]["incidents"][0];
  EXPECT_EQ(incident["cause"], "HostFault");
  EXPECT_EQ(incident["message"],
            "worker 2 is on host n2 with 50 % of its bandwidth: replaced alone");
  EXPECT_EQ(Status().value("restarts", 0), 0) << "it costs no restart of the budget";
}

TEST_F(JobHeldBackTest, AJobThatWouldFailWithItsHostRestarts) {
  Run({{"onHostLoss", "Fail"}, {"onBandwidthLoss", "Replace"}});
  HoldBack("n2");
  Pass(kGraceMs);
  EXPECT_EQ(Kept(), 0);
  EXPECT_NE(Condition("Failed"), "True");
}

TEST_F(JobHeldBackTest, WhereNothingBetterIsFreeTheJobStays) {
  Run({{"onHostLoss", "Replace"}, {"onBandwidthLoss", "Replace"}});
  HoldBack("n2", "no better host of its segment is free");
  Pass(kHourMs);
  EXPECT_EQ(Kept(), 4);
  EXPECT_EQ(Message("Degraded"),
            "host n2 has 50 % of its bandwidth; the job stays there: no better host of its "
            "segment is free");
}

TEST_F(JobHeldBackTest, APlaneThatFlapsRemovesNothing) {
  Run({{"onHostLoss", "Replace"}, {"onBandwidthLoss", "Replace"}});
  for (int i = 0; i < 50; ++i) {
    HoldBack(i % 2 == 0 ? "n2" : "n3");
    Pass(kGraceMs - 1'000);
    Recover();
    Pass(2'000);
  }
  EXPECT_EQ(Kept(), 4);
}

TEST_F(JobHeldBackTest, AJobLeavesOneHostAnHour) {
  Run({{"onHostLoss", "Replace"}, {"onBandwidthLoss", "Replace"}});
  HoldBack("n2");
  Pass(kGraceMs);
  SetPod(2, "Running", "n5");
  RunUntilStable();
  EXPECT_EQ(Condition("Recovering"), "False");
  HoldBack("n3");
  Pass(kGraceMs);
  EXPECT_EQ(Uid(3), before_[3]);
  EXPECT_NE(Message("Degraded").find("it left another host less than an hour ago"),
            std::string::npos)
      << Message("Degraded");
  Pass(kHourMs);
  EXPECT_NE(Uid(3), before_[3]);
}

TEST_F(JobHeldBackTest, ASlowHostIsShownAndNothingMovesWithoutTheField) {
  Run({{"onHostLoss", "Replace"}, {"onBandwidthLoss", "Replace"}});
  Slow(2, "n2");
  Pass(kHourMs);
  EXPECT_EQ(Kept(), 4);
  EXPECT_EQ(Reason("Degraded"), "HeldBack");
  EXPECT_EQ(Message("Degraded"),
            "host n2 has 1.8 times the compute time of its like; the job stays there: "
            "spec.recovery.onSlowHost is Keep; Replace moves the ranks there");
}

TEST_F(JobHeldBackTest, ASlowHostIsNotLeftWhileTheJobWarmsUp) {
  Run({{"onHostLoss", "Replace"}, {"onSlowHost", "Replace"}});
  Slow(2, "n2");
  Pass(kWarmUpMs - 1'000);
  EXPECT_EQ(Kept(), 4);
  EXPECT_NE(Message("Degraded").find("it has run for less than 600 s"), std::string::npos)
      << Message("Degraded");
  Pass(60'000);
  EXPECT_EQ(Kept(), 3);
}

TEST_F(JobHeldBackTest, ASlowHostIsLeftOnceAndBlamed) {
  RunWarm({{"onHostLoss", "Replace"}, {"onSlowHost", "Replace"}});
  Slow(2, "n2");
  Pass(kGraceMs);
  EXPECT_EQ(Kept(), 3);
  EXPECT_NE(Uid(2), before_[2]);
  const json incident = Status()["recovery"]["incidents"][0];
  EXPECT_EQ(incident["cause"], "SlowHost");
  EXPECT_EQ(incident["host"], "n2");
  EXPECT_EQ(incident["firstRank"], 2);
  EXPECT_EQ(incident["blamesHost"], true);
  EXPECT_EQ(incident["message"],
            "worker 2 is on host n2 with 1.8 times the compute time of its like: replaced alone");
  const json avoided = Status()["recovery"]["avoidedHosts"][0];
  EXPECT_EQ(avoided["host"], "n2");
  EXPECT_EQ(avoided["until"], FormatTime((clock_.WallMs() / 1000 + 24 * 3'600) * 1000));
  EXPECT_EQ(Status().value("restarts", 0), 0) << "it costs no restart of the budget";
}

TEST_F(JobHeldBackTest, ARankThatIsSlowOnTheNextHostTooStaysThere) {
  RunWarm({{"onHostLoss", "Replace"}, {"onSlowHost", "Replace"}});
  Slow(2, "n2");
  Pass(kGraceMs);
  SetPod(2, "Running", "n5");
  RunUntilStable();
  const std::string moved = Uid(2);
  Slow(2, "n5");
  Pass(2 * kHourMs);
  EXPECT_EQ(Uid(2), moved);
  EXPECT_NE(Message("Degraded").find("rank 2 was slow on host n2, too"), std::string::npos)
      << Message("Degraded");
  Slow(3, "n3");
  Pass(kGraceMs);
  EXPECT_NE(Uid(3), before_[3]) << "another rank may leave its host";
}

TEST_F(JobHeldBackTest, ARankThatWasSlowElsewhereADayAgoMayLeaveItsHostAgain) {
  RunWarm({{"onHostLoss", "Replace"}, {"onSlowHost", "Replace"}});
  Slow(2, "n2");
  Pass(kGraceMs);
  SetPod(2, "Running", "n5");
  RunUntilStable();
  Recover();
  const std::string moved = Uid(2);
  Pass(24 * kHourMs - kGraceMs);
  Slow(2, "n5");
  Pass(kGraceMs - 1'000);
  EXPECT_EQ(Uid(2), moved);
  Pass(60'000);
  EXPECT_NE(Uid(2), moved) << "a day after the first";
}

TEST_F(JobHeldBackTest, ARankThatIsSlowOnTheSameHostAgainLeavesItAgain) {
  RunWarm({{"onHostLoss", "Replace"}, {"onSlowHost", "Replace"}});
  Slow(2, "n2");
  Pass(kGraceMs);
  Recover();
  SetPod(2, "Running", "n2");
  RunUntilStable();
  const std::string back = Uid(2);
  Pass(kHourMs);
  Slow(2, "n2");
  Pass(kGraceMs);
  EXPECT_NE(Uid(2), back) << "the host is the cause";
}

TEST_F(JobHeldBackTest, BandwidthAndComputeAreGracesOfTheirOwn) {
  RunWarm({{"onHostLoss", "Replace"}, {"onSlowHost", "Replace"}, {"onBandwidthLoss", "Replace"}});
  HoldBack("n2");
  Pass(kGraceMs - 1'000);
  Slow(2, "n2");
  Pass(kGraceMs - 1'000);
  EXPECT_EQ(Kept(), 4);
  Pass(1'000);
  EXPECT_EQ(Kept(), 3);
}

TEST_F(JobHeldBackTest, AnotherLeaderCarriesOnWhatWasDecided) {
  Run({{"onHostLoss", "Replace"}, {"onBandwidthLoss", "Replace"}});
  HoldBack("n2");
  clock_.Advance(kGraceMs);
  client_.SetHook([&](const kube::Call& call) {
    return call.verb == kube::Verb::kDelete ? absl::CancelledError("killed") : absl::OkStatus();
  });
  (void)TryReconcile();
  client_.SetHook({});
  NewLeader();
  RunUntilStable();
  EXPECT_EQ(Kept(), 3);
}

// The parameter: how many writes the process gets through before it is killed.
class JobLeaveCrashTest : public JobHeldBackTest, public ::testing::WithParamInterface<int> {};

TEST_P(JobLeaveCrashTest, TheNextLeaderCarriesOnAndNoOtherRankMoves) {
  RunWarm({{"onHostLoss", "Replace"}, {"onSlowHost", "Replace"}});
  Slow(2, "n2");
  clock_.Advance(kGraceMs);
  {
    kube::KillAtWrite kill(client_, GetParam());
    for (int i = 0; i < 4; ++i) (void)TryReconcile();
  }
  NewLeader();
  Slow(2, "n2");
  Pass(kGraceMs);
  EXPECT_EQ(Kept(), 3);
  EXPECT_NE(Uid(2), before_[2]);
  const json incidents = Status()["recovery"]["incidents"];
  ASSERT_EQ(incidents.size(), 1u);
  EXPECT_EQ(incidents[0]["cause"], "SlowHost");
}

INSTANTIATE_TEST_SUITE_P(EveryWrite, JobLeaveCrashTest, ::testing::Range(0, 8));

}  // namespace
}  // namespace yardmaster::op
