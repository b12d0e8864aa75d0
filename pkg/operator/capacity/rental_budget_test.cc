// What a CapacityPool allows: which namespaces rent from it, and for how much. The job's condition
// says what stood in the way.
#include "gmock/gmock.h"

#include "pkg/operator/testing/capacity_controller_fixture.h"
#include "pkg/operator/testing/capacity_step_fixture.h"

namespace yardmaster::op {
namespace {

using api::CapacityType;
using api::RentalPhase;
using api::RentalReason;
using nlohmann::json;
using ::testing::HasSubstr;

using Labels = std::map<std::string, std::string>;

class RentalBudgetTest : public CapacityStepFixture {
 protected:
  static capacity::Money Dollars(std::int64_t amount) { return {amount * kUnit, "USD"}; }
  int HostsOf(const std::string& pool) const {
    int hosts = 0;
    for (const api::RentedHosts& part : Status().hosts) hosts += part.pool == pool ? part.hosts : 0;
    return hosts;
  }
};

TEST_F(RentalBudgetTest, AJobRentsOnlyFromPoolsThatSelectItsNamespace) {
  pools_[0].namespace_selector = api::MetadataSelector{Labels{{"team", "blue"}}, {}};
  seen_.rentals.namespace_labels = Labels{{"team", "red"}};
  Wait();
  Step();
  EXPECT_EQ(HostsOf("cheap"), 0);
  EXPECT_EQ(HostsOf("dear"), 4);
}

TEST_F(RentalBudgetTest, AndSaysWhichPoolsDoNot) {
  pools_.pop_back();
  pools_[0].namespace_selector = api::MetadataSelector{
      {}, {{{"kubernetes.io/metadata.name", api::SelectorOperator::kNotIn, {"team"}}}}};
  seen_.rentals.namespace_labels = Labels{{"kubernetes.io/metadata.name", "team"}};
  Wait();
  EXPECT_FALSE(Step().provide);
  EXPECT_EQ(Status().reason, RentalReason::kNoRoom);
  EXPECT_THAT(Status().message,
              HasSubstr("pool cheap: its namespaceSelector does not select the namespace team"));
}

TEST_F(RentalBudgetTest, WhatAllJobsRentStaysWithinThePoolsBudget) {
  pools_[0].budget.max_cost_per_hour = Dollars(60);
  seen_.rentals.in_use[{"cheap", CapacityType::kSpot}] = 4;
  Wait();
  Step();
  EXPECT_EQ(HostsOf("cheap"), 2) << "two of 10 USD beside four that others rent";
  EXPECT_EQ(HostsOf("dear"), 2);
}

TEST_F(RentalBudgetTest, AndWhatANamespaceRentsWithinItsOwn) {
  pools_.pop_back();
  pools_[0].budget = {Dollars(1000), Dollars(50)};
  seen_.rentals.in_use[{"cheap", CapacityType::kSpot}] = 4;
  Wait();
  EXPECT_TRUE(Step().provide) << "others have their own";
  job_.status.capacity = {};
  seen_.rentals.in_use_of_namespace[{"cheap", CapacityType::kSpot}] = 2;
  EXPECT_FALSE(Step().provide);
  EXPECT_THAT(Status().message, HasSubstr("pool cheap: its budget has 30.00 USD/h left"));
}

TEST_F(RentalBudgetTest, ABudgetThatIsSpentLeavesNothingAndTakesNothingBack) {
  Run();
  pools_[0].budget.max_cost_per_hour = Dollars(1);
  EXPECT_FALSE(Step().release) << "the job runs on";
  EXPECT_EQ(Status().phase, RentalPhase::kProvisioned);
}

TEST_F(RentalBudgetTest, WhereRentingIsOffTheConditionSaysWhoTurnsItOn) {
  seen_.renting_is_off = true;
  Wait();
  EXPECT_FALSE(Step().provide);
  EXPECT_THAT(Status().message, HasSubstr("capacity.enabled of the chart"));
}

// The labels are those that the API server has.
class PoolNamespaceTest : public CapacityControllerFixture {
 protected:
  std::string PhaseWith(const json& labels) {
    client_.Seed(kube::Namespaces(), {{"apiVersion", "v1"},
                                      {"kind", "Namespace"},
                                      {"metadata", {{"name", "team"}, {"labels", labels}}}});
    json pool = PoolManifest({.name = "spot", .price = "10 USD"});
    pool["spec"]["namespaceSelector"] = {{"matchLabels", {{"may", "rent"}}}};
    client_.Seed(kube::CapacityPools(), pool);
    SeedJob(2, 0, {{"capacity", {{"maxCostPerHour", "50 USD"}}}});
    RunUntilStable();
    api::Gang gang;
    gang.metadata.name = api::GangName(api::kTrainingJobKind, "a");
    gang.metadata.namespace_name = "team";
    gang.owner.uid = "job";
    gang.job.workers = 2;
    gang.status.outcome = placement::Outcome::kNotNow;
    gang.status.reasons.emplace_back();  // without one it waits for pods, and hosts do not help
    client_.Seed(kube::Gangs(), api::EncodeGang(gang));
    ReconcileCapacity();
    return Status()["capacity"].value("phase", "None");
  }
};

TEST_F(PoolNamespaceTest, ANamespaceWithTheLabelRents) {
  EXPECT_EQ(PhaseWith({{"may", "rent"}}), "Requested");
}

TEST_F(PoolNamespaceTest, AnotherDoesNot) { EXPECT_EQ(PhaseWith({{"may", "look"}}), "None"); }

}  // namespace
}  // namespace yardmaster::op
