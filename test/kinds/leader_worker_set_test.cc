// LeaderWorkerSets of the real controller: each group of pods is a gang of its own.
#include "test/kinds/more_kinds_fixture.h"

namespace yardmaster::testing {
namespace {

class LeaderWorkerSetTest : public MoreKindsTest {
 protected:
  static void SetUpTestSuite() { StartControllers({{"lws", "{}"}}, "leaderworkersets"); }

  static json Template(int size) {
    json pods = PodTemplate(size);
    pods["spec"]["restartPolicy"] = "Always";
    return pods;
  }
  static json Groups(const std::string& name, int groups, int size) {
    return {{"apiVersion", "leaderworkerset.x-k8s.io/v1"},
            {"kind", "LeaderWorkerSet"},
            {"metadata", {{"name", name}, {"namespace", "team"}}},
            {"spec",
             {{"replicas", groups},
              {"leaderWorkerTemplate",
               {{"size", size},
                {"restartPolicy", "RecreateGroupOnPodRestart"},
                {"workerTemplate", Template(size)}}}}}};
  }
  static void Scale(const std::string& name, int groups) {
    Patch("leaderworkerset", name, {{"spec", {{"replicas", groups}}}});
  }
  static void SetSize(const std::string& name, int size) {
    const json pods = {{"size", size}, {"workerTemplate", Template(size)}};
    Patch("leaderworkerset", name, {{"spec", {{"leaderWorkerTemplate", pods}}}});
  }
  static std::string GangOf(const std::string& name, int group) {
    return StrCat("leaderworkerset-", name, "-", group);
  }
  static bool Holds(const std::string& name, int group, std::size_t hosts) {
    return WaitFor(kLongPatience, [&] { return HostsHeldBy(GangOf(name, group)).size() == hosts; });
  }
};

TEST_F(LeaderWorkerSetTest, AGroupGoesBackToItsHostsAfterAPodFailed) {
  Create(Groups("l", 1, 3));
  ASSERT_TRUE(Runs("l", 3)) << cluster_->Get({"gang", "-n", "team", GangOf("l", 0)}).dump(1);
  ExpectOnItsHosts("l", GangOf("l", 0));
  const std::set<std::string> hosts = RunsOn("l");
  const std::set<std::string> first = Uids("l");
  FailAPod("l");
  ASSERT_TRUE(RunsAnew("l", 3, first));
  EXPECT_EQ(RunsOn("l"), hosts);
  ExpectPromisesKept();
  ExpectFinished();
}

TEST_F(LeaderWorkerSetTest, AGroupLeavesAHostThatIsLost) {
  Create(Groups("l", 1, 3));
  ASSERT_TRUE(Runs("l", 3));
  LoseAHost("l", 3, GangOf("l", 0));
}

TEST_F(LeaderWorkerSetTest, GroupsComeAndGo) {
  Create(Groups("l", 1, 3));
  ASSERT_TRUE(Runs("l", 3));
  const std::set<std::string> hosts = RunsOn("l");
  Scale("l", 3);
  ASSERT_TRUE(Runs("l", 9));
  EXPECT_TRUE(IsIn(hosts, RunsOn("l")));
  Scale("l", 1);
  ASSERT_TRUE(Runs("l", 3));
  EXPECT_EQ(RunsOn("l"), hosts);
  EXPECT_TRUE(Holds("l", 1, 0));
  EXPECT_TRUE(Holds("l", 2, 0));
  Scale("l", 0);
  ASSERT_TRUE(HoldsNothing("l", GangOf("l", 0)));
  EXPECT_TRUE(WaitFor(kLongPatience, [] { return PromisedHosts().empty(); }));
  Scale("l", 2);
  EXPECT_TRUE(Runs("l", 6));
  ExpectPromisesKept();
  ExpectFinished();
}

TEST_F(LeaderWorkerSetTest, GroupsOfAnotherSizeReplaceTheOldOnes) {
  Create(Groups("l", 2, 3));
  ASSERT_TRUE(Runs("l", 6));
  for (const int size : {4, 2}) {
    const std::set<std::string> before = Uids("l");
    SetSize("l", size);
    ASSERT_TRUE(RunsAnew("l", 2 * size, before)) << cluster_->Get({"gangs", "-n", "team"}).dump(1);
    EXPECT_TRUE(Holds("l", 0, size));
    EXPECT_TRUE(Holds("l", 1, size));
    ExpectPromisesKept();
    ExpectFinished();
  }
}

TEST_F(LeaderWorkerSetTest, OneThatIsDeletedAndMadeAgainRuns) {
  Create(Groups("l", 2, 3));
  ASSERT_TRUE(Runs("l", 6));
  const std::set<std::string> first = Uids("l");
  DeleteWithoutWaiting("leaderworkerset", "l");
  Create(Groups("l", 1, 4));
  EXPECT_TRUE(RunsAnew("l", 4, first));
  ExpectPromisesKept();
  ExpectFinished();
}

}  // namespace
}  // namespace yardmaster::testing
