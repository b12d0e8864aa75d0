// Pods that other controllers made, through `plan --offline`: where they run is where their gang
// is.
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/cli/output/plan_report.h"
#include "pkg/cli/testing/offline_plan.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

// Two segments of two hosts.
std::string Nodes() {
  std::string out;
  for (const char* host : {"s0h0", "s0h1", "s1h0", "s1h1"}) {
    out += StrCat(
        "---\napiVersion: v1\nkind: Node\nmetadata: {name: ", host,
        ", labels: {kubernetes.io/hostname: ", host,
        ", yardmaster.dev/fabric-pod: p0, yardmaster.dev/segment: ", std::string(host).substr(0, 2),
        "}}\nstatus: {allocatable: {nvidia.com/gpu: \"8\"}, ",
        "conditions: [{type: Ready, status: \"True\"}]}\n");
  }
  return out;
}

// A pod of the Job `w` of two; `spec` is the rest of its spec.
std::string Pod(int index, const std::string& spec) {
  return StrCat("---\napiVersion: v1\nkind: Pod\nmetadata: {name: w-", index,
                ", namespace: team, labels: {batch.kubernetes.io/job-name: w, ",
                "batch.kubernetes.io/job-completion-index: \"", index,
                "\"}, annotations: {yardmaster.dev/parallelism: \"tp=8,dp=2\"}}\nspec: {", spec,
                ", containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}\n");
}

constexpr char kOther[] =
    "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\n"
    "metadata: {name: other, namespace: team}\nspec: {workers: 2, template: {}}\n";

std::string HostOf(const json& job, std::size_t rank) { return job["assignments"][rank]["host"]; }

TEST(PlanPodsTest, AGangWhosePodsAllRunIsPlacedWhereTheyAre) {
  const PlanAnswer answer =
      PlanOffline(Nodes() + Pod(0, "nodeName: s1h1") + Pod(1, "nodeName: s0h0") + kOther);
  ASSERT_EQ(answer.code, 0) << answer.err;
  const json job = answer.job("w");
  EXPECT_EQ(job["outcome"], "Placed");
  EXPECT_EQ(job["isNew"], false);
  ASSERT_EQ(job["assignments"].size(), 2u);
  EXPECT_EQ(HostOf(job, 0), "s1h1");
  EXPECT_EQ(HostOf(job, 1), "s0h0");
  EXPECT_EQ(job["assignments"][0]["segment"], "s1");
  EXPECT_EQ(job["objective"]["dataSplitSegments"], 8);
  const json other = answer.job("other");
  EXPECT_EQ(other["outcome"], "Placed") << "its pods and its gang hold a host once";
}

TEST(PlanPodsTest, AGangOfWhichAPodWaitsIsPlannedBesideThePodsThatRun) {
  const PlanAnswer answer =
      PlanOffline(Nodes() + Pod(0, "nodeName: s0h0") + Pod(1, "hostNetwork: false"));
  const json job = answer.job("w");
  EXPECT_EQ(job["isNew"], true);
  ASSERT_EQ(job["assignments"].size(), 2u);
  EXPECT_EQ(HostOf(job, 0), "s1h0");
}

TEST(PlanPodsTest, AGangThatRunsOnNodesWithoutAPlaceStaysThere) {
  std::string nodes = Nodes();
  for (const char* host : {"u0", "u1"}) {
    nodes += StrCat("---\napiVersion: v1\nkind: Node\nmetadata: {name: ", host,
                    "}\nstatus: {allocatable: {nvidia.com/gpu: \"8\"}}\n");
  }
  // Both hosts, and one of them, have no place.
  for (const char* other : {"u1", "s0h0"}) {
    const PlanAnswer answer =
        PlanOffline(nodes + Pod(0, "nodeName: u0") + Pod(1, StrCat("nodeName: ", other)) + kOther);
    EXPECT_EQ(answer.code, 0) << answer.err;
    const json job = answer.job("w");
    EXPECT_EQ(job["outcome"], "Placed");
    EXPECT_EQ(job["isNew"], false);
    ASSERT_EQ(job["assignments"].size(), 2u);
    EXPECT_EQ(HostOf(job, 0), "u0");
    EXPECT_EQ(HostOf(job, 1), other);
    EXPECT_THAT(job["warnings"][0].get<std::string>(), HasSubstr("without a place"));
    // Nobody is placed on the host that it has.
    EXPECT_EQ(answer.job("other")["outcome"], "Placed");
    for (const json& entry : answer.job("other")["assignments"]) {
      EXPECT_NE(entry["host"], other);
    }
    const auto rows = ReportTable(answer.report);
    EXPECT_THAT(Join(rows.back(), " "), HasSubstr("without a place"));
  }
}

