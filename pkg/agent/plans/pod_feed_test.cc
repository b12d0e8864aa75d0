#include "pkg/agent/plans/pod_feed.h"

#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"
#include "pkg/base/clock.h"

namespace yardmaster::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

nlohmann::json PodOn(const std::string& node, const std::string& uid) {
  return {{"metadata",
           {{"namespace", "team"},
            {"name", uid},
            {"uid", uid},
            {"annotations", {{"yardmaster.dev/network-priority", "1"}}}}},
          {"spec", {{"nodeName", node}}}};
}

class PodFeedTest : public ::testing::Test {
 protected:
  // What a loop that got all these changes would have on disk.
  std::map<PlanFileId, std::string> Files() {
    loop_.Begin();
    loop_.Start();
    loop_.Stop();
    return sink_.files();
  }

  FakeClock clock_;
  FakeSink sink_;
  PlanLoop loop_{clock_, sink_, [](const PodNotice&) {}};
  PodFeed feed_{loop_};
};

TEST_F(PodFeedTest, OnlyPodsOfOurNodesCountWhateverComesFirst) {
  feed_.PutPod(PodOn("n1", "a"));
  feed_.AddNode("n1");
  feed_.AddNode("n2");
  feed_.PutPod(PodOn("n2", "b"));
  feed_.PutPod(PodOn("n3", "c"));
  EXPECT_THAT(feed_.nodes(), ElementsAre("n1", "n2"));
  EXPECT_THAT(Files(), ElementsAre(Pair(PlanFileId{"n1", "a"}, ::testing::_),
                                   Pair(PlanFileId{"n2", "b"}, ::testing::_)));
}

TEST_F(PodFeedTest, PodsOfOurNodesThatSaySomethingOfTheirProgressAreKnown) {
  feed_.AddNode("n1");
  for (const char* uid : {"c", "b", "a"}) {
    nlohmann::json pod = PodOn(uid[0] == 'a' ? "n2" : "n1", uid);
    feed_.PutPod(pod);
    pod["metadata"]["annotations"]["yardmaster.dev/progress"] = "{}";
    if (uid[0] != 'b') feed_.PutPod(pod);
  }
  EXPECT_THAT(feed_.UidsWithProgress(), ElementsAre("c"));
}

TEST_F(PodFeedTest, APodIsDroppedWithItsNodeItsAnnotationsOrItself) {
  feed_.AddNode("n1");
  feed_.AddNode("n2");
  feed_.PutPod(PodOn("n1", "deleted"));
  feed_.DropPod("deleted");

  feed_.PutPod(PodOn("n2", "node-went"));
  feed_.RemoveNode("n2");

  nlohmann::json pod = PodOn("n1", "ended");
  feed_.PutPod(pod);
  pod["status"]["phase"] = "Succeeded";
  feed_.PutPod(pod);

  pod = PodOn("n1", "no-longer-annotated");
  feed_.PutPod(pod);
  pod["metadata"].erase("annotations");
  feed_.PutPod(pod);
  EXPECT_THAT(Files(), IsEmpty());
}

TEST_F(PodFeedTest, ANodeThatComesBackBringsItsPods) {
  feed_.AddNode("n1");
  feed_.PutPod(PodOn("n1", "a"));
  feed_.RemoveNode("n1");
  feed_.AddNode("n1");
  EXPECT_THAT(Files(), ElementsAre(Pair(PlanFileId{"n1", "a"}, ::testing::_)));
}

TEST_F(PodFeedTest, ANodeThatWasRecreatedIsAmongTheRemovedOnesOnce) {
  feed_.AddNode("n1");
  feed_.AddNode("n2");
  feed_.RemoveNode("n1");
  feed_.AddNode("n1");
  EXPECT_THAT(feed_.TakeRemovedNodes(), ElementsAre("n1"));
  EXPECT_THAT(feed_.TakeRemovedNodes(), IsEmpty());
  EXPECT_THAT(feed_.nodes(), ElementsAre("n1", "n2"));
}

}  // namespace
}  // namespace yardmaster::agent
