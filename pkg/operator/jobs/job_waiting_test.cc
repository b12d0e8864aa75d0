// What jobs cost that wait for a place: what is asked for them, and how often their status is
// written.
#include <set>

#include "pkg/operator/jobs/admission_answers.h"
#include "pkg/operator/jobs/quota_check.h"
#include "pkg/operator/jobs/status_pace.h"
#include "pkg/operator/testing/placed_job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class JobWaitingTest : public PlacedJobFixture {
 protected:
  JobWaitingTest() {
    place_ = {.first = true};
    NewLeader();
  }

  // Job `name` beside "a", like it but for what `more` says.
  void SeedAlike(const std::string& name, const json& more = json::object()) {
    json job = Job();
    job.erase("status");
    job["metadata"] = {{"name", name}, {"namespace", "team"}, {"uid", "job-" + name}};
    job.merge_patch(more);
    client_.Seed(kube::TrainingJobs(), job);
  }
  // The turns that a new job has.
  void RunNew(const std::string& name) {
    for (const JobTurn turn : {JobTurn::kPrompt, JobTurn::kBackground, JobTurn::kPrompt}) {
      Sync();
      const auto done = controller_->RunOnce("team/" + name, turn);
      ASSERT_TRUE(done.ok()) << done.status();
    }
  }
  int DryRuns() {
    int count = 0;
    for (const kube::Call& call : client_.calls()) {
      count += call.verb == kube::Verb::kCreate && call.dry_run ? 1 : 0;
    }
    return count;
  }
  int StatusWrites() { return client_.CountCalls(kube::Verb::kPatch, "trainingjobs/status"); }
  // As the extender says why the job has no place.
  void SayWhy() {
    api::Gang gang = Gang().value();
    SetGangCondition(gang, api::kPlannedCondition, false);
    Write(gang);
  }
  // A pod is refused when it is made; to ask about it is not.
  void RefusePods() {
    client_.SetHook([](const kube::Call& call) {
      const bool refused =
          call.verb == kube::Verb::kCreate && !call.dry_run && kube::WhereOf(call.target) == "pods";
      return refused ? absl::PermissionDeniedError("a webhook says no") : absl::OkStatus();
    });
  }
};

TEST_F(JobWaitingTest, JobsOfOneTemplateCostOneQuestionAndEachHasItsOwnGang) {
  SeedJob(2, 3);
  RunNew("a");
  std::set<std::string> owners = {"job"};
  for (int i = 0; i < 20; ++i) {
    SeedAlike(StrCat("b", i));
    RunNew(StrCat("b", i));
    owners.insert(StrCat("job-b", i));
  }
  EXPECT_EQ(DryRuns(), 1);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kList, "resourcequotas"), 1);
  std::set<std::string> owners_of_gangs;
  for (const json& object : client_.All(kube::Gangs())) {
    const auto gang = api::DecodeGang(object);
    ASSERT_TRUE(gang.ok()) << gang.status();
    owners_of_gangs.insert(gang->owner.uid);
    EXPECT_EQ(gang->metadata.name, api::GangName(api::kTrainingJobKind, gang->owner.name));
    ASSERT_EQ(gang->metadata.owners.size(), 1u);
    EXPECT_EQ(gang->metadata.owners[0].uid, gang->owner.uid);
    EXPECT_EQ(workload::AmountOf(gang->requests, api::kGpuResource), 8);
  }
  EXPECT_EQ(owners_of_gangs, owners);
}

TEST_F(JobWaitingTest, AnotherTemplateIsAnotherQuestion) {
  SeedJob(2, 3);
  RunNew("a");
  SeedAlike("b", {{"spec", {{"template", {{"metadata", {{"labels", {{"x", "y"}}}}}}}}}});
  RunNew("b");
  SeedAlike("c", {{"metadata", {{"labels", {{"x", "y"}}}}}});
  RunNew("c");
  EXPECT_EQ(DryRuns(), 3);
}

TEST_F(JobWaitingTest, AfterAWhileItIsAskedAgain) {
  SeedJob(2, 3);
  RunNew("a");
  clock_.Advance(QuotaReader::kQuotasMs);
  SeedAlike("b");
  RunNew("b");
  EXPECT_EQ(DryRuns(), 1);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kList, "resourcequotas"), 2);
  clock_.Advance(AdmissionAnswers::kLifeMs);
  SeedAlike("c");
  RunNew("c");
  EXPECT_EQ(DryRuns(), 2);
}