// Its host is free again, and the others keep their ranks.
TEST(PlanPodsTest, AGangOfWhichARankHasEndedStaysWhereItRuns) {
  for (const int ended : {0, 1}) {
    const PlanAnswer answer =
        PlanOffline(Nodes() + Pod(ended, "nodeName: s0h0") + "status: {phase: Succeeded}\n" +
                    Pod(1 - ended, "nodeName: s1h1") + "status: {phase: Running}\n" + kOther);
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_THAT(answer.err, Not(HasSubstr("held or promised"))) << answer.err;
    const json job = answer.job("w");
    EXPECT_EQ(job["outcome"], "Placed");
    EXPECT_EQ(job["isNew"], false);
    ASSERT_EQ(job["assignments"].size(), 1u) << job;
    EXPECT_EQ(job["assignments"][0]["rank"], 1 - ended);
    EXPECT_EQ(HostOf(job, 0), "s1h1");
    EXPECT_THAT(job["warnings"][0].get<std::string>(),
                HasSubstr(StrCat("runs without rank ", ended, ", which ended")));
    EXPECT_EQ(HostOf(answer.job("other"), 0), "s0h0");
  }
}

TEST(PlanPodsTest, PodsOnNodesThatAreNotGivenLeaveTheirGangToBePlanned) {
  const PlanAnswer answer = PlanOffline(Nodes() + Pod(0, "nodeName: x0") + Pod(1, "nodeName: x1"));
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.job("w")["isNew"], true);
}

TEST(PlanPodsTest, HostsThatAnotherControllerChoseAreTheGangsPlace) {
  const PlanAnswer answer =
      PlanOffline(Nodes() + Pod(0, "nodeSelector: {kubernetes.io/hostname: s0h1}") +
                  Pod(1, "nodeSelector: {kubernetes.io/hostname: s1h0}"));
  const json job = answer.job("w");
  EXPECT_EQ(job["outcome"], "Placed") << job;
  ASSERT_EQ(job["assignments"].size(), 2u);
  EXPECT_EQ(HostOf(job, 0), "s0h1");
  EXPECT_EQ(HostOf(job, 1), "s1h0");
}

