// Gangs that are not whole are seen: events, problems and conditions say what they lack.
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/extender/testing/batch_job_fixture.h"

namespace yardmaster::extender {
namespace {

using testing::HasSubstr;

class IncompleteGangsTest : public BatchJobFixture {
 protected:
  // A Job of four of which only the first pod was made.
  std::string AddJobOfOnePod() {
    AddBatchJob("w", 4);
    DeletePodsOf("w");
    return AddJobPod("w", 0, "tp=8,dp=4");
  }
  PassReport PassAfter(Process& process, std::int64_t ms) {
    clock_.Advance(ms);
    return process.Pass();
  }
};

constexpr char kOneOfFour[] = "1 of 4 pods are there, ranks 1-3 are missing; Job w makes them";

TEST_F(IncompleteGangsTest, AnEventOnOwnerAndPodSaysAfterTenSecondsWhatIsMissing) {
  const std::string pod = AddJobOfOnePod();
  Process process(*this, true);
  process.Pass();
  PassAfter(process, 9'000);
  EXPECT_EQ(CountNotices("Incomplete"), 0) << "controllers make pods one after another";
  const PassReport report = PassAfter(process, 1'000);
  ASSERT_EQ(CountNotices("Incomplete"), 2);
  EXPECT_THAT(NoticesAbout("Incomplete"), HasSubstr(kOneOfFour));
  EXPECT_EQ(notices_[0].regarding.kind, "Job");
  EXPECT_EQ(notices_[0].regarding.name, "w");
  EXPECT_EQ(notices_[1].regarding.kind, "Pod");
  EXPECT_EQ(notices_[1].regarding.name, pod);
  EXPECT_THAT(report.problems, testing::Contains(HasSubstr(kOneOfFour)));
}

TEST_F(IncompleteGangsTest, ItIsSaidOnceUntilSomethingElseIsMissing) {
  AddJobOfOnePod();
  Process process(*this, true);
  process.Pass();
  for (int i = 0; i < 5; ++i) PassAfter(process, 10'000);
  EXPECT_EQ(CountNotices("Incomplete"), 2);
  AddJobPod("w", 2, "tp=8,dp=4");
  process.Pass();
  EXPECT_EQ(CountNotices("Incomplete"), 2);
  PassAfter(process, 10'000);
  EXPECT_EQ(CountNotices("Incomplete"), 4);
  EXPECT_THAT(NoticesAbout("Incomplete"),
              HasSubstr("2 of 4 pods are there, ranks 1,3 are missing"));
}

TEST_F(IncompleteGangsTest, AGangThatIsWholeInTimeSaysNothing) {
  AddJobOfOnePod();
  Process process(*this, true);
  process.Pass();
  PassAfter(process, 8'000);
  for (int index = 1; index < 4; ++index) AddJobPod("w", index, "tp=8,dp=4");
  PassAfter(process, 1'000);
  PassAfter(process, 60'000);
  EXPECT_EQ(CountNotices("Incomplete"), 0);
  EXPECT_EQ(HostsOf("job-w").size(), 4u);
}

TEST_F(IncompleteGangsTest, TheSizeThatOnlyTheOwnerSaysIsCounted) {
  AddBatchJob("w", 4);
  DeletePodsOf("w");
  AddJobPod("w", 0, "tp=8");
  Process process(*this, true);
  process.Pass();
  PassAfter(process, 10'000);
  EXPECT_THAT(NoticesAbout("Incomplete"), HasSubstr(kOneOfFour));
}

TEST_F(IncompleteGangsTest, PodsThatContradictThemselvesAreSaidOnOwnerAndPod) {
  AddBatchJob("w", 1);
  DeletePodsOf("w");
  AddJobPod("w", 0, "tp=8,dp=nothing");
  Process process(*this, true);
  process.Pass();
  PassAfter(process, 10'000);
  EXPECT_EQ(CountNotices("Invalid"), 2);
  EXPECT_THAT(NoticesAbout("Invalid"), HasSubstr(api::kParallelismAnnotation));
}

TEST_F(IncompleteGangsTest, PodsBehindTheGateOfAnotherControllerAreSaid) {
  AddBatchJob("w", 2);
  for (json pod : PodsOf("w")) {
    pod["spec"]["schedulingGates"].push_back({{"name", "kueue.x-k8s.io/admission"}});
    client_.Seed(kube::Pods(), pod);
  }
  Process process(*this, true);
  process.Pass();
  PassAfter(process, 10'000);
  EXPECT_EQ(CountNotices("HeldByOthers"), 2);
  EXPECT_THAT(NoticesAbout("HeldByOthers"), HasSubstr("kueue.x-k8s.io/admission"));
}

TEST_F(IncompleteGangsTest, AGangThatLosesAPodBeforeItIsPlacedSaysSoInItsCondition) {
  AddBatchJob("w", 7);  // there are six hosts
  Process process(*this, true);
  process.Pass();
  ASSERT_THAT(Gang("job-w").dump(), HasSubstr("short in the fabric"));
  DeletePod(PodsOf("w").back()["metadata"]["name"]);
  process.Pass();
  PassAfter(process, 10'000);
  const json gang = Gang("job-w");
  EXPECT_THAT(gang["status"]["conditions"].dump(), HasSubstr("6 of 7 pods are there"));
  EXPECT_EQ(gang["status"].value("reasons", json::array()), json::array())
      << "what was planned does not hold any more";
}

}  // namespace
}  // namespace yardmaster::extender
