// Gangs with ranks in a domain that the Fabric's status calls lost.
#include "gtest/gtest.h"

#include "pkg/extender/testing/planner_fixture.h"

namespace yardmaster::extender {
namespace {

// Segments of eight hosts: domain d0 is h0 to h3, of which h3 is a backup host, d1 is h4 to h7.
class DomainEvacuationTest : public PlannerFixture {
 protected:
  DomainEvacuationTest() : process_(*this, true) {
    for (int s = 0; s < 2; ++s) {
      for (int h = 0; h < 2 * kHostsPerSegment; ++h) {
        if (h >= kHostsPerSegment) AddNode(s, h);
        json node = *client_.Find(kube::Nodes(), "", NodeName(s, h));
        node["metadata"]["labels"]["yardmaster.dev/domain"] = DomainName(s, h);
        client_.Seed(kube::Nodes(), node);
      }
    }
    AddFabric();
    json fabric = *client_.Find(kube::Fabrics(), "", "small");
    fabric["spec"]["size"]["hostsPerSegment"] = 8;
    client_.Seed(kube::Fabrics(), fabric);
  }
  static std::string DomainName(int segment, int host) {
    return StrCat("s", segment, "d", host / kHostsPerSegment);
  }
  // Of one tensor group.
  void AddGroup(const std::string& name, int workers) {
    AddJob(name, workers, "{}", {{"parallelism", {{"tensor", 8 * workers}}}});
  }
  void StartAll() {
    process_.Pass();
    RunReleasedPods();
    process_.Pass();
  }
  void SetLost(const std::string& domain) {
    json fabric = *client_.Find(kube::Fabrics(), "", "small");
    fabric["status"]["lostDomains"] = {{{"fabricPod", "p0"},
                                        {"segment", domain.substr(0, 2)},
                                        {"domain", domain},
                                        {"since", "2026-01-01T00:00:00Z"}}};
    client_.Seed(kube::Fabrics(), fabric);
  }
  std::string DomainOf(const std::string& job, int rank) {
    const std::string host = Slots(job).at(static_cast<std::size_t>(rank))["host"];
    return DomainName(host[1] - '0', host[3] - '0');
  }
  void Recreate(const std::string& job, int rank) {
    DeletePod(StrCat(job, "-", rank));
    AddPod(job, rank);
  }

  Process process_;
};

TEST_F(DomainEvacuationTest, AGroupLeavesItsDomainTogetherForOneThatHoldsIt) {
  AddGroup("a", 3);
  StartAll();
  const std::string lost = DomainOf("a", 0);
  const json before = Slots("a");
  SetLost(lost);
  for (int rank = 0; rank < 2; ++rank) {
    Recreate("a", rank);
    process_.Pass();
    EXPECT_EQ(Slots("a"), before) << "a part of the group would stay";
  }
  Recreate("a", 2);
  process_.Pass();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_NE(DomainOf("a", rank), lost);
    EXPECT_EQ(DomainOf("a", rank), DomainOf("a", 0));
    EXPECT_FALSE(Gated(*client_.Find(kube::Pods(), "team", StrCat("a-", rank))));
  }
  EXPECT_EQ(CountNotices("DomainLeft"), 1);
  EXPECT_EQ(CountNotices("HostReplaced"), 0);
  CheckPromises();
}

TEST_F(DomainEvacuationTest, BackupHostsAreUsedWhereNothingElseHoldsTheRanks) {
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f"};
  for (const std::string& name : names) AddGroup(name, 2);
  StartAll();
  // What is left: in each d0 a backup host and an ordinary one.
  for (const std::string& name : names) ASSERT_TRUE(Placed(name)) << name;
  const auto found = std::find_if(names.begin(), names.end(), [&](const std::string& name) {
    return DomainOf(name, 0).ends_with("d1");
  });
  ASSERT_NE(found, names.end());
  const std::string segment = DomainOf(*found, 0).substr(0, 2);
  SetLost(DomainOf(*found, 0));
  for (int rank = 0; rank < 2; ++rank) Recreate(*found, rank);
  process_.Pass();
  for (int rank = 0; rank < 2; ++rank) EXPECT_EQ(DomainOf(*found, rank), segment + "d0");
  EXPECT_EQ(CountNotices("DomainLeft"), 1);
  CheckPromises();
}

TEST_F(DomainEvacuationTest, RunningPodsOfALostDomainAreNotTouchedAndNewOnesDoNotComeThere) {
  AddGroup("a", 3);
  StartAll();
  const json before = Slots("a");
  const std::string lost = DomainOf("a", 0);
  SetLost(lost);
  for (int i = 0; i < 3; ++i) process_.Pass();
  EXPECT_EQ(Slots("a"), before);
  EXPECT_EQ(Condition("a", "Degraded")["status"], "True");
  AddGroup("b", 1);
  process_.Pass();
  ASSERT_TRUE(Placed("b"));
  EXPECT_NE(DomainOf("b", 0), lost);
}

}  // namespace
}  // namespace yardmaster::extender
