// Gangs of pods that no controller made.
#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

class PlainPodsTest : public BatchJobFixture {
 protected:
  std::string AddPlainPod(const std::string& job, int rank, const std::string& size) {
    const std::string name = StrCat(job, "-", rank, "-", ++made_);
    json pod =
        GatedPod(name, {{api::kGpuResource, "8"}},
                 {{api::kJobLabel, job}, {api::kRankLabel, StrCat(rank)}}, json::object(), "tp=8");
    pod["metadata"].erase("ownerReferences");
    if (!size.empty()) pod["metadata"]["annotations"][api::kGangSizeAnnotation] = size;
    client_.Seed(kube::Pods(), pod);
    return name;
  }
  json Pod(const std::string& name) { return *client_.Find(kube::Pods(), "team", name); }

  int made_ = 0;
};

TEST_F(PlainPodsTest, PodsThatSayThatTheyAreAGangArePlacedTogether) {
  Process process(*this, true);
  std::vector<std::string> pods;
  for (int rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(HostsOf("pods-a").empty()) << rank << " pods are there";
    pods.push_back(AddPlainPod("a", rank, "3"));
    process.Pass();
  }
  const auto hosts = HostsOf("pods-a");
  ASSERT_EQ(hosts.size(), 3u);
  for (std::size_t rank = 0; rank < 3; ++rank) EXPECT_EQ(PinnedTo(Pod(pods[rank])), hosts[rank]);
  EXPECT_EQ(CountNotices("NotInGang"), 0);
  EXPECT_EQ(Gang("pods-a")["spec"]["owner"]["name"], pods[0]) << "events are on the pod of rank 0";
}

TEST_F(PlainPodsTest, WithoutTheSizeTheyAreRefusedAndToldHow) {
  const std::string pod = AddPlainPod("a", 0, "");
  Process process(*this, true);
  process.Pass();
  EXPECT_TRUE(Gated(Pod(pod)));
  EXPECT_NE(NoticesAbout("NotInGang").find("say by yardmaster.dev/gang-size"), std::string::npos)
      << NoticesAbout("NotInGang");
}

TEST_F(PlainPodsTest, TheyNeverJoinTheGangOfAJobOfThatName) {
  AddJob("a", 2);
  Process process(*this, true);
  process.Pass();
  const json before = Slots("a");
  AddPlainPod("a", 1, "2");
  process.Pass();
  process.Pass();
  EXPECT_EQ(Slots("a"), before);
  EXPECT_TRUE(HostsOf("pods-a").empty());
}

TEST_F(PlainPodsTest, PodsThatAreGoneLeaveNeitherHostsNorAGang) {
  Process process(*this, true);
  const std::string first = AddPlainPod("a", 0, "2");
  const std::string second = AddPlainPod("a", 1, "2");
  process.Pass();
  ASSERT_EQ(HostsOf("pods-a").size(), 2u);
  DeletePod(first);
  DeletePod(second);
  process.Pass();
  clock_.Advance(16'000);
  process.Pass();
  EXPECT_TRUE(HostsOf("pods-a").empty());
  process.Pass();
  clock_.Advance(61'000);
  process.Pass();
  EXPECT_FALSE(client_.Find(kube::Gangs(), "team", "pods-a").has_value());
}

TEST_F(PlainPodsTest, APodMadeAgainGoesBackToTheHostOfItsRank) {
  Process process(*this, true);
  AddPlainPod("a", 0, "2");
  const std::string second = AddPlainPod("a", 1, "2");
  process.Pass();
  RunReleasedPods();
  const auto hosts = HostsOf("pods-a");
  DeletePod(second);
  process.Pass();
  const std::string again = AddPlainPod("a", 1, "2");
  process.Pass();
  EXPECT_EQ(PinnedTo(Pod(again)), hosts[1]);
}

}  // namespace
}  // namespace yardmaster::extender
