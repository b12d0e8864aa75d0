// Jobs whose workers have a ComputeDomain of NVIDIA's driver: when it is made, what is in its way,
// and what becomes of it over the life of a job.
#include "gmock/gmock.h"

#include "pkg/api/compute_domain.h"
#include "pkg/kube/testing/kill_at_write.h"
#include "pkg/operator/testing/placed_job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

const json kWithDomain = {{"computeDomain", true}};

class JobComputeDomainTest : public PlacedJobFixture {
 protected:
  JobComputeDomainTest() { PlaceFirst(true); }

  void PlaceFirst(bool first) {
    place_ = {.first = first};
    NewLeader();
  }
  // Asks for its place, gets it, and runs.
  void RunPlaced() {
    SeedJob(2, 2, kWithDomain);
    RunUntilStable();
    Place();
    RunAll();
    MarkReleased();
    RunUntilStable();
  }
  json Domain() { return client_.Find(kube::ComputeDomains(), "team", "a").value_or(json()); }
  void SeedDomain(const json& metadata) {
    json domain = {{"metadata", {{"name", "a"}, {"namespace", "team"}, {"uid", "d"}}}};
    domain["metadata"].merge_patch(metadata);
    client_.Seed(kube::ComputeDomains(), domain);
  }
  // Calls that make ComputeDomains are answered so; `asked_too`: those that ask whether they would
  // be made are, too.
  void AnswerDomains(const absl::Status& answer, bool asked_too = true) {
    client_.SetHook([answer, asked_too](const kube::Call& call) {
      const bool makes =
          call.verb == kube::Verb::kCreate && kube::WhereOf(call.target) == "computedomains";
      return makes && (asked_too || !call.dry_run) ? answer : absl::OkStatus();
    });
  }
  // The position of the first call that makes one; -1: none.
  int FirstCreate(const std::string& where) {
    const auto calls = client_.calls();
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i].verb == kube::Verb::kCreate && !calls[i].dry_run &&
          kube::WhereOf(calls[i].target) == where) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }
  void ExpectWaits(const std::string& why) {
    EXPECT_EQ(Reason("Stalled"), "ComputeDomainUnavailable");
    EXPECT_EQ(Reason("Planned"), "ComputeDomainUnavailable");
    EXPECT_THAT(Message("Stalled"), HasSubstr(why));
    EXPECT_EQ(CountNotices("Stalled"), 1);
    EXPECT_FALSE(HasPod(0));
  }
};

TEST_F(JobComputeDomainTest, TheJobAsksForItsPlaceFirstAndHasItsDomainBeforeItsPods) {
  SeedJob(2, 2, kWithDomain);
  RunUntilStable();
  ASSERT_TRUE(Gang());
  EXPECT_EQ(Gang()->pods, api::GangPods::kFollow);
  EXPECT_EQ(workload::AmountOf(Gang()->requests, api::kChannelOfHost), 1);
  EXPECT_EQ(Domain(), json()) << "a job that waits holds nothing";
  Place();
  RunUntilStable();
  const json domain = Domain();
  ASSERT_TRUE(domain.is_object());
  EXPECT_EQ(domain["apiVersion"], "resource.nvidia.com/v1beta1");
  EXPECT_EQ(domain["kind"], "ComputeDomain");
  EXPECT_EQ(domain["metadata"]["ownerReferences"][0]["uid"], "job");
  EXPECT_EQ(domain["spec"],
            (json{{"numNodes", 0},
                  {"channel", {{"resourceClaimTemplate", {{"name", "a-compute-domain"}}}}}}));
  EXPECT_LT(FirstCreate("computedomains"), FirstCreate("pods"));
  for (int rank = 0; rank < 2; ++rank) {
    const json spec = Pod(rank)["spec"];
    EXPECT_EQ(spec["resourceClaims"],
              json::array({{{"name", api::kComputeDomainClaim},
                            {"resourceClaimTemplateName", "a-compute-domain"}}}));
    EXPECT_EQ(spec["containers"][0]["resources"]["claims"],
              json::array({{{"name", api::kComputeDomainClaim}}}));
    EXPECT_EQ(spec["containers"][0]["resources"]["limits"][api::kGpuResource], "8");
    EXPECT_EQ(HostOfPin(rank), StrCat("n", rank));
  }
}

