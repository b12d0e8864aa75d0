#include "pkg/gather/pods_to_come.h"

#include <gtest/gtest.h>

#include "pkg/api/condition.h"
#include "pkg/api/names.h"

namespace yardmaster::gather {
namespace {

api::Gang Committed(api::GangPods pods) {
  api::Gang gang;
  gang.pods = pods;
  gang.status.plan_generation = 1;
  gang.status.committed_ms = 1;
  gang.status.assignments.resize(1);
  return gang;
}

TEST(PodsToComeTest, OnlyAGangThatWasPlacedFirstAwaitsPods) {
  EXPECT_FALSE(PodsAreToCome(Committed(api::GangPods::kFirst)));
  EXPECT_TRUE(PodsAreToCome(Committed(api::GangPods::kFollow)));
  EXPECT_FALSE(PodsAreToCome(api::Gang{}));
}

TEST(PodsToComeTest, PodsHaveComeOnceTheGangWasReleased) {
  api::Gang gang = Committed(api::GangPods::kFollow);
  api::SetCondition(gang.status.conditions,
                    {api::kReleasedCondition, api::ConditionStatus::kTrue, "", "", 0, 0}, 0);
  EXPECT_FALSE(PodsAreToCome(gang));
}

TEST(PodsToComeTest, AJobThatIsSuspendedAgainGetsTheTimeForIt) {
  api::Gang gang = Committed(api::GangPods::kFollow);
  EXPECT_EQ(PodsComeWithinMs(gang), kPodsComeMs);
  gang.owner.api_version = "batch/v1";
  gang.owner.kind = "Job";
  EXPECT_EQ(PodsComeWithinMs(gang), kPodsComeMs + kSuspendedAgainMs);
}

}  // namespace
}  // namespace yardmaster::gather
