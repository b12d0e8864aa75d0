#include "pkg/gather/incomplete_gang.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/gather/gatherer.h"

namespace yardmaster::gather {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

json JobPod(int index, const std::string& parallelism) {
  return {
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata",
       {{"name", StrCat("w-", index)},
        {"namespace", "team"},
        {"uid", StrCat("pod-", index)},
        {"annotations", {{api::kParallelismAnnotation, parallelism}}},
        {"labels",
         {{"batch.kubernetes.io/job-name", "w"},
          {"batch.kubernetes.io/job-completion-index", StrCat(index)}}},
        {"ownerReferences", json::array({{{"apiVersion", "batch/v1"},
                                          {"kind", "Job"},
                                          {"name", "w"},
                                          {"uid", "job-w"},
                                          {"controller", true}}})}}},
      {"spec",
       {{"schedulingGates", json::array({{{"name", api::kPlacementGate}}})},
        {"containers",
         json::array({{{"name", "c"}, {"resources", {{"limits", {{"nvidia.com/gpu", "8"}}}}}}})}}}};
}

json JobSetPod(int job, int index) {
  json pod = JobPod(index, "tp=8,dp=4");
  pod["metadata"]["name"] = StrCat("d-", job, "-", index);
  pod["metadata"]["labels"] = {{"jobset.sigs.k8s.io/jobset-name", "d"},
                               {"jobset.sigs.k8s.io/jobset-uid", "uid-d"},
                               {"jobset.sigs.k8s.io/job-global-index", StrCat(job)},
                               {"batch.kubernetes.io/job-completion-index", StrCat(index)}};
  return pod;
}

state::ClusterState ClusterOf(const std::vector<json>& pods) {
  state::ClusterState cluster;
  for (const json& object : pods) {
    auto pod = api::DecodePod(object);
    EXPECT_TRUE(pod.ok()) << pod.status();
    cluster.pods.Put(std::make_shared<const api::Pod>(*std::move(pod)));
  }
  return cluster;
}

// The only incomplete set of a cluster with these pods.
IncompleteGang Only(const std::vector<json>& pods) {
  const auto found = IncompleteGangsOf(ClusterOf(pods));
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? IncompleteGang{} : found.front();
}

TEST(IncompleteGangTest, SaysHowManyOfHowManyWhichAreMissingAndWhoMakesThem) {
  const IncompleteGang gang = Only({JobPod(0, "tp=8,dp=4")});
  EXPECT_EQ(gang.cause, Incompleteness::kPodsMissing);
  EXPECT_EQ(gang.gang.text(), "team/job-w");
  EXPECT_EQ(gang.owner.name, "w");
  EXPECT_EQ(gang.there, 1);
  EXPECT_EQ(gang.wanted, 4);
  EXPECT_EQ(gang.text,
            "1 of 4 pods are there, ranks 1-3 are missing; Job w makes them; kubectl describe job "
            "w -n team says why it has not");
}

TEST(IncompleteGangTest, AWholeSetIsNotIncomplete) {
  EXPECT_TRUE(
      IncompleteGangsOf(ClusterOf({JobPod(0, "tp=8,dp=2"), JobPod(1, "tp=8,dp=2")})).empty());
}

TEST(IncompleteGangTest, ASetThatRunsIsNotIncomplete) {
  json bound = JobPod(0, "tp=8,dp=4");
  bound["spec"]["nodeName"] = "n0";
  bound["spec"]["schedulingGates"] = json::array();
  EXPECT_TRUE(IncompleteGangsOf(ClusterOf({bound})).empty());
}

TEST(IncompleteGangTest, PodsThatCameWithoutTheGateAreSeenToo) {
  json pending = JobPod(0, "tp=8,dp=4");
  pending["spec"].erase("schedulingGates");
  EXPECT_THAT(Only({pending}).text, HasSubstr("1 of 4 pods are there"));
}

TEST(IncompleteGangTest, AGapInTheMiddleIsNamed) {
  EXPECT_THAT(Only({JobPod(0, "tp=8,dp=4"), JobPod(1, "tp=8,dp=4"), JobPod(3, "tp=8,dp=4")}).text,
              HasSubstr("3 of 4 pods are there, rank 2 is missing; "));
}

