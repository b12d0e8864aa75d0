// What becomes of rented hosts when the caps of their job are removed, lowered or written in
// another currency, and of amounts of money at the ends of what can be written.
#include "gmock/gmock.h"

#include "pkg/operator/testing/capacity_step_fixture.h"

namespace yardmaster::op {
namespace {

using api::RentalPhase;
using api::RentalReason;
using nlohmann::json;
using testing::HasSubstr;

class RentalCapTest : public CapacityStepFixture {
 protected:
  // The spec that people write again; the status stays.
  void SetCapacity(const json& capacity) { job_.capacity = Job(capacity).capacity; }
  // What was written is read back as it was.
  void ExpectReadable() {
    const auto read = api::DecodeTrainingJob(api::EncodeTrainingJob(job_));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(read->status.capacity.spent, Status().spent);
    EXPECT_EQ(read->status.capacity.rate, Status().rate);
  }
};

TEST_F(RentalCapTest, WithoutACapTheHostsAreGivenBackAfterACheckpointUntilThereIsOneAgain) {
  Run();
  SetCapacity({{"restartSeconds", 60}});
  EXPECT_FALSE(StepAfter(60).release) << "the pods come first";
  EXPECT_EQ(Status().phase, RentalPhase::kLeaving);
  EXPECT_EQ(Status().reason, RentalReason::kBudgetSpent);
  EXPECT_THAT(Status().message, HasSubstr("spec.capacity has no cost cap"));
  EXPECT_EQ(Status().moves, 1);
  Leave();
  EXPECT_FALSE(StepAfter(60).provide);
  EXPECT_EQ(Status().phase, RentalPhase::kNone);
  Wait();
  EXPECT_FALSE(StepAfter(60).provide);
  SetCapacity({{"maxTotalCost", "100 USD"}});
  EXPECT_TRUE(StepAfter(60).provide);
}

TEST_F(RentalCapTest, ACapThatIsRemovedWhileHostsAreAwaitedEndsTheWait) {
  Wait();
  Step();
  seen_.live_pods = 0;
  seen_.provisioning = Provisioning{{1}, false, "", {}, false};
  SetCapacity({{"restartSeconds", 60}});
  EXPECT_TRUE(Step().release);
  EXPECT_EQ(Status().reason, RentalReason::kBudgetSpent);
}

TEST_F(RentalCapTest, AJobThatMovesRentsNothingWithoutACap) {
  Run();
  pools_[0] = Pool("cheap", "13");
  StepAfter(60);
  ASSERT_EQ(Status().phase, RentalPhase::kLeaving);
  SetCapacity({{"restartSeconds", 60}});
  Leave();
  EXPECT_FALSE(StepAfter(60).provide);
  EXPECT_EQ(Status().phase, RentalPhase::kNone);
}

TEST_F(RentalCapTest, AJobThatAwaitsAPriceSaysThatItsCapIsGone) {
  SetCapacity({{"maxCostPerHour", "50 USD"}, {"onPriceRise", "Wait"}});
  Run();
  pools_[0] = Pool("cheap", "13");
  StepAfter(60);
  Leave();
  StepAfter(60);
  ASSERT_EQ(Status().phase, RentalPhase::kAwaitingPrice);
  SetCapacity({{"onPriceRise", "Wait"}});
  StepAfter(60);
  EXPECT_EQ(Status().phase, RentalPhase::kNone);
  EXPECT_EQ(Status().reason, RentalReason::kBudgetSpent);
  EXPECT_THAT(Status().message, HasSubstr("spec.capacity has no cost cap"));
}

TEST_F(RentalCapTest, ACapThatIsLoweredBelowThePresentRateEndsTheRental) {
  Run();
  SetCapacity({{"maxCostPerHour", "39.99 USD"}});
  StepAfter(60);
  EXPECT_EQ(Status().phase, RentalPhase::kLeaving);
  EXPECT_EQ(Status().reason, RentalReason::kPriceAboveCap);
  Leave();
  EXPECT_FALSE(StepAfter(60).provide) << "nothing else is cheaper";
}

TEST_F(RentalCapTest, ATotalThatIsLoweredBelowWhatIsSpentEndsTheRental) {
  SetCapacity({{"maxTotalCost", "1000 USD"}});
  Run();
  StepAfter(3600);
  SetCapacity({{"maxTotalCost", "30 USD"}});
  StepAfter(60);
  EXPECT_EQ(Status().phase, RentalPhase::kLeaving);
  EXPECT_EQ(Status().reason, RentalReason::kBudgetSpent);
}

// The API server refuses that; one whose CRD is older does not.
TEST_F(RentalCapTest, CapsInAnotherCurrencyThanWhatIsSpentEndTheRental) {
  Run();
  StepAfter(3600);
  const capacity::Micros spent = Status().spent;
  SetCapacity({{"maxCostPerHour", "5000 JPY"}});
  pools_.push_back(Pool("tokyo", "100", 8, "JPY"));
  StepAfter(0);
  EXPECT_EQ(Status().phase, RentalPhase::kLeaving);
  EXPECT_EQ(Status().reason, RentalReason::kBudgetSpent);
  EXPECT_THAT(Status().message, HasSubstr("JPY"));
  EXPECT_THAT(Status().message, HasSubstr("USD"));
  Leave();
  EXPECT_FALSE(StepAfter(0).provide);
  Wait();
  EXPECT_FALSE(StepAfter(0).provide);
  EXPECT_EQ(Status().currency, "USD");
  EXPECT_EQ(Status().spent, spent) << "nothing is added up across currencies";
  SetCapacity({{"maxCostPerHour", "50 USD"}});
  EXPECT_TRUE(StepAfter(0).provide);
}

TEST_F(RentalCapTest, APoolWithPricesInAnotherCurrencyKeepsThePriceThatWasSeenLast) {
  Run();
  pools_[0] = Pool("cheap", "1", 8, "JPY");
  StepAfter(60);
  EXPECT_EQ(Status().phase, RentalPhase::kProvisioned);
  EXPECT_EQ(Status().rate, 40 * kUnit);
  pools_.clear();
  StepAfter(60);
  EXPECT_EQ(Status().rate, 40 * kUnit) << "nor does one that is gone cost less";
}

TEST_F(RentalCapTest, AnAbsurdPriceDoesNotMakeTheJobUnreadable) {
  Run();
  pools_[0] = Pool("cheap", "1000000000");
  StepAfter(60);
  EXPECT_EQ(Status().phase, RentalPhase::kLeaving);
  ExpectReadable();
  // Paid for as long as its pods take.
  for (int i = 0; i < 10; ++i) StepAfter(3'600'000);
  EXPECT_GT(Status().spent, 0);
  ExpectReadable();
}

// A host costs millions an hour in some currencies.
TEST_F(RentalCapTest, WhatALongJobHasSpentMayBeMoreThanACap) {
  SetCapacity({{"maxCostPerHour", "900000000 USD"}});
  pools_ = {Pool("cheap", "200000000")};
  Run();
  StepAfter(7200);
  EXPECT_EQ(Status().spent, 1'600'000'000 * kUnit);
  EXPECT_EQ(Status().phase, RentalPhase::kProvisioned);
  ExpectReadable();
}

TEST_F(RentalCapTest, HostsThatCostNothingAreRentedAndKept) {
  SetCapacity({{"maxTotalCost", "1 USD"}});
  pools_ = {Pool("free", "0")};
  Run();
  StepAfter(86'400 * 365);
  EXPECT_EQ(Status().phase, RentalPhase::kProvisioned);
  EXPECT_EQ(Status().spent, 0);
  ExpectReadable();
}

// A job that changes its size has no pods meanwhile: what it rents next has the new size.
TEST_F(RentalCapTest, AnElasticJobThatChangesItsSizeGivesItsHostsBackFirst) {
  Run();
  job_.status.elastic.target = 2;
  EXPECT_FALSE(Step().release) << "while its pods end";
  seen_.live_pods = 0;
  EXPECT_TRUE(Step().release);
  Leave();
  EXPECT_FALSE(Step().provide);
  EXPECT_EQ(Status().phase, RentalPhase::kNone);
  EXPECT_EQ(Status().moves, 0);
}

}  // namespace
}  // namespace yardmaster::op
