// A job that rents hosts and has a deadline: cheap ones that may be taken back, and dear ones that
// stay.
#include "pkg/operator/capacity/rental_deadline.h"

#include "gmock/gmock.h"

#include "pkg/base/clock.h"
#include "pkg/operator/testing/capacity_controller_fixture.h"
#include "pkg/operator/testing/capacity_step_fixture.h"

namespace yardmaster::op {
namespace {

using api::CapacityType;
using api::RentalPhase;
using api::RentalReason;
using nlohmann::json;
using ::testing::HasSubstr;

// Of the fixture's pools: from the decision to leave until all workers run on other hosts. 60 s for
// a stop without a checkpoint, 600 s for the hosts, 300 s for the start.
constexpr std::int64_t kChangeSeconds = 960;
constexpr std::int64_t kWorkSeconds = 3'600;

class RentalDeadlineTest : public CapacityStepFixture {
 protected:
  static json Wanted(std::int64_t seconds_left, const json& more = json::object()) {
    json capacity = {{"maxCostPerHour", "100 USD"},
                     {"workSeconds", kWorkSeconds},
                     {"deadline", FormatTime(kStartMs + 1000 * seconds_left)}};
    capacity.update(more);
    return capacity;
  }
  static api::CapacityPool Staying(const std::string& price) {
    api::CapacityPool pool = Pool("stays", price);
    pool.offers[0].type = CapacityType::kOnDemand;
    return pool;
  }
  // The job may be stopped without a checkpoint, so that a stop takes no time of its grace.
  void Seek(std::int64_t seconds_left, const json& more = json::object()) {
    job_ = Job(Wanted(seconds_left, more));
    job_.checkpoint.grace_seconds = 0;
    pools_ = {Pool("cheap", "10"), Staying("20")};
  }
  double Gpus() const { return static_cast<double>(job_.job.workers) * job_.job.gpus_per_worker; }
  std::string Rented() const { return Status().hosts.empty() ? "" : Status().hosts[0].pool; }
  void SetRunning(bool running) {
    api::SetCondition(
        job_.status.conditions,
        {"Running", running ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse, "Because",
         "", 1, 0},
        seen_.now_ms);
  }
  // All workers run from now on, and write checkpoints all the time.
  void Begin() {
    Run();
    job_.status.start_ms = seen_.now_ms;
    job_.status.checkpoint.last_ms = seen_.now_ms;
    SetRunning(true);
  }
  CapacityStep After(std::int64_t seconds) {
    job_.status.checkpoint.last_ms += 1000 * seconds;
    return StepAfter(seconds);
  }
};

TEST_F(RentalDeadlineTest, HostsThatAreTakenBackAreRentedWhileTwoChangesFitBeforeTheDeadline) {
  Seek(kWorkSeconds + 2 * kChangeSeconds + 1);
  Wait();
  Step();
  EXPECT_EQ(Rented(), "cheap");
}

TEST_F(RentalDeadlineTest, HostsThatStayAreRentedWhereTheyDoNot) {
  Seek(kWorkSeconds + 2 * kChangeSeconds);
  Wait();
  Step();
  EXPECT_EQ(Rented(), "stays");
  EXPECT_EQ(Status().phase, RentalPhase::kRequested);
}

TEST_F(RentalDeadlineTest, TheCapIsKeptAndTheMessageSaysThatTheDeadlineIsAtRisk) {
  Seek(kWorkSeconds + kChangeSeconds);
  pools_[1] = Staying("30");
  Wait();
  Step();
  EXPECT_EQ(Rented(), "cheap");
  EXPECT_THAT(Status().message, HasSubstr("is at risk: no hosts that stay: the cheapest hosts cost "
                                          "120.00 USD/h and the caps allow 100.00 USD/h"));
}

TEST_F(RentalDeadlineTest, AJobThatRunsAsPlannedStaysOnTheCheapHosts) {
  Seek(kWorkSeconds + 3 * kChangeSeconds);
  Begin();
  for (int minutes = 0; minutes < kWorkSeconds / 60; ++minutes) After(60);
  EXPECT_EQ(Status().phase, RentalPhase::kProvisioned);
  EXPECT_EQ(Status().ran_seconds, kWorkSeconds);
  EXPECT_EQ(Rented(), "cheap");
}

TEST_F(RentalDeadlineTest, LostTimeMovesTheJobToHostsThatStayBeforeItIsTooLate) {
  Seek(kWorkSeconds + 3 * kChangeSeconds);
  Begin();
  After(600);
  ASSERT_EQ(Status().phase, RentalPhase::kProvisioned);
  // The slack of 1,920 s pays for the 600 s that incidents cost.
  job_.status.lost_gpu_seconds["HostLost"] = 600.0 * Gpus();
  After(1'300);
  ASSERT_EQ(Status().phase, RentalPhase::kProvisioned);
  job_.status.lost_gpu_seconds["HostLost"] = 1'930.0 * Gpus();
  After(60);
  EXPECT_EQ(Status().phase, RentalPhase::kLeaving) << Status().message;
  EXPECT_EQ(Status().reason, RentalReason::kDeadline);
  EXPECT_THAT(Status().message, HasSubstr("s of work and a change of hosts"));
  // Stopped, its work is safe, and it does not go back to cheap hosts.
  Leave();
  SetRunning(false);
  StepAfter(60);
  EXPECT_EQ(Status().phase, RentalPhase::kRequested);
  EXPECT_EQ(Rented(), "stays");
}

TEST_F(RentalDeadlineTest, WorkSinceTheLastCheckpointCountsAsAtRisk) {
  Seek(kWorkSeconds + 2 * kChangeSeconds + 1'000);
  Begin();
  // No checkpoint any more: what would be repeated grows as fast as the work that is left shrinks.
  for (int minutes = 0; minutes < 32 && Status().phase == RentalPhase::kProvisioned; ++minutes) {
    StepAfter(60);
  }
  EXPECT_EQ(Status().phase, RentalPhase::kProvisioned);
  StepAfter(60);
  EXPECT_EQ(Status().reason, RentalReason::kDeadline);
}

TEST_F(RentalDeadlineTest, ADeadlineThatIsOnlyReportedMovesNothing) {
  Seek(kWorkSeconds + 2 * kChangeSeconds, {{"deadlinePolicy", "Report"}});
  Begin();
  EXPECT_EQ(Rented(), "cheap");
  job_.status.lost_gpu_seconds["HostLost"] = 3'600.0 * Gpus();
  After(1'200);
  EXPECT_EQ(Status().phase, RentalPhase::kProvisioned);
  EXPECT_THAT(Status().message, HasSubstr("is at risk"));
}

TEST_F(RentalDeadlineTest, HostsAreNotLeftForOthersThatCannotBeHad) {
  Seek(kWorkSeconds + 2 * kChangeSeconds + 1);
  Begin();
  pools_[1] = Staying("30");
  job_.status.lost_gpu_seconds["HostLost"] = 3'600.0 * Gpus();
  After(1'200);
  EXPECT_EQ(Status().phase, RentalPhase::kProvisioned);
  EXPECT_THAT(Status().message, HasSubstr("is at risk: no hosts that stay"));
}

TEST_F(RentalDeadlineTest, ADeadlineThatHasPassedDecidesNothingAnyMore) {
  Seek(-1);
  Wait();
  Step();
  EXPECT_EQ(Rented(), "cheap");
}

TEST_F(RentalDeadlineTest, TheTimeThatTheJobRanIsWrittenOnceAMinute) {
  Seek(kWorkSeconds + 3 * kChangeSeconds);
  Begin();
  const api::CapacityStatus before = Status();
  After(30);
  EXPECT_EQ(Status(), before);
  After(31);
  EXPECT_EQ(Status().ran_seconds, 61);
}

TEST_F(RentalDeadlineTest, TimeWithoutHostsIsNoWork) {
  Seek(kWorkSeconds + 9 * kChangeSeconds);
  Begin();
  After(600);
  seen_.lost = "a host is gone";
  SetRunning(false);
  After(1);
  ASSERT_EQ(Status().reason, RentalReason::kReclaimed);
  const std::int64_t ran = Status().ran_seconds;
  EXPECT_LE(ran, 600);
  // The job keeps its first start; nobody has suspended it.
  Leave();
  seen_.lost.clear();
  After(2'000);
  EXPECT_EQ(Status().ran_seconds, ran);
  // What it repeats once it runs again counts from then on.
  job_.status.checkpoint.last_ms = seen_.now_ms - 2'000'000;
  const auto need = DeadlineNeedOf(job_, Status(), pools_, seen_.now_ms);
  ASSERT_TRUE(need);
  EXPECT_EQ(need->at_risk_seconds, 0);
  EXPECT_EQ(need->work_seconds, static_cast<double>(kWorkSeconds - ran));
}

TEST_F(RentalDeadlineTest, SpotHostsInUseCountForTheBudgetOfHostsThatStay) {
  Seek(kWorkSeconds + kChangeSeconds);
  pools_ = {Pool("mixed", "10")};
  pools_[0].offers.push_back(Staying("20").offers[0]);
  pools_[0].budget.max_cost_per_hour = capacity::Money{100 * kUnit, "USD"};
  seen_.rentals.in_use[{"mixed", CapacityType::kSpot}] = 6;
  Wait();
  Step();
  EXPECT_THAT(Status().message, HasSubstr("is at risk: no hosts that stay"));
  // What avoids an offer forgets none of its hosts either.
  job_.status.capacity = {};
  job_.status.capacity.avoided = {{"mixed", CapacityType::kSpot, seen_.now_ms + 60'000}};
  Step();
  EXPECT_EQ(Status().phase, RentalPhase::kNone) << Status().message;
}

TEST_F(RentalDeadlineTest, ARiskThatIsOverIsNotReportedAnyMore) {
  Seek(kWorkSeconds + 2 * kChangeSeconds, {{"deadlinePolicy", "Report"}});
  Begin();
  job_.status.lost_gpu_seconds["HostLost"] = 3'600.0 * Gpus();
  After(1'200);
  ASSERT_THAT(Status().message, HasSubstr("is at risk"));
  job_.capacity.deadline_ms += 3'600'000;
  After(30);
  EXPECT_EQ(Status().message, "4 hosts of cheap (Spot) are there");
}

// Through the controller, which says when a job may choose.
using DeadlineControllerTest = CapacityControllerFixture;

TEST_F(DeadlineControllerTest, AJobThatRunsLeavesSpotHostsWhenItsSlackIsUsedUp) {
  client_.Seed(kube::Namespaces(),
               {{"apiVersion", "v1"}, {"kind", "Namespace"}, {"metadata", {{"name", "team"}}}});
  client_.Seed(kube::CapacityPools(), PoolManifest({.name = "spot", .price = "10 USD"}));
  client_.Seed(kube::CapacityPools(),
               PoolManifest({.name = "stays", .price = "20 USD", .type = "OnDemand"}));
  SeedJob(2, 0,
          {{"capacity",
            {{"maxCostPerHour", "100 USD"},
             {"workSeconds", kWorkSeconds},
             {"deadline", FormatTime(clock_.WallMs() + 1000 * kWorkSeconds)}}}});
  json job = Job();
  job["status"]["capacity"] = {
      {"phase", "Provisioned"},
      {"generation", 1},
      {"spent", "0 USD"},
      {"hosts", json::array({{{"pool", "spot"}, {"type", "Spot"}, {"hosts", 2}}})}};
  client_.Seed(kube::TrainingJobs(), job);
  ReconcileCapacity();
  // It has no pods, and nothing asks for its hosts: the next ones are chosen in the same step.
  EXPECT_EQ(Status()["capacity"]["moves"], 1) << Status();
  EXPECT_EQ(Status()["capacity"]["hosts"][0]["pool"], "stays") << Status();
}

TEST(RentalDeadlineFieldsTest, ADeadlineWithoutWorkIsRefused) {
  const auto job = api::DecodeTrainingJob(
      json{{"apiVersion", "yardmaster.dev/v1alpha1"},
           {"kind", "TrainingJob"},
           {"metadata", {{"name", "a"}, {"namespace", "team"}, {"uid", "u"}}},
           {"spec",
            {{"workers", 4},
             {"capacity", {{"maxCostPerHour", "1 USD"}, {"deadline", "2027-01-01T00:00:00Z"}}}}}});
  EXPECT_THAT(std::string(job.status().message()),
              HasSubstr("spec.capacity.deadline: needs workSeconds"));
}

}  // namespace
}  // namespace yardmaster::op
