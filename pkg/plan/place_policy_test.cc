#include "pkg/plan/place_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <string>

#include "pkg/fabric/testing/fabrics.h"
#include "pkg/plan/plan_draft.h"
#include "pkg/plan/testing/snapshots.h"

namespace yardmaster::plan {
namespace {

using fabric::HostId;
using ::testing::ElementsAre;

// Three hosts: "there" has one, "fits" gets one, "waits" needs two.
class PlacePolicyTest : public ::testing::Test {
 protected:
  PlacePolicyTest() : snapshot_(MakeSnapshot(fabric::SmallHpn(1, 1, 3))) {
    snapshot_.cluster.hosts[2].backup = false;
    AddJob(snapshot_, "fits", 1);
    AddJob(snapshot_, "there", 1);
    Place(snapshot_, JobId(1), {HostId(0)});
    AddJob(snapshot_, "waits", 2);
  }
  // Notes each job that the policy is asked about; it does something for `acts_on` alone.
  void Add(PlanStep step, const std::string& name, JobId acts_on = JobId()) {
    options_.policies.push_back({step, [this, name, acts_on](PlanDraft& draft, JobPlan& job) {
                                   asked_.push_back(name + " " + draft.state(job.job).job.key.name);
                                   return job.job == acts_on;
                                 }});
  }

  Snapshot snapshot_;
  PlanOptions options_;
  std::vector<std::string> asked_;
};

TEST_F(PlacePolicyTest, APolicyIsAskedAboutTheJobsOfItsStep) {
  Add(PlanStep::kWaits, "waits");
  Add(PlanStep::kFound, "found");
  Add(PlanStep::kPlaced, "placed");
  const Plan plan = MakePlan(snapshot_, options_);
  EXPECT_THAT(asked_, ElementsAre("placed there", "found fits", "waits waits"));
  EXPECT_EQ(Of(plan, JobId(0)).gang.host_of_rank,
            Of(MakePlan(snapshot_), JobId(0)).gang.host_of_rank);
}

TEST_F(PlacePolicyTest, ThePoliciesBehindOneThatActsAreNotAsked) {
  Add(PlanStep::kFound, "first", JobId(0));
  Add(PlanStep::kFound, "second");
  Add(PlanStep::kWaits, "third");
  Add(PlanStep::kWaits, "fourth", JobId(2));
  Add(PlanStep::kWaits, "fifth");
  MakePlan(snapshot_, options_);
  EXPECT_THAT(asked_, ElementsAre("first fits", "third waits", "fourth waits"));
}

// What a policy does for a job keeps its place instead of a reservation of the planner.
TEST_F(PlacePolicyTest, AWaitingJobThatAPolicyHelpedGetsNoReservation) {
  snapshot_.now_ms = 1'000'000;
  snapshot_.jobs[2].job.reserve_after_ms = 1;
  EXPECT_EQ(MakePlan(snapshot_, options_).reservations.size(), 1u);
  Add(PlanStep::kWaits, "helps", JobId(2));
  EXPECT_TRUE(MakePlan(snapshot_, options_).reservations.empty());
}

TEST_F(PlacePolicyTest, OnePolicyServesManyPlans) {
  snapshot_.jobs[1].job.priority = -1;
  snapshot_.jobs[1].job.preemptible = true;
  options_.policies = {StopOthers(1)};
  for (int plan = 0; plan < 2; ++plan) {
    EXPECT_TRUE(Of(MakePlan(snapshot_, options_), JobId(2)).sought_victims) << plan;
  }
}

}  // namespace
}  // namespace yardmaster::plan
