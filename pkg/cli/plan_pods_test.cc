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
