// Gangs of any owner with ranks in a segment that the Fabric's status calls lost.
#include "pkg/extender/facts/segment_evacuation.h"

#include "gtest/gtest.h"

#include "pkg/extender/testing/planner_fixture.h"

namespace yardmaster::extender {
namespace {

class SegmentEvacuationTest : public PlannerFixture {
 protected:
  SegmentEvacuationTest() : process_(*this, true) {
    for (int s = 2; s < 4; ++s) {
      for (int h = 0; h < kHostsPerSegment; ++h) AddNode(s, h);
    }
    AddFabric();
    json fabric = *client_.Find(kube::Fabrics(), "", "small");
    fabric["spec"]["size"]["segmentsPerFabricPod"] = 4;
    fabric["spec"]["tiers"][1]["downPorts"] = 32;
    client_.Seed(kube::Fabrics(), fabric);
    AddJob("a", 3);
    process_.Pass();
    RunReleasedPods();
    process_.Pass();
  }
  // As the operator writes it.
  void SetLost(const std::vector<std::string>& segments) {
    json fabric = *client_.Find(kube::Fabrics(), "", "small");
    fabric["status"]["lostSegments"] = json::array();
    for (const std::string& segment : segments) {
      fabric["status"]["lostSegments"].push_back(
          {{"fabricPod", "p0"}, {"segment", segment}, {"since", "2026-01-01T00:00:00Z"}});
    }
    client_.Seed(kube::Fabrics(), fabric);
  }
  std::string SegmentOf(int rank) {
    return Slots("a").at(static_cast<std::size_t>(rank))["segment"];
  }
  void Recreate(int rank) {
    DeletePod(StrCat("a-", rank));
    AddPod("a", rank);
  }

  Process process_;
};

TEST_F(SegmentEvacuationTest, NoRankMovesBeforeThePodsOfAllWaitBehindTheGate) {
  const std::string lost = SegmentOf(0);
  SetLost({lost});
  const json before = Slots("a");
  for (int rank = 0; rank < 2; ++rank) {
    Recreate(rank);
    process_.Pass();
    EXPECT_EQ(Slots("a"), before) << "one part of the data group would stay";
    EXPECT_TRUE(Gated(*client_.Find(kube::Pods(), "team", StrCat("a-", rank))))
        << "its host is Ready, and in the lost segment";
  }
  Recreate(2);
  process_.Pass();
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_NE(SegmentOf(rank), lost);
    EXPECT_EQ(SegmentOf(rank), SegmentOf(0));
    EXPECT_FALSE(Gated(*client_.Find(kube::Pods(), "team", StrCat("a-", rank))));
  }
  EXPECT_EQ(CountNotices("SegmentLeft"), 1);
  CheckPromises();
}

TEST_F(SegmentEvacuationTest, RunningPodsOfALostSegmentAreNotTouched) {
  const json before = Slots("a");
  SetLost({SegmentOf(0)});
  for (int i = 0; i < 3; ++i) process_.Pass();
  EXPECT_EQ(Slots("a"), before);
  EXPECT_EQ(Condition("a", "Degraded")["status"], "True");
}

TEST_F(SegmentEvacuationTest, AGangThatFindsNoPlaceStaysAndGoesOnWhenItsSegmentIsBack) {
  AddJob("b", 3);
  AddJob("c", 3);
  AddJob("d", 3);
  process_.Pass();
  const std::string lost = SegmentOf(0);
  const json before = Slots("a");
  SetLost({lost});
  for (int rank = 0; rank < 3; ++rank) Recreate(rank);
  process_.Pass();
  EXPECT_EQ(Slots("a"), before);
  const json planned = Condition("a", "Planned");
  EXPECT_EQ(planned["status"], "False");
  EXPECT_NE(planned["message"].get<std::string>().find("segment p0/" + lost + " is lost"),
            std::string::npos)
      << planned["message"];
  SetLost({});
  process_.Pass();
  process_.Pass();
  EXPECT_EQ(Slots("a"), before);
  EXPECT_FALSE(Gated(*client_.Find(kube::Pods(), "team", "a-0")));
  EXPECT_EQ(Condition("a", "Planned")["status"], "True");
  EXPECT_EQ(Condition("a", "Degraded")["status"], "False");
  CheckPromises();
}

TEST_F(SegmentEvacuationTest, NewGangsAreNotPlacedThere) {
  SetLost({"s0", "s1", "s2", "s3"});
  AddJob("b", 1);
  process_.Pass();
  EXPECT_FALSE(Placed("b"));
  SetLost({"s0", "s1", "s2"});
  process_.Pass();
  ASSERT_TRUE(Placed("b"));
  EXPECT_EQ(Slots("b")[0]["segment"], "s3");
}

}  // namespace
}  // namespace yardmaster::extender
