// Jobs of the kinds that others make, as their controllers really write them.
#include "gtest/gtest.h"

#include "pkg/extender/testing/kinds_fixture.h"

namespace yardmaster::extender {
namespace {

TEST_F(KindsTest, JobSet) {
  Replay({{"jobset/0-created", 1, 9, false},
          {"jobset/1-running", 1, 9},
          {"jobset/2-pod-failed-transient", 1, 5},
          {"jobset/3-restarted", 1, 9},
          {"jobset/4-suspended", 0, 0, false},
          {"jobset/5-resumed", 1, 9, false},
          {"jobset/6-scaled-up", 1, 9, true, 2},
          {"jobset/7-deleting", 1, 9, true}});
}

TEST_F(KindsTest, JobSetWhoseOldPodsAreStillBeingDeleted) {
  Replay({{"jobset/0-created", 1, 9, false},
          {"jobset/1-running", 1, 9},
          {"jobset/3-restart-old-pods-deleting", 1, 8},
          {"jobset/3-restarted", 1, 9}});
}

TEST_F(KindsTest, JobSetWithDefaultGates) {
  Replay({{"jobset/default-gates-1-running", 1, 9, false},
          {"jobset/default-gates-2-restarted", 1, 9}});
}

// Their annotation counts the pods of one Job where the set has two: they get an event and are not
// placed in part.
TEST_F(KindsTest, JobSetsThatSayAWrongSizeAreNotPlacedInPart) {
  Replay({{"jobset/rules-1-running", 0, 0, false}, {"jobset/rules-2-one-job-restarted", 0, 0}});
  Apply("jobset/podretry-1-pod-replaced");
  const PassReport report = PassOfANewProcess();
  ASSERT_FALSE(report.problems.empty());
  EXPECT_NE(report.problems[0].find("its pods say that they are 4 and there are 8"),
            std::string::npos)
      << Join(report.problems, "\n");
}

TEST_F(KindsTest, JobSetWithExclusivePlacement) {
  Replay({{"jobset/exclusive-1-running", 1, 8, false}});
}

TEST_F(KindsTest, LeaderWorkerSetHasAGangForEveryGroup) {
  Replay({{"lws/0-created", 2, 8, false},
          {"lws/1-running", 2, 8},
          {"lws/2-pod-failed-transient", 2, 8},
          {"lws/3-after-pod-failed", 2, 8},
          {"lws/4-scaled-up", 3, 12, false},
          {"lws/5-scaled-down", 1, 4, false},
          {"lws/6-scaled-to-zero", 0, 0, false},
          {"lws/7-scaled-back", 2, 8, false},
          {"lws/9-rolling-updated", 2, 8},
          {"lws/10-deleting", 2, 8}});
}

TEST_F(KindsTest, LeaderWorkerSetWithSubgroups) {
  Replay({{"lws/subgroup-1-running", 2, 8, false}});
}

TEST_F(KindsTest, TrainJobIsTheGangOfItsJobSet) {
  Replay({{"trainjob/0-created", 1, 4, false},
          {"trainjob/1-running", 1, 4},
          {"trainjob/2-restarted", 1, 4},
          {"trainjob/3-suspended", 0, 0, false},
          {"trainjob/4-resumed", 1, 4, false},
          {"trainjob/5-deleting", 1, 4}});
  const json gang = Gang("jobset-llama");
  EXPECT_TRUE(gang.empty()) << "it is in the job's namespace";
}

TEST_F(KindsTest, MpiJob) {
  Replay({{"mpijob/plain-0-created", 1, 4, false},
          {"mpijob/plain-1-running", 1, 4},
          {"mpijob/plain-2-worker-failed", 1, 3},
          {"mpijob/plain-3-launcher-failed", 1, 3},
          {"mpijob/plain-4-suspended", 0, 0, false},
          {"mpijob/plain-5-resumed", 1, 3, false}});
}

TEST_F(KindsTest, MpiJobThatIsResumedAndScaled) {
  Replay({{"mpijob/plain-6-fresh", 1, 4, false},
          {"mpijob/plain-7-fresh-suspended", 0, 0, false},
          {"mpijob/plain-8-fresh-resumed", 1, 4, false},
          {"mpijob/plain-9-worker-deleted", 1, 4},
          {"mpijob/plain-10-scaled-up", 1, 6, false},
          {"mpijob/plain-11-scaled-down", 1, 3, false},
          {"mpijob/plain-12-deleting", 1, 3}});
}

TEST_F(KindsTest, MpiJobWhoseLauncherWorks) {
  Replay({{"mpijob/launcher-as-worker-0-created", 1, 5, false},
          {"mpijob/launcher-as-worker-1-running", 1, 5},
          {"mpijob/launcher-as-worker-2-worker-failed", 1, 4},
          {"mpijob/launcher-as-worker-3-launcher-failed", 1, 4},
          {"mpijob/launcher-as-worker-4-suspended", 0, 0, false},
          {"mpijob/launcher-as-worker-5-resumed", 1, 4, false}});
}

TEST_F(KindsTest, PyTorchJob) {
  Replay({{"pytorchjob/plain-0-created", 1, 4, false},
          {"pytorchjob/plain-1-running", 1, 4},
          {"pytorchjob/plain-2-worker-failed", 1, 4},
          {"pytorchjob/plain-3-suspended", 0, 0, false},
          {"pytorchjob/plain-4-resumed", 1, 4, false},
          {"pytorchjob/plain-5-scaled-up", 1, 7, false},
          {"pytorchjob/plain-6-scaled-down", 1, 3, false},
          {"pytorchjob/plain-7-deleting", 1, 3}});
}

TEST_F(KindsTest, ElasticPyTorchJob) {
  Replay({{"pytorchjob/elastic-0-created", 1, 4, false},
          {"pytorchjob/elastic-1-running", 1, 4},
          {"pytorchjob/elastic-2-worker-failed", 1, 4},
          {"pytorchjob/elastic-3-suspended", 0, 0, false},
          {"pytorchjob/elastic-4-resumed", 1, 4, false},
          {"pytorchjob/elastic-5-scaled-up", 1, 6, false},
          {"pytorchjob/elastic-6-scaled-down", 1, 2, false},
          {"pytorchjob/elastic-7-deleting", 1, 2}});
}

TEST_F(KindsTest, VolcanoJob) {
  Replay({{"volcano/0-created", 1, 4, false},
          {"volcano/1-running", 1, 4},
          {"volcano/2-pod-failed-transient", 1, 4},
          {"volcano/3-restarted", 1, 4},
          {"volcano/4-suspended", 0, 0, false},
          {"volcano/5-resumed", 1, 4, false},
          {"volcano/6-scaled-up", 1, 6, false},
          {"volcano/7-scale-down-failed-the-job", 0, 0, false},
          {"volcano/8-scaled-down", 1, 4, false},
          {"volcano/9-deleting", 1, 4}});
}

}  // namespace
}  // namespace yardmaster::extender
