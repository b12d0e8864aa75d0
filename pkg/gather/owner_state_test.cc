#include "pkg/gather/owner_state.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/training_job.h"

namespace yardmaster::gather {
namespace {

TEST(OwnerStateTest, AnElasticJobOnTheWayToAnotherSizeGivesItsHostsBack) {
  api::Gang gang;
  gang.owner.kind = api::kTrainingJobKind;
  gang.owner.name = "a";
  nlohmann::json job = {{"metadata", {{"name", "a"}}}, {"status", {{"elastic", {{"data", 8}}}}}};
  EXPECT_EQ(OwnerStateOf(gang, job).phase, OwnerPhase::kActive);
  job["status"]["elastic"]["targetData"] = 0;
  EXPECT_EQ(OwnerStateOf(gang, job).phase, OwnerPhase::kActive);
  job["status"]["elastic"]["targetData"] = 16;
  EXPECT_EQ(OwnerStateOf(gang, job).phase, OwnerPhase::kSuspended);
}

}  // namespace
}  // namespace yardmaster::gather