TEST_F(JobComputeDomainTest, WithPodsFirstTheDomainComesBeforeThemToo) {
  PlaceFirst(false);
  SeedJob(2, 2, kWithDomain);
  RunUntilStable();
  EXPECT_TRUE(Domain().is_object());
  EXPECT_TRUE(HasPod(0) && HasPod(1));
  EXPECT_LT(FirstCreate("computedomains"), FirstCreate("pods"));
}

TEST_F(JobComputeDomainTest, WithoutTheDriverTheJobHoldsNothingAndSaysWhatToInstall) {
  AnswerDomains(absl::NotFoundError("the server could not find the requested resource"));
  SeedJob(2, 2, kWithDomain);
  RunUntilStable();
  ExpectWaits("install NVIDIA's DRA driver for GPUs with ComputeDomains");
  EXPECT_FALSE(Gang());
  client_.SetHook(nullptr);
  RunUntilStable();
  EXPECT_EQ(Condition("Stalled"), "False");
  Place();
  RunUntilStable();
  EXPECT_TRUE(HasPod(0) && HasPod(1));
}

TEST_F(JobComputeDomainTest, WithoutTheRightTheJobSaysWhichValueGivesIt) {
  AnswerDomains(absl::PermissionDeniedError("computedomains is forbidden"));
  SeedJob(2, 2, kWithDomain);
  RunUntilStable();
  ExpectWaits("computedomains is forbidden; set the chart's computeDomains.enabled");
}

TEST_F(JobComputeDomainTest, ADomainOfAnotherOwnerIsNamedAndLeftAlone) {
  SeedDomain({{"ownerReferences", json::array({{{"uid", "other"}}})}});
  SeedJob(2, 2, kWithDomain);
  RunUntilStable();
  ExpectWaits("ComputeDomain a exists and does not belong to this job");
  EXPECT_EQ(Domain()["metadata"]["ownerReferences"][0]["uid"], "other");
}

TEST_F(JobComputeDomainTest, ADomainThatIsBeingDeletedIsWaitedFor) {
  SeedDomain({{"ownerReferences", json::array({{{"uid", "job"}}})},
              {"finalizers", json::array({"resource.nvidia.com/computeDomain"})},
              {"deletionTimestamp", "2026-01-01T00:00:00Z"}});
  SeedJob(2, 2, kWithDomain);
  RunUntilStable();
  ExpectWaits("ComputeDomain a is being deleted");
}

TEST_F(JobComputeDomainTest, AClaimOfTheTemplateToAChannelIsNamed) {
  cache_->Deliver(
      state::Kind::kResourceClaimTemplate,
      json{{"metadata", {{"name", "own"}, {"namespace", "team"}}},
           {"spec",
            {{"spec",
              {{"devices",
                {{"requests",
                  json::array({{{"name", "c"},
                                {"exactly", {{"deviceClassName", api::kChannelClass}}}}})}}}}}}}});
  json spec = kWithDomain;
  spec["template"]["spec"]["resourceClaims"] =
      json::array({{{"name", "c"}, {"resourceClaimTemplateName", "own"}}});
  SeedJob(2, 2, spec);
  RunUntilStable();
  ExpectWaits("spec.template.spec.resourceClaims: ask for a channel of another ComputeDomain");
}

TEST_F(JobComputeDomainTest, HostsAreGivenBackWhereTheDomainCannotBeMadeAnyMore) {
  SeedJob(2, 2, kWithDomain);
  RunUntilStable();
  AnswerDomains(absl::NotFoundError("gone"), /*asked_too=*/false);
  Place();
  RunUntilStable();
  EXPECT_EQ(Reason("Stalled"), "ComputeDomainUnavailable");
  EXPECT_THAT(Message("Stalled"), HasSubstr("the cluster has no ComputeDomains"));
  EXPECT_FALSE(HasPod(0));
  EXPECT_EQ(Gang()->pods, api::GangPods::kRefused) << "the extender takes them";
}

