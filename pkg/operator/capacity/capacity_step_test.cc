#include "pkg/operator/capacity/capacity_step.h"

#include <random>

#include "gmock/gmock.h"

#include "pkg/base/testing/rounds.h"
#include "pkg/operator/testing/capacity_step_fixture.h"

namespace yardmaster::op {
namespace {

using api::CapacityType;
using api::RentalPhase;
using api::RentalReason;
using testing::HasSubstr;

using CapacityStepTest = CapacityStepFixture;

TEST_F(CapacityStepTest, AJobThatWaitsGetsTheCheapestHostsAndTheDecisionNamesThem) {
  EXPECT_EQ(Step().status.phase, RentalPhase::kNone) << "placement has not looked at it yet";
  Wait();
  const CapacityStep step = Step();
  EXPECT_TRUE(step.provide);
  ASSERT_EQ(Status().phase, RentalPhase::kRequested);
  ASSERT_EQ(Status().hosts.size(), 1);
  EXPECT_EQ(Status().hosts[0].pool, "cheap");
  EXPECT_EQ(Status().hosts[0].hosts, 4);
  EXPECT_EQ(Status().price(), 40 * kUnit);
  EXPECT_EQ(Status().generation, 1);
  EXPECT_EQ(Status().hosts[0].node_labels.at(api::kSegmentLabel), "s0");
  EXPECT_TRUE(Status().holds_job());
}

TEST_F(CapacityStepTest, AHostIsPaidForFromItsLaunchAlsoWhereItIsSeenLater) {
  Wait();
  Step();
  // Asked for at the start; two were launched 3 s later, two 4 s later; seen 1 s after that and 5 s
  // after that.
  seen_.now_ms += 5'000;
  Provisioning some{{3}, false, "", {}, false};
  some.charged_ms = {{kStartMs + 3'000, kStartMs + 3'000, kStartMs + 4'000}};
  seen_.provisioning = some;
  Step();
  EXPECT_NEAR(static_cast<double>(Status().spent), (2 + 2 + 1) * 10.0 * kUnit / 3600, 4);
  seen_.now_ms += 5'000;
  Provisioning all{{4}, true, "", {}, false};
  all.charged_ms = {{kStartMs + 3'000, kStartMs + 3'000, kStartMs + 4'000, kStartMs + 4'000}};
  seen_.provisioning = all;
  Step();
  EXPECT_NEAR(static_cast<double>(Status().spent), (7 + 7 + 6 + 6) * 10.0 * kUnit / 3600, 8);
  // The same look again changes nothing.
  Step();
  EXPECT_NEAR(static_cast<double>(Status().spent), (7 + 7 + 6 + 6) * 10.0 * kUnit / 3600, 8);
}

TEST_F(CapacityStepTest, AHostIsNotPaidForFromBeforeItWasAskedFor) {
  Wait();
  Step();
  seen_.now_ms += 5'000;
  Provisioning there{{4}, true, "", {}, false};
  there.charged_ms = {{0, 1'000, 2'000, kStartMs + 60'000}};
  seen_.provisioning = there;
  Step();
  EXPECT_NEAR(static_cast<double>(Status().spent), 2 * 5 * 10.0 * kUnit / 3600, 8);
}

TEST_F(CapacityStepTest, NothingIsRentedAboveTheCapOrWithoutOne) {
  pools_ = {Pool("dear", "12.60")};
  Wait();
  EXPECT_FALSE(Step().provide);
  EXPECT_EQ(Status().reason, RentalReason::kPriceAboveCap);
  EXPECT_THAT(Status().message, HasSubstr("50.40 USD/h"));
  job_ = Job({{"types", {"Spot"}}});
  EXPECT_EQ(Step().status, api::CapacityStatus{});
}

TEST_F(CapacityStepTest, HostsThatOthersRentAreNotRentedTwice) {
  pools_ = {Pool("cheap", "10", 5), Pool("dear", "12")};
  seen_.rentals.in_use[{"cheap", CapacityType::kSpot}] = 2;
  Wait();
  Step();
  int cheap = 0, all = 0;
  for (const api::RentedHosts& part : Status().hosts) {
    all += part.hosts;
    if (part.pool == "cheap") cheap = part.hosts;
  }
  EXPECT_EQ(all, 4);
  EXPECT_EQ(cheap, 3);
}

// Another controller deleted the job's request. The job leaves its hosts, and chooses others in a
// step that knows which hosts other jobs use.
TEST_F(CapacityStepTest, AJobThatLeavesItsHostsChoosesNoneWhileOthersMayChooseTheSame) {
  Wait();
  Step();
  ASSERT_EQ(Status().phase, RentalPhase::kRequested);
  Leave();
  seen_.provisioning->failed = "gone";
  seen_.may_choose = false;
  const CapacityStep left = Step();
  EXPECT_EQ(Status().phase, RentalPhase::kReleasing);
  EXPECT_EQ(left.look_again_ms, 1);
  seen_.may_choose = true;
  seen_.provisioning->failed = "";
  Step();
  EXPECT_EQ(Status().phase, RentalPhase::kRequested);
  EXPECT_EQ(Status().hosts[0].pool, "dear");
}

TEST_F(CapacityStepTest, CostIsHostsTimesPriceTimesTime) {
  Run();
  EXPECT_EQ(Status().rate, 40 * kUnit);
  StepAfter(1800);
  EXPECT_EQ(Status().spent, 20 * kUnit);
  pools_[0] = Pool("cheap", "11");
  Step();
  EXPECT_EQ(Status().rate, 44 * kUnit);
  StepAfter(900);
  EXPECT_EQ(Status().spent, 31 * kUnit);
  EXPECT_EQ(StepAfter(10).status.spent, 31 * kUnit) << "the clock alone writes once a minute";
}

TEST_F(CapacityStepTest, APriceAboveTheCapMeansACheckpointAndTheNextCheapest) {
  Run();
  pools_[0] = Pool("cheap", "13");
  CapacityStep step = StepAfter(60);
  EXPECT_EQ(Status().phase, RentalPhase::kLeaving);
  EXPECT_TRUE(Status().holds_job());
  EXPECT_FALSE(step.release) << "the pods come first";
  Leave();
  step = StepAfter(30);
  EXPECT_TRUE(step.provide);
  ASSERT_EQ(Status().phase, RentalPhase::kRequested);
  EXPECT_EQ(Status().hosts[0].pool, "dear");
  EXPECT_EQ(Status().generation, 2);
  EXPECT_EQ(Status().moves, 1);
}

TEST_F(CapacityStepTest, WithOnPriceRiseWaitTheSameHostsAreAwaited) {
  job_ = Job({{"maxCostPerHour", "50 USD"}, {"onPriceRise", "Wait"}});
  Run();
  pools_[0] = Pool("cheap", "13");
  StepAfter(60);
  Leave();
  StepAfter(30);
  EXPECT_EQ(Status().phase, RentalPhase::kAwaitingPrice);
  EXPECT_EQ(Status().rate, 0);
  Wait();
  EXPECT_FALSE(StepAfter(60).provide);
  pools_[0] = Pool("cheap", "9");
  EXPECT_TRUE(StepAfter(60).provide);
  EXPECT_EQ(Status().hosts[0].pool, "cheap");
}

TEST_F(CapacityStepTest, HostsThatAreTakenBackAreLeftAndTheirPoolIsAvoidedForATime) {
  Run();
  seen_.lost = "host n1 has taint x";
  seen_.lost_parts = {0};
  Step();
  EXPECT_EQ(Status().phase, RentalPhase::kLeaving);
  EXPECT_EQ(Status().reason, RentalReason::kReclaimed);
  Leave();
  Step();
  EXPECT_EQ(Status().hosts[0].pool, "dear");
  EXPECT_EQ(Status().avoided.size(), 1);
  Provide();
  Step();
  seen_.lost.clear();
  seen_.live_pods = 4;
  seen_.placed = true;
  StepAfter(600);
  EXPECT_TRUE(Status().avoided.empty());
}

TEST_F(CapacityStepTest, ARequestThatFailsOrIsNotFulfilledInTimeIsGivenUp) {
  Wait();
  Step();
  seen_.live_pods = 0;
  seen_.provisioning = Provisioning{{0}, false, "no capacity", {}, false};
  Step();
  EXPECT_EQ(Status().phase, RentalPhase::kReleasing);
  EXPECT_EQ(Status().reason, RentalReason::kNotProvided);
  Leave();
  Step();
  EXPECT_EQ(Status().hosts[0].pool, "dear");
  seen_.provisioning = Provisioning{{0}, false, "", {}, false};
  EXPECT_EQ(StepAfter(599).status.phase, RentalPhase::kRequested);
  StepAfter(1);
  EXPECT_EQ(Status().phase, RentalPhase::kReleasing);
  EXPECT_THAT(Status().message, HasSubstr("600 s"));
}

TEST_F(CapacityStepTest, HostsAreNotKeptForAJobWhosePodsAreRefused) {
  Run();
  seen_.placed = false;
  seen_.live_pods = 1;
  const auto stall = [this](api::ConditionStatus status) {
    api::SetCondition(job_.status.conditions,
                      {"Stalled", status, "QuotaExceeded", "exceeded quota", 0, 0}, kStartMs);
  };
  stall(api::ConditionStatus::kTrue);
  EXPECT_EQ(StepAfter(599).status.phase, RentalPhase::kProvisioned);
  StepAfter(1);
  EXPECT_EQ(Status().phase, RentalPhase::kLeaving);
  EXPECT_EQ(Status().reason, RentalReason::kNotPlaced);
  EXPECT_THAT(Status().message, HasSubstr("exceeded quota"));
  // Without pods nothing is refused. The next hosts are rented when its pods are there and wait for
  // them.
  stall(api::ConditionStatus::kFalse);
  Leave();
  EXPECT_FALSE(Step().provide);
  EXPECT_EQ(Status().phase, RentalPhase::kNone);
  Wait();
  EXPECT_TRUE(Step().provide);
}

TEST_F(CapacityStepTest, AProvidersLongMessageIsCutToWhatTheStatusTakes) {
  Wait();
  Step();
  seen_.live_pods = 0;
  seen_.provisioning = Provisioning{{0}, false, std::string(10'000, 'x'), {}, false};
  Step();
  EXPECT_EQ(Status().phase, RentalPhase::kReleasing);
  EXPECT_EQ(Status().message.size(), 4096U);
}

TEST_F(CapacityStepTest, HostsGoWhenTheLastPodOfAnEndedJobHasGone) {
  Run();
  api::SetCondition(job_.status.conditions,
                    {"Succeeded", api::ConditionStatus::kTrue, "x", "", 0, 0}, kStartMs);
  EXPECT_FALSE(Step().release);
  seen_.live_pods = 0;
  EXPECT_TRUE(Step().release);
  Leave();
  EXPECT_FALSE(StepAfter(5).provide);
  EXPECT_EQ(Status().phase, RentalPhase::kNone);
  EXPECT_EQ(Status().moves, 0);
}

// Made before, the pods would count to the place that the job had, whose hosts are gone.
TEST_F(CapacityStepTest, TheJobMayHavePodsAgainOnceItsGangHasGivenTheHostsBack) {
  for (const bool suspended : {false, true}) {
    Run();
    pools_[0] = Pool("cheap", suspended ? "10" : "13");
    job_.run.suspended = suspended;
    Leave();
    seen_.placed = true;
    EXPECT_TRUE(StepAfter(60).release);
    EXPECT_EQ(Status().phase, RentalPhase::kReleasing);
    EXPECT_TRUE(Status().holds_job());
    seen_.placed = false;
    StepAfter(5);
    EXPECT_EQ(Status().phase, suspended ? RentalPhase::kNone : RentalPhase::kRequested);
    job_.status.capacity = {};
  }
}

TEST_F(CapacityStepTest, TheTotalPaysForTheStopAndIsNotExceeded) {
  job_ = Job({{"maxTotalCost", "30 USD"}});
  Run();
  // 40 USD an hour; the stop takes 300 s: 3.33 USD.
  for (int i = 0; i < 100 && Status().phase == RentalPhase::kProvisioned; ++i) StepAfter(30);
  EXPECT_EQ(Status().phase, RentalPhase::kLeaving);
  EXPECT_EQ(Status().reason, RentalReason::kBudgetSpent);
  StepAfter(290);
  EXPECT_LE(Status().spent, 30 * kUnit);
  EXPECT_GE(Status().spent, 29 * kUnit);
  Leave();
  Step();
  EXPECT_EQ(Status().phase, RentalPhase::kNone);
  Wait();
  Step();
  EXPECT_EQ(Status().reason, RentalReason::kBudgetSpent) << Status().message;
}

// For any prices, requests and hosts: hosts are asked for below the cap, hosts above it are left in
// the next step, and money is counted exactly.
TEST_F(CapacityStepTest, NothingIsStartedOrKeptAboveTheCap) {
  for (unsigned seed = 0; seed < Rounds(80u); ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
    const capacity::Micros cap = (30 + below(60)) * kUnit;
    const capacity::Micros total = (20 + below(400)) * kUnit;
    api::TrainingJob job = Job({{"maxCostPerHour", capacity::FormatMoney({cap, "USD"})},
                                {"maxTotalCost", capacity::FormatMoney({total, "USD"})},
                                {"onPriceRise", below(2) == 0 ? "Move" : "Wait"}});
    const bool fixed = seed % 2 == 0;  // prices do not change
    CapacityObservation seen;
    seen.job = &job;
    seen.now_ms = kStartMs;
    capacity::Micros rate = 0, spent = 0;
    for (int i = 0; i < 400; ++i) {
      const std::int64_t seconds = 1 + below(60);
      seen.now_ms += 1000 * seconds;
      spent += rate * seconds;  // 3,600th parts
      const api::CapacityStatus before = job.status.capacity;
      const bool leaves =
          before.phase == RentalPhase::kLeaving || before.phase == RentalPhase::kReleasing;
      if (!fixed || i == 0) {
        seen.pools.clear();
        for (int p = 0; p < 3; ++p) {
          seen.pools.push_back(
              Pool(StrCat("p", p), StrCat(5 + below(20), ".", 10 + below(90)), 1 + below(6)));
        }
      }
      seen.waits = !before.active() && below(3) > 0;
      seen.placed = before.phase == RentalPhase::kProvisioned && below(20) > 0;
      seen.live_pods = leaves ? 0 : 4;
      seen.lost = below(40) == 0 ? "lost" : "";
      Provisioning there;
      for (const api::RentedHosts& part : before.hosts) {
        there.provided.push_back(before.phase == RentalPhase::kReleasing ? 0 : part.hosts);
      }
      there.complete = below(2) == 0;
      there.gone = before.phase == RentalPhase::kReleasing;
      seen.provisioning = there;
      job.status.capacity = NextCapacityStep(seen).status;
      const api::CapacityStatus& now = job.status.capacity;
      if (now.phase == RentalPhase::kRequested || now.phase == RentalPhase::kProvisioned) {
        ASSERT_LE(now.price(), cap) << "seed " << seed << " step " << i;
        ASSERT_LE(now.rate, cap) << "seed " << seed << " step " << i;
      }
      rate = now.rate;
      if (now.accounted_ms == seen.now_ms) {
        ASSERT_NEAR(static_cast<double>(now.spent), static_cast<double>(spent) / 3600, 1 + i)
            << "seed " << seed << " step " << i;
      }
      // A stop is paid at the price at which it was decided.
      if (fixed) {
        ASSERT_LE(now.spent, total) << "seed " << seed << " step " << i;
      }
    }
  }
}

}  // namespace
}  // namespace yardmaster::op
