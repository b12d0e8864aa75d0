// Gangs whose GPUs come by resource claims: they are not placed yet, and none is started in part.
#include "gmock/gmock.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

using ::testing::HasSubstr;

class ClaimsTest : public BatchJobFixture {
 protected:
  // The pod asks for eight devices by a claim instead of by a limit.
  void ClaimInstead(json pod) {
    pod["spec"]["containers"][0]["resources"] = {{"claims", json::array({{{"name", "g"}}})}};
    Claim(std::move(pod));
  }
  void Claim(json pod) {
    pod["spec"]["resourceClaims"] =
        json::array({{{"name", "g"}, {"resourceClaimTemplateName", "eight"}}});
    client_.Seed(kube::Pods(), pod);
  }
  void PassFor(std::int64_t ms) {
    Process process(*this, true);
    process.Pass();
    for (int i = 0; i < 2; ++i) {
      clock_.Advance(ms / 2);
      process.Pass();
    }
  }
  int GatedPodsOf(const std::string& job) {
    int gated = 0;
    for (const json& pod : PodsOf(job)) gated += Gated(pod) ? 1 : 0;
    return gated;
  }
};

TEST_F(ClaimsTest, AGangThatClaimsItsGpusStaysBehindTheGateAndIsSaidOnOwnerAndPod) {
  AddBatchJob("a", 4);
  for (const json& pod : PodsOf("a")) ClaimInstead(pod);
  PassFor(20'000);
  EXPECT_EQ(GatedPodsOf("a"), 4);
  EXPECT_EQ(CountNotices("Invalid"), 2) << "one on the Job, one on a pod";
  EXPECT_THAT(NoticesAbout("Invalid"), HasSubstr("spec.resourceClaims: asks for devices by"));
  EXPECT_TRUE(Gang("job-a").empty());
}

TEST_F(ClaimsTest, OnePodThatClaimsItsGpusHoldsItsWholeGang) {
  AddBatchJob("a", 4);
  ClaimInstead(PodsOf("a").back());
  PassFor(20'000);
  EXPECT_EQ(GatedPodsOf("a"), 4);
  EXPECT_THAT(NoticesAbout("Invalid"), HasSubstr("spec.resourceClaims"));
}

TEST_F(ClaimsTest, AGangThatClaimsOtherDevicesBesideItsGpusIsPlaced) {
  AddBatchJob("a", 4);
  for (const json& pod : PodsOf("a")) Claim(pod);
  PassFor(1'000);
  EXPECT_EQ(HostsOf("job-a").size(), 4u);
  EXPECT_EQ(GatedPodsOf("a"), 0);
}

TEST_F(ClaimsTest, AnOrdinaryPodWithClaimsIsLeftAlone) {
  AddBatchJob("a", 1);
  json pod = PodsOf("a").front();
  pod["metadata"].erase("annotations");
  pod["spec"].erase("schedulingGates");
  ClaimInstead(pod);
  const json before = PodsOf("a").front();
  PassFor(20'000);
  EXPECT_EQ(PodsOf("a").front(), before);
  EXPECT_TRUE(notices_.empty());
}

TEST_F(ClaimsTest, AGangThatAsksForItsGpusInTheNextTryIsPlaced) {
  AddBatchJob("a", 2);
  for (const json& pod : PodsOf("a")) ClaimInstead(pod);
  PassFor(20'000);
  DeletePodsOf("a");
  for (int index = 0; index < 2; ++index) AddJobPod("a", index, "tp=8,dp=2");
  PassFor(1'000);
  EXPECT_EQ(HostsOf("job-a").size(), 2u);
}

}  // namespace
}  // namespace yardmaster::extender