TEST(IncompleteGangTest, RanksAreNamedOnlyWhereTheyAreKnown) {
  EXPECT_THAT(Only({JobSetPod(0, 0)}).text, HasSubstr("1 of 4 pods are there, ranks 1-3 are"));
  // How many pods come before those of job 1 nothing says.
  EXPECT_THAT(Only({JobSetPod(1, 0), JobSetPod(1, 1)}).text,
              HasSubstr("2 of 4 pods are there, 2 are missing; JobSet d makes them"));
}

TEST(IncompleteGangTest, GatesOfOtherControllersAreNamed) {
  json pod = JobPod(0, "tp=8,dp=2");
  pod["spec"]["schedulingGates"].push_back({{"name", "kueue.x-k8s.io/admission"}});
  const IncompleteGang alone = Only({pod});
  EXPECT_EQ(alone.cause, Incompleteness::kHeldByOthers);
  EXPECT_THAT(alone.text, HasSubstr("1 of 2 pods are there, rank 1 is missing; the gate of another "
                                    "controller holds 1 pod: kueue.x-k8s.io/admission; Job w"));
  const IncompleteGang both = Only({pod, JobPod(1, "tp=8,dp=2")});
  EXPECT_EQ(both.text,
            "2 of 2 pods are there; the gate of another controller holds 1 pod: "
            "kueue.x-k8s.io/admission");
}

TEST(IncompleteGangTest, OfManyGatesOfOthersTheFirstAreNamed) {
  json pod = JobPod(0, "tp=8,dp=1");
  for (int i = 0; i < 60; ++i) {
    pod["spec"]["schedulingGates"].push_back({{"name", StrCat("tenant.dev/gate-", 10 + i)}});
  }
  EXPECT_EQ(Only({pod}).text,
            "1 of 1 pod is there; the gate of another controller holds 1 pod: "
            "tenant.dev/gate-10, tenant.dev/gate-11, tenant.dev/gate-12 and others");
}

TEST(IncompleteGangTest, PodsThatContradictThemselvesSayHow) {
  const IncompleteGang gang = Only({JobPod(0, "tp=8,dp=x")});
  EXPECT_EQ(gang.cause, Incompleteness::kInvalid);
  EXPECT_THAT(gang.text, HasSubstr(api::kParallelismAnnotation));
}

TEST(IncompleteGangTest, ASizeThatOnlyTheOwnerSaysIsNotAContradiction) {
  const IncompleteGang gang = Only({JobPod(0, "tp=8")});
  EXPECT_EQ(gang.cause, Incompleteness::kPodsMissing);
  EXPECT_THAT(gang.text, HasSubstr("1 pod is there and more belong to it; Job w makes them"));
  GatheredGang pods = Gather(ClusterOf({JobPod(0, "tp=8")}).pods).gangs.at(0);
  DeclaredSizes declared;
  declared.of_owner = 4;
  EXPECT_THAT(IncompletenessOf(pods, nullptr, nullptr, declared)->text,
              HasSubstr("1 of 4 pods are there, ranks 1-3 are missing"));
}

TEST(IncompleteGangTest, TheCauseThatIsGivenReplacesWhoMakesThem) {
  const GatheredGang pods = Gather(ClusterOf({JobPod(0, "tp=8,dp=2")}).pods).gangs.at(0);
  const auto gang = IncompletenessOf(pods, nullptr, nullptr, {}, "they are never made");
  ASSERT_TRUE(gang.has_value());
  EXPECT_THAT(gang->text, HasSubstr("rank 1 is missing; they are never made"));
  EXPECT_THAT(gang->text, Not(HasSubstr("makes them")));
}

TEST(IncompleteGangTest, AHugeSizeOfATenantCostsNothing) {
  json pod = JobPod(0, "tp=8,dp=1000000");
  pod["spec"]["schedulingGates"].push_back({{"name", "x/y"}});
  EXPECT_THAT(Only({pod}).text, HasSubstr("1 of 1000000 pods are there, 999999 are missing"));
}

TEST(IncompleteGangTest, RunsAreCutWhereTheyAreMany) {
  EXPECT_EQ(RunsOf({}), "");
  EXPECT_EQ(RunsOf({4}), "4");
  EXPECT_EQ(RunsOf({0, 1, 2, 3, 7}), "0-3,7");
  EXPECT_EQ(RunsOf({0, 2, 4, 6, 8, 10, 12, 14, 16, 17}), "0,2,4,6,8,10,12,14,... (10 in all)");
}

}  // namespace
}  // namespace yardmaster::gather
