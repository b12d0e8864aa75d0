// Jobs that Kueue admits and places, as its controllers really write them.
#include "gtest/gtest.h"

#include "pkg/extender/testing/kinds_fixture.h"

namespace yardmaster::extender {
namespace {

// Kueue's gates are respected, its hosts are observed and followed, and never pinned.
class KueueTest : public KindsTest {
 protected:
  KueueTest() {
    for (int h = 0; h < 24; ++h) AddNamedNode(StrCat("gpu-", h < 10 ? "0" : "", h), h / 8);
  }
  void AddNamedNode(const std::string& name, int segment) {
    json node = *client_.Find(kube::Nodes(), "", NodeName(0, 0));
    node["metadata"]["name"] = name;
    node["metadata"].erase("uid");
    node["metadata"].erase("resourceVersion");
    node["metadata"]["labels"][api::kSegmentLabel] = StrCat("k", segment);
    client_.Seed(kube::Nodes(), node);
  }
  // Nor has a Node a taint, which Kueue would take for the failure of a host that it chose.
  void ExpectNothingIsPinned() {
    for (const json& pod : client_.All(kube::Pods())) EXPECT_EQ(PinnedTo(pod), "");
    for (const kube::Call& call : client_.calls()) {
      const bool taints = call.verb == kube::Verb::kPatch && call.target.resource == kube::Nodes();
      EXPECT_FALSE(taints) << call.target.name << ": " << call.body;
    }
  }
};

TEST_F(KueueTest, Job) {
  Replay({{"kueue/job-1-queued", 0, 0},
          {"kueue/job-1b-pods-gated", 0, 0},
          {"kueue/job-2-admitted-running", 1, 4, false},
          {"kueue/job-3-pod-replaced", 1, 4},
          {"kueue/job-4-evicted", 0, 0, false},
          {"kueue/job-5b-readmitted-pods-gated", 0, 0},
          {"kueue/job-5-readmitted", 1, 4, false}});
  ExpectNothingIsPinned();
}

TEST_F(KueueTest, JobSet) {
  Replay({{"kueue/jobset-1-queued", 0, 0},
          {"kueue/jobset-1b-pods-gated", 0, 0},
          {"kueue/jobset-2-admitted-running", 1, 9, false},
          {"kueue/jobset-3-restarted", 1, 9, false}});
  ExpectNothingIsPinned();
}

TEST_F(KueueTest, LeaderWorkerSet) {
  Replay({{"kueue/lws-1-created", 0, 0}, {"kueue/lws-2-admitted-running", 2, 8, false}});
  ExpectNothingIsPinned();
}

TEST_F(KueueTest, PlainPodGroupsHaveNoRanksAndHearIt) {
  Apply("kueue/podgroup-1-created");
  const PassReport report = PassOfANewProcess();
  EXPECT_EQ(report.problems.size(), 3u);
  EXPECT_EQ(CountNotices("NotInGang"), 3);
}

}  // namespace
}  // namespace yardmaster::extender
