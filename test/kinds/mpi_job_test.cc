// MPIJobs of the real MPI operator: the workers are a gang, the launcher is an ordinary pod.
#include "test/kinds/more_kinds_fixture.h"

namespace yardmaster::testing {
namespace {

class MpiJobTest : public MoreKindsTest {
 protected:
  static void SetUpTestSuite() { StartControllers({{"mpi", "{}"}}, "mpijobs"); }

  static json MpiJob(const std::string& name, int workers) {
    return {{"apiVersion", "kubeflow.org/v2beta1"},
            {"kind", "MPIJob"},
            {"metadata", {{"name", name}, {"namespace", "team"}}},
            {"spec",
             {{"runPolicy", {{"suspend", false}}},
              {"mpiReplicaSpecs",
               {{"Launcher", {{"replicas", 1}, {"template", BareTemplate()}}},
                {"Worker", {{"replicas", workers}, {"template", PodTemplate(workers)}}}}}}}};
  }
  static void Suspend(const std::string& name, bool suspend) {
    Patch("mpijob", name, {{"spec", {{"runPolicy", {{"suspend", suspend}}}}}});
  }
};

TEST_F(MpiJobTest, AWorkerThatIsMadeAgainGoesBackToItsHost) {
  Create(MpiJob("m", 3));
  ASSERT_TRUE(Runs("m", 3)) << cluster_->Get({"gang", "-n", "team", "mpijob-m"}).dump(1);
  ExpectOnItsHosts("m", "mpijob-m");
  const std::set<std::string> hosts = RunsOn("m");
  const json gone = LivePods("m")[0];
  DeleteWithoutWaiting("pod", gone["metadata"]["name"]);
  EXPECT_TRUE(WaitFor(kLongPatience, [&] {
    return !Uids("m").contains(gone["metadata"]["uid"]) && RunsOn("m").size() == 3;
  }));
  EXPECT_EQ(RunsOn("m"), hosts);
  ExpectPromisesKept();
  ExpectFinished();
}

TEST_F(MpiJobTest, WorkersLeaveAHostThatIsLost) {
  Create(MpiJob("m", 3));
  ASSERT_TRUE(Runs("m", 3));
  LoseAHost("m", 3, "mpijob-m");
}

TEST_F(MpiJobTest, ASuspendedOneHoldsNothingAndComesBack) {
  Create(MpiJob("m", 3));
  ASSERT_TRUE(Runs("m", 3));
  Suspend("m", true);
  ASSERT_TRUE(HoldsNothing("m", "mpijob-m"));
  EXPECT_TRUE(WaitFor(kLongPatience, [] { return PromisedHosts().empty(); }));
  Suspend("m", false);
  EXPECT_TRUE(Runs("m", 3));
  ExpectFinished();
}

TEST_F(MpiJobTest, OneThatIsDeletedAndMadeAgainRuns) {
  Create(MpiJob("m", 3));
  ASSERT_TRUE(Runs("m", 3));
  const std::set<std::string> first = Uids("m");
  DeleteWithoutWaiting("mpijob", "m");
  Create(MpiJob("m", 4));
  EXPECT_TRUE(RunsAnew("m", 4, first));
  ExpectPromisesKept();
  ExpectFinished();
}

}  // namespace
}  // namespace yardmaster::testing