TEST_F(JobWaitingTest, APodThatIsRefusedMakesTheNextJobAsk) {
  SeedJob(2, 3);
  RunNew("a");
  Place();
  RefusePods();
  Sync();
  EXPECT_FALSE(controller_->RunOnce("team/a", JobTurn::kBackground).ok());
  SeedAlike("b");
  RunNew("b");
  EXPECT_EQ(DryRuns(), 2);
  EXPECT_EQ(client_.CountCalls(kube::Verb::kList, "resourcequotas"), 2);
}

TEST_F(JobWaitingTest, ARefusedQuestionIsNoAnswerForOthers) {
  client_.SetHook([](const kube::Call& call) {
    return call.dry_run ? absl::PermissionDeniedError("a webhook says no") : absl::OkStatus();
  });
  SeedJob(2, 3);
  Sync();
  EXPECT_FALSE(controller_->RunOnce("team/a", JobTurn::kBackground).ok());
  client_.SetHook(nullptr);
  SeedAlike("b");
  RunNew("b");
  EXPECT_EQ(DryRuns(), 2);
  EXPECT_EQ(Reason("Stalled"), "PodsRefused") << "and it was told at once";
  EXPECT_EQ(StatusWrites(), 1);
}

TEST_F(JobWaitingTest, TheFirstStatusIsTheOneThatSaysWhyTheJobWaits) {
  SeedJob(2, 3);
  RunNew("a");
  ASSERT_TRUE(Gang());
  EXPECT_EQ(StatusWrites(), 0);
  SayWhy();
  RunNew("a");
  EXPECT_EQ(StatusWrites(), 1);
  EXPECT_EQ(Reason("Planned"), "Because");
  EXPECT_EQ(Reason("Queued"), "Because");
  EXPECT_EQ(Condition("Running"), "False");
}

TEST_F(JobWaitingTest, WhereTheLedgerSaysNothingTheStatusIsWrittenAllTheSame) {
  SeedJob(2, 3);
  Sync();
  const auto first = controller_->RunOnce("team/a", JobTurn::kPrompt);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ(first->look_again_ms, kFirstMs);
  clock_.Advance(kFirstMs);
  RunNew("a");
  EXPECT_EQ(Reason("Planned"), kGatheringReason);
  EXPECT_EQ(StatusWrites(), 1);
}

// A new leader waits once more, and no longer.
TEST_F(JobWaitingTest, TheNextLeaderWritesWhatTheOneBeforeHasNot) {
  SeedJob(2, 3);
  RunNew("a");
  clock_.Advance(kFirstMs - 1);
  NewLeader();
  RunNew("a");
  EXPECT_EQ(StatusWrites(), 0);
  clock_.Advance(kFirstMs);
  RunNew("a");
  EXPECT_EQ(StatusWrites(), 1);
}

TEST_F(JobWaitingTest, AJobThatGetsItsPlaceAtOnceHasItsStatusBeforeItsPods) {
  SeedJob(2, 3);
  RunNew("a");
  Place();
  client_.SetHook([this](const kube::Call& call) {
    if (call.verb == kube::Verb::kCreate && kube::WhereOf(call.target) == "pods") {
      EXPECT_EQ(Condition("Placed"), "True");
    }
    return absl::OkStatus();
  });
  RunNew("a");
  EXPECT_TRUE(HasPod(0) && HasPod(1));
}

TEST_F(JobWaitingTest, APodsStatusComesFirstWherePodsDo) {
  SeedJob(
      2, 3,
      {{"template",
        {{"spec",
          {{"volumes",
            json::array({{{"name", "v"}, {"persistentVolumeClaim", {{"claimName", "c"}}}}})}}}}}});
  client_.SetHook([this](const kube::Call& call) {
    if (call.verb == kube::Verb::kCreate && kube::WhereOf(call.target) == "pods" && !call.dry_run) {
      EXPECT_EQ(Condition("Queued"), "True");
    }
    return absl::OkStatus();
  });
  RunNew("a");
  RunNew("a");
  EXPECT_TRUE(IsGated(0) && IsGated(1));
}

}  // namespace
}  // namespace yardmaster::op