TEST_F(JobComputeDomainTest, OneDomainServesEveryAttemptOfTheJob) {
  RunPlaced();
  const json before = Domain();
  const std::string first = Uid(0);
  FailPod(0, 1);
  RunAll();
  EXPECT_NE(Uid(0), first);
  Suspend(true);
  RunUntilStable();
  EXPECT_FALSE(HasPod(0));
  EXPECT_EQ(Domain()["metadata"]["uid"], before["metadata"]["uid"]);
}

TEST_F(JobComputeDomainTest, ADomainThatSomebodyDeletedIsMadeAgainBeforeThePodsOfARetry) {
  RunPlaced();
  ASSERT_TRUE(client_.Delete({kube::ComputeDomains(), "team", "a", ""}, {}).ok());
  client_.ClearCalls();
  FailPod(1, 1);
  RunUntilStable();
  EXPECT_TRUE(Domain().is_object());
  EXPECT_GE(FirstCreate("computedomains"), 0);
  EXPECT_LT(FirstCreate("computedomains"), FirstCreate("pods"));
}

TEST_F(JobComputeDomainTest, ADeletedJobStaysAndItsDomainWithItUntilItsPodsAreGone) {
  RunPlaced();
  EXPECT_EQ(Job()["metadata"]["finalizers"], json::array({api::kShutdownFinalizer}));
  client_.SetHook([](const kube::Call& call) {
    const bool pod = call.verb == kube::Verb::kDelete && kube::WhereOf(call.target) == "pods";
    return pod ? absl::UnavailableError("later") : absl::OkStatus();
  });
  ASSERT_TRUE(client_.Delete({kube::TrainingJobs(), "team", "a", ""}, {}).ok());
  (void)TryReconcile();
  EXPECT_TRUE(client_.Find(kube::TrainingJobs(), "team", "a").has_value());
  client_.SetHook(nullptr);
  for (int i = 0; i < 3; ++i) (void)TryReconcile();
  EXPECT_TRUE(client_.All(kube::Pods()).empty());
  EXPECT_FALSE(client_.Find(kube::TrainingJobs(), "team", "a").has_value());
}

// The parameter: how many writes the first process gets through before it is killed.
TEST_F(JobComputeDomainTest, AProcessThatDoesNotLeadAnyMoreMakesNoDomain) {
  SeedJob(2, 2, kWithDomain);
  RunUntilStable();
  Place();
  writes_left_ = 0;
  EXPECT_TRUE(absl::IsUnavailable(TryReconcile().status()));
  EXPECT_EQ(Domain(), json());
  EXPECT_TRUE(client_.All(kube::Services()).empty());
}

class JobComputeDomainKillTest : public JobComputeDomainTest,
                                 public ::testing::WithParamInterface<int> {};

TEST_P(JobComputeDomainKillTest, TheNextProcessCarriesOn) {
  SeedJob(2, 2, kWithDomain);
  {
    kube::KillAtWrite kill(client_, GetParam());
    for (int i = 0; i < 3; ++i) (void)TryReconcile();
    if (Gang()) Place();
    for (int i = 0; i < 3; ++i) (void)TryReconcile();
  }
  NewLeader();
  RunUntilStable();
  if (Gang()->status.assignments.empty()) Place();
  RunAll();
  EXPECT_EQ(client_.All(kube::ComputeDomains()).size(), 1u);
  EXPECT_EQ(Domain()["metadata"]["ownerReferences"][0]["uid"], "job");
  EXPECT_EQ(Condition("Running"), "True");
  for (int rank = 0; rank < 2; ++rank) EXPECT_TRUE(Pod(rank)["spec"].contains("resourceClaims"));
}

INSTANTIATE_TEST_SUITE_P(EveryWrite, JobComputeDomainKillTest, ::testing::Range(0, 12));

}  // namespace
}  // namespace yardmaster::op
