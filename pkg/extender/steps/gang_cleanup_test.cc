#include "pkg/extender/steps/gang_cleanup.h"

#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class GangCleanupTest : public BatchJobFixture {
 protected:
  // The Gang of job "a", whose pods are gone, changed.
  void EmptyGang(const std::function<void(json&)>& change) {
    AddBatchJob("a", 2);
    PassOfANewProcess();
    DeletePodsOf("a");
    SuspendJob("a", true);
    PassOfANewProcess();
    ASSERT_TRUE(HostsOf("job-a").empty());
    json gang = Gang("job-a");
    change(gang);
    client_.Seed(kube::Gangs(), gang);
  }
  // After passes of one process over that time.
  bool IsThereAfter(std::int64_t ms) {
    Process process(*this, true);
    process.Pass();
    clock_.Advance(ms);
    process.Pass();
    return client_.Find(kube::Gangs(), "team", "job-a").has_value();
  }
  static void RemoveOwners(json& gang) { gang["metadata"].erase("ownerReferences"); }
};

TEST_F(GangCleanupTest, AGangOfAKindThatMakesNoGangsIsDeleted) {
  EmptyGang([](json& gang) {
    gang["spec"]["owner"] = {
        {"apiVersion", "v1"}, {"kind", "ConfigMap"}, {"name", "c"}, {"uid", "u"}};
  });
  EXPECT_TRUE(IsThereAfter(30'000));
  EXPECT_FALSE(IsThereAfter(61'000));
}

TEST_F(GangCleanupTest, AGangThatNoOwnerTakesAlongIsDeletedOnceItsOwnerIsGone) {
  EmptyGang(RemoveOwners);
  EXPECT_TRUE(IsThereAfter(61'000)) << "its Job is there";
  ASSERT_TRUE(client_.Delete({BatchJobs(), "team", "a", ""}, {}).ok());
  EXPECT_FALSE(IsThereAfter(61'000));
}

TEST_F(GangCleanupTest, AGangThatTheGarbageCollectorTakesIsLeftToIt) {
  EmptyGang([](json&) {});
  ASSERT_TRUE(client_.Delete({BatchJobs(), "team", "a", ""}, {}).ok());
  client_.ClearCalls();
  EXPECT_TRUE(IsThereAfter(600'000));
  EXPECT_EQ(client_.CountCalls(kube::Verb::kDelete, "gangs"), 0);
}

TEST_F(GangCleanupTest, AGangWithPodsStays) {
  EmptyGang(RemoveOwners);
  ASSERT_TRUE(client_.Delete({BatchJobs(), "team", "a", ""}, {}).ok());
  AddJobPod("a", 0, "tp=8,dp=2");
  EXPECT_TRUE(IsThereAfter(600'000));
}

TEST_F(GangCleanupTest, AGangThatHoldsHostsStays) {
  AddBatchJob("a", 2);
  PassOfANewProcess();
  json gang = Gang("job-a");
  RemoveOwners(gang);
  client_.Seed(kube::Gangs(), gang);
  EXPECT_TRUE(IsThereAfter(300'000));
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
}

}  // namespace
}  // namespace yardmaster::extender