TEST(PlanPodsTest, ASuspendedTrainingJobTakesNoPlaceUnlessItHoldsOne) {
  const std::string suspended =
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\n"
      "metadata: {name: w, namespace: team}\nspec: {workers: 3, suspend: true, template: {}}\n";
  const PlanAnswer without = PlanOffline(Nodes() + suspended + kOther);
  EXPECT_EQ(without.code, 0);
  EXPECT_EQ(without.report["jobs"].size(), 1u);
  EXPECT_EQ(without.job("other")["outcome"], "Placed");
  EXPECT_THAT(without.err, HasSubstr("not planned: 1 suspended TrainingJob"));
  const std::string gang =
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: Gang\nmetadata: {name: trainingjob-w, "
      "namespace: team}\nspec: {owner: {apiVersion: yardmaster.dev/v1alpha1, kind: TrainingJob, "
      "name: w}, workers: 3, gpusPerWorker: 8}\n";
  EXPECT_EQ(PlanOffline(Nodes() + suspended + gang + kOther).job("other")["outcome"], "Placed");
  const std::string placed =
      "status: {planGeneration: 1, assignments: [{rank: 0, host: s0h0}, {rank: 1, host: s0h1}, "
      "{rank: 2, host: s1h0}]}\n";
  const PlanAnswer holds = PlanOffline(Nodes() + suspended + gang + placed + kOther);
  EXPECT_EQ(holds.job("w")["outcome"], "Placed");
  EXPECT_EQ(holds.job("other")["outcome"], "NotNow");
}

TEST(PlanPodsTest, WhoHasTheHostsThatAJobWaitsForIsNamed) {
  const std::string bert =
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: Gang\nmetadata: {name: trainingjob-bert, "
      "namespace: team}\nspec: {owner: {apiVersion: yardmaster.dev/v1alpha1, kind: TrainingJob, "
      "name: bert}, workers: 2, gpusPerWorker: 8}\nstatus: {planGeneration: 1, assignments: "
      "[{rank: 0, host: s0h0}, {rank: 1, host: s0h1}], conditions: [{type: Released, status: "
      "\"True\", reason: PodsReleased, message: m, lastTransitionTime: "
      "\"2026-01-01T00:00:00Z\"}]}\n";
  const std::string web =
      "---\napiVersion: v1\nkind: Pod\nmetadata: {name: web, namespace: shop}\nspec: {nodeName: "
      "s1h0, priority: 7, containers: [{resources: {limits: {nvidia.com/gpu: 8}}}]}\nstatus: "
      "{phase: Running}\n";
  const PlanAnswer answer = PlanOffline(Nodes() + bert + web + kOther);
  EXPECT_EQ(answer.code, 0) << answer.err;
  const json job = answer.job("other");
  EXPECT_EQ(job["outcome"], "NotNow");
  std::string why;
  for (const json& reason : job["reasons"]) {
    if (reason["code"] == "HostsOccupied") why = reason["message"];
  }
  EXPECT_EQ(why,
            "2 hosts held by TrainingJob team/bert (running, priority 0) and 1 by 1 ordinary pod "
            "(priority 7: shop/web), which no gang stops");
}

TEST(PlanPodsTest, AGangThatLacksPodsIsAJobOfTheReport) {
  const PlanAnswer answer = PlanOffline(Nodes() + Pod(0, "hostNetwork: false"));
  EXPECT_EQ(answer.code, 0) << answer.err;
  const std::string text = "1 of 2 pods are there, rank 1 is missing; Job w makes them";
  EXPECT_THAT(answer.err, HasSubstr("gang team/job-w: not planned, " + text));
  const json job = answer.job("w");
  EXPECT_EQ(job["namespace"], "team");
  EXPECT_EQ(job["kind"], "Job");
  EXPECT_EQ(job["outcome"], "NotNow");
  EXPECT_EQ(job["message"], job["reasons"][0]["message"]);
  EXPECT_EQ(job["pods"], json::parse(R"({"there": 1, "wanted": 2})"));
  ASSERT_EQ(job["reasons"].size(), 1u);
  EXPECT_EQ(job["reasons"][0]["code"], "Incomplete");
  EXPECT_EQ(job["reasons"][0]["count"], 1);
  EXPECT_THAT(job["reasons"][0]["message"].get<std::string>(), HasSubstr(text));
  EXPECT_TRUE(job["assignments"].empty());
}

TEST(PlanPodsTest, PodsThatCanBeNoGangAreAnErrorOfTheInput) {
  std::string wrong = Pod(0, "hostNetwork: false");
  wrong.replace(wrong.find("tp=8"), 4, "tp=x");
  const PlanAnswer answer = PlanOffline(Nodes() + wrong);
  EXPECT_EQ(answer.code, 1);
  EXPECT_EQ(answer.job("w")["outcome"], "Never");
  EXPECT_EQ(answer.job("w")["reasons"][0]["code"], "Invalid");
  EXPECT_EQ(answer.job("w")["message"], answer.job("w")["reasons"][0]["message"]);
  EXPECT_EQ(answer.job("w")["gang"], "job-w");
}

// Two pods of the Job `w`, without the label that says their index.
std::string PodsWithoutIndex(const std::string& spec) {
  std::string pods;
  for (const int pod : {0, 1}) {
    std::string text = Pod(pod, spec);
    const std::string index = StrCat(", batch.kubernetes.io/job-completion-index: \"", pod, "\"");
    text.erase(text.find(index), index.size());
    pods += text.insert(text.find("labels: "),
                        "ownerReferences: [{apiVersion: batch/v1, kind: Job, name: w, uid: u, "
                        "controller: true}], ");
  }
  return pods;
}

TEST(PlanPodsTest, PodsWithoutAnIndexAreOneErrorOfTheirOwner) {
  const PlanAnswer answer = PlanOffline(Nodes() + PodsWithoutIndex("hostNetwork: false") + kOther);
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, HasSubstr("Pod team/w-1: "));
  ASSERT_EQ(answer.report["jobs"].size(), 2u) << answer.report;
  EXPECT_EQ(answer.job("w")["kind"], "Job");
  EXPECT_EQ(answer.job("w")["outcome"], "Never");
  EXPECT_THAT(answer.job("w")["message"].get<std::string>(), HasSubstr("completionMode: Indexed"));
  EXPECT_EQ(answer.job("other")["outcome"], "Placed");
  // Those that run are only said.
  const PlanAnswer run = PlanOffline(Nodes() + PodsWithoutIndex("nodeName: s0h0"));
  EXPECT_EQ(run.code, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr("Pod team/w-1: "));
  EXPECT_TRUE(run.report["jobs"].empty());
}

// A pod of a PyTorchJob that does not say how many there are, in the core PodGroup `pg`.
std::string PodOfGroup(int index) {
  return StrCat("---\napiVersion: v1\nkind: Pod\nmetadata: {name: t-worker-", index,
                ", namespace: team, labels: {training.kubeflow.org/job-name: t, ",
                "training.kubeflow.org/replica-type: worker, ",
                "training.kubeflow.org/replica-index: \"", index,
                "\"}, annotations: {yardmaster.dev/parallelism: \"tp=8\"}}\n",
                "spec: {schedulingGroup: {podGroupName: pg}, schedulingGates: [{name: ",
                "yardmaster.dev/placement}], containers: [{resources: {limits: ",
                "{nvidia.com/gpu: 8}}}]}\n");
}

std::string Group(const std::string& spec, const std::string& version = "v1beta1") {
  return StrCat("---\napiVersion: scheduling.k8s.io/", version,
                "\nkind: PodGroup\nmetadata: {name: pg, namespace: team}\nspec: {", spec, "}\n");
}

TEST(PlanPodsTest, ACorePodGroupSaysHowManyPodsAGangHas) {
  const std::string pods = Nodes() + PodOfGroup(0) + PodOfGroup(1);
  for (const char* version : {"v1alpha2", "v1beta1"}) {
    const PlanAnswer answer =
        PlanOffline(pods + Group("schedulingPolicy: {gang: {minCount: 2}}", version));
    EXPECT_EQ(answer.code, 0) << answer.err;
    EXPECT_EQ(answer.job("t")["assignments"].size(), 2u) << answer.job("t");
    EXPECT_EQ(answer.job("t")["gang"], "pytorchjob-t");
  }
  const json few = PlanOffline(pods + Group("schedulingPolicy: {gang: {minCount: 3}}")).job("t");
  EXPECT_EQ(few["pods"], json::parse(R"({"there": 2, "wanted": 3})")) << few;
}

TEST(PlanPodsTest, WhyACorePodGroupSaysNoSizeIsSaid) {
  const std::string pods = Nodes() + PodOfGroup(0) + PodOfGroup(1);
  for (const auto& [group, why] :
       {std::pair{std::string(), "PodGroup team/pg is not among the manifests"},
        {Group("schedulingPolicy: {basic: {}}"), "has no spec.schedulingPolicy.gang.minCount"},
        {Group("parentCompositePodGroupName: all"), "belongs to CompositePodGroup all"}}) {
    const PlanAnswer answer = PlanOffline(pods + group);
    EXPECT_EQ(answer.code, 1);
    EXPECT_THAT(answer.job("t")["message"].get<std::string>(), HasSubstr(why));
  }
  const PlanAnswer wrong = PlanOffline(pods + Group("schedulingPolicy: {gang: {minCount: 0}}"));
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("spec.schedulingPolicy.gang.minCount: expected"));
}

TEST(PlanPodsTest, WhyAGangIsNotPlannedIsSaidAsItIs) {
  const std::string gates = "schedulingGates: [{name: kueue.x-k8s.io/topology}]";
  const PlanAnswer held = PlanOffline(Nodes() + Pod(0, gates) + Pod(1, gates));
  EXPECT_THAT(held.err,
              HasSubstr("gang team/job-w: not planned, 2 of 2 pods are there; gates of another "
                        "controller hold 2 pods: kueue.x-k8s.io/topology"));
  EXPECT_EQ(held.job("w")["reasons"][0]["code"], "HeldByOthers");
  EXPECT_THAT(PlanOffline(Nodes() + Pod(0, gates) + Pod(1, "nodeName: s0h0")).err,
              HasSubstr("the gate of another controller holds 1 pod"));
  std::string deleted = Pod(0, "nodeName: s0h0");
  deleted.insert(deleted.find("namespace:"), "deletionTimestamp: \"2026-01-01T00:00:00Z\", ");
  EXPECT_THAT(PlanOffline(Nodes() + deleted).err,
              HasSubstr("not planned, its pods have finished or are being deleted"));
}

}  // namespace
}  // namespace yardmaster::cli
