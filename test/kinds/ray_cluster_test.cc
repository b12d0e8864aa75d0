// RayClusters of the real KubeRay: the workers are a gang, the head is an ordinary pod.
#include "test/kinds/more_kinds_fixture.h"

namespace yardmaster::testing {
namespace {

class RayClusterTest : public MoreKindsTest {
 protected:
  static void SetUpTestSuite() { StartControllers({{"ray", "{}"}}, "rayclusters"); }

  // KubeRay wants a group with bounds, and the number of workers is not in the annotation.
  static json RayCluster(const std::string& name, int workers) {
    json pods = PodTemplate(workers);
    pods["metadata"]["annotations"][api::kParallelismAnnotation] = "tp=8";
    return {{"apiVersion", "ray.io/v1"},
            {"kind", "RayCluster"},
            {"metadata", {{"name", name}, {"namespace", "team"}}},
            {"spec",
             {{"headGroupSpec", {{"rayStartParams", json::object()}, {"template", BareTemplate()}}},
              {"workerGroupSpecs", json::array({{{"groupName", "gpu"},
                                                 {"replicas", workers},
                                                 {"minReplicas", 0},
                                                 {"maxReplicas", 16},
                                                 {"rayStartParams", json::object()},
                                                 {"template", pods}}})}}}};
  }
  static void Scale(const std::string& name, int workers) {
    const json patch = json::array(
        {{{"op", "replace"}, {"path", "/spec/workerGroupSpecs/0/replicas"}, {"value", workers}}});
    const auto done = cluster_->plane().Kubectl(
        {"patch", "raycluster", name, "-n", "team", "--type=json", "-p", patch.dump()});
    ASSERT_TRUE(done.ok()) << done.status();
  }
};

TEST_F(RayClusterTest, AWorkerGoesBackToItsHostAfterItFailed) {
  Create(RayCluster("r", 3));
  ASSERT_TRUE(Runs("r", 3)) << cluster_->Get({"gang", "-n", "team", "raycluster-r"}).dump(1);
  ExpectOnItsHosts("r", "raycluster-r");
  const std::set<std::string> hosts = RunsOn("r");
  const std::set<std::string> first = Uids("r");
  FailAPod("r");
  EXPECT_TRUE(
      WaitFor(kLongPatience, [&] { return Uids("r") != first && RunsOn("r").size() == 3; }));
  EXPECT_EQ(RunsOn("r"), hosts);
  ExpectPromisesKept();
  ExpectFinished();
}

TEST_F(RayClusterTest, WorkersLeaveAHostThatIsLost) {
  Create(RayCluster("r", 3));
  ASSERT_TRUE(Runs("r", 3));
  LoseAHost("r", 3, "raycluster-r");
}

TEST_F(RayClusterTest, ItGrowsBesideItsHostsAndShrinksToSomeOfThem) {
  Create(RayCluster("r", 2));
  ASSERT_TRUE(Runs("r", 2));
  const std::set<std::string> hosts = RunsOn("r");
  Scale("r", 4);
  ASSERT_TRUE(Runs("r", 4)) << cluster_->Get({"gang", "-n", "team", "raycluster-r"}).dump(1);
  const std::set<std::string> more = RunsOn("r");
  EXPECT_TRUE(IsIn(hosts, more));
  ExpectOnItsHosts("r", "raycluster-r");
  Scale("r", 2);
  ASSERT_TRUE(Runs("r", 2));
  EXPECT_TRUE(IsIn(RunsOn("r"), more));
  ExpectPromisesKept();
  ExpectFinished();
}

TEST_F(RayClusterTest, ASuspendedOneHoldsNothingAndComesBack) {
  Create(RayCluster("r", 3));
  ASSERT_TRUE(Runs("r", 3));
  Patch("raycluster", "r", {{"spec", {{"suspend", true}}}});
  ASSERT_TRUE(HoldsNothing("r", "raycluster-r"));
  EXPECT_TRUE(WaitFor(kLongPatience, [] { return PromisedHosts().empty(); }));
  Patch("raycluster", "r", {{"spec", {{"suspend", false}}}});
  EXPECT_TRUE(Runs("r", 3));
  ExpectFinished();
}

TEST_F(RayClusterTest, OneThatIsDeletedAndMadeAgainRuns) {
  Create(RayCluster("r", 3));
  ASSERT_TRUE(Runs("r", 3));
  const std::set<std::string> first = Uids("r");
  DeleteWithoutWaiting("raycluster", "r");
  Create(RayCluster("r", 4));
  EXPECT_TRUE(RunsAnew("r", 4, first));
  ExpectPromisesKept();
  ExpectFinished();
}

}  // namespace
}  // namespace yardmaster::testing
