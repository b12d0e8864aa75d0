// A job's wish that its ranks stay off hosts.
#include "gtest/gtest.h"

#include "pkg/extender/testing/planner_fixture.h"

namespace yardmaster::extender {
namespace {

class EligibleHostsTest : public PlannerFixture {
 protected:
  void Avoid(const std::string& pod_name, const std::string& hosts) {
    json pod = *client_.Find(kube::Pods(), "team", pod_name);
    pod["metadata"]["annotations"][api::kAvoidHostsAnnotation] = hosts;
    client_.Seed(kube::Pods(), pod);
  }
  std::string HostOf(const std::string& job, std::size_t rank) { return Slots(job)[rank]["host"]; }
};

TEST_F(EligibleHostsTest, ARankWhosePodAvoidsItsHostMovesAndTheOthersStay) {
  AddJob("a", 2);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  const std::string before = HostOf("a", 0), other = HostOf("a", 1);
  DeletePod("a-0");
  AddPod("a", 0);
  Avoid("a-0", before);
  process.Pass();
  EXPECT_NE(HostOf("a", 0), before);
  EXPECT_EQ(HostOf("a", 1), other);
  EXPECT_EQ(PinnedTo(*client_.Find(kube::Pods(), "team", "a-0")), HostOf("a", 0));
}

TEST_F(EligibleHostsTest, APodThatRunsOnAnAvoidedHostStays) {
  AddJob("a", 2);
  Process process(*this, true);
  process.Pass();
  RunReleasedPods();
  const json before = Slots("a");
  Avoid("a-0", HostOf("a", 0));
  process.Pass();
  EXPECT_EQ(Slots("a"), before);
}

TEST_F(EligibleHostsTest, ANewGangIsNotPlacedOnAnAvoidedHost) {
  AddJob("a", 2);
  Avoid("a-0", "s0h0,s0h1,s1h0,gone");
  PassOfANewProcess();
  ASSERT_TRUE(Placed("a"));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_NE(HostOf("a", rank), "s0h0");
    EXPECT_NE(HostOf("a", rank), "s0h1");
    EXPECT_NE(HostOf("a", rank), "s1h0");
  }
}

TEST_F(EligibleHostsTest, AQuarantinedHostGetsNoRankWhateverAPodTolerates) {
  json node = *client_.Find(kube::Nodes(), "", "s0h0");
  node["spec"]["taints"] = json::array({{{"key", api::kQuarantinedKey}, {"effect", "NoSchedule"}}});
  client_.Seed(kube::Nodes(), node);
  AddJob("a", 3, R"({"data": {"within": "Segment", "mode": "Required"}})",
         {{"template",
           {{"spec",
             {{"containers", json::array()},
              {"tolerations", json::array({{{"operator", "Exists"}}})}}}}}});
  PassOfANewProcess();
  ASSERT_TRUE(Placed("a"));
  for (const json& slot : Slots("a")) EXPECT_EQ(slot["segment"], "s1") << slot;
}

}  // namespace
}  // namespace yardmaster::extender
