#include "pkg/cli/output/explain.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/output/overview.h"
#include "pkg/cli/testing/lending_connector.h"
#include "pkg/cli/testing/overview_fixture.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

using ExplainTest = OverviewFixture;

TEST_F(ExplainTest, APlacedJobIsExplainedByItsSegments) {
  Placed("a");
  auto text = Explain(ClusterState(), "default", "a");
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("p0/s0"));
  EXPECT_THAT(*text, HasSubstr("2 workers, ranks 0-1"));
  EXPECT_THAT(*text, HasSubstr("level 6"));
}

TEST_F(ExplainTest, WhatTheJobAndItsGangBothSayIsSaidOnceAndNumbersAreShort) {
  const auto condition = [](const std::string& type, const std::string& message) {
    api::Condition made;
    made.type = type;
    made.status = api::ConditionStatus::kTrue;
    made.message = message;
    return made;
  };
  api::Gang gang;
  gang.metadata.name = "trainingjob-a";
  gang.metadata.namespace_name = "default";
  gang.owner = {"yardmaster.dev/v1alpha1", "TrainingJob", "a", "", false};
  gang.job.workers = 1;
  gang.status.plan_generation = 1;
  gang.status.assignments = {{0, "n0", "p0", "s0", {0}}};
  gang.status.network = api::NetworkStatus{};
  gang.status.network->intensity = 714285714285714304.0;
  gang.status.network->communication_seconds = 0.02812345;
  gang.status.conditions = {condition("Planned", "1 worker in 1 segment"),
                            condition("Released", "every pod is released")};
  client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  client_.Seed(kube::TrainingJobs(),
               {{"apiVersion", "yardmaster.dev/v1alpha1"},
                {"kind", "TrainingJob"},
                {"metadata", {{"name", "a"}, {"namespace", "default"}}},
                {"spec", {{"workers", 1}}},
                {"status",
                 {{"conditions", json::array({{{"type", "Planned"},
                                               {"status", "True"},
                                               {"message", "1 worker in 1 segment"}}})}}}});
  const auto text = Explain(ClusterState(), "default", "a");
  ASSERT_TRUE(text.ok()) << text.status();
  const auto first = text->find("Planned:");
  EXPECT_NE(first, std::string::npos) << *text;
  EXPECT_EQ(text->find("Planned:", first + 1), std::string::npos) << *text;
  EXPECT_THAT(*text, HasSubstr("Released:   yes, every pod is released"));
  EXPECT_THAT(*text, HasSubstr("intensity 7.14e+17 FLOP per second of communication, 0.0281 s"));
}

TEST_F(ExplainTest, AWaitingJobIsPlannedAgainAndSaysWhatIsMissing) {
  Job("big", {{"workers", 5}});
  auto text = Explain(ClusterState(), "default", "big");
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("planned now: Never"));
  EXPECT_THAT(*text, HasSubstr("because:"));
}

TEST_F(ExplainTest, AJobOnRentedHostsShowsWhatItCostsAndWhereTheNextHourRuns) {
  json job = {{"apiVersion", "yardmaster.dev/v1alpha1"},
              {"kind", "TrainingJob"},
              {"metadata", {{"name", "a"}, {"namespace", "default"}}},
              {"spec", {{"workers", 2}, {"capacity", {{"maxCostPerHour", "30 USD"}}}}}};
  job["status"]["capacity"] = {{"phase", "Provisioned"},
                               {"generation", 2},
                               {"moves", 1},
                               {"hosts", json::array({{{"pool", "spot-a"},
                                                       {"type", "Spot"},
                                                       {"hosts", 2},
                                                       {"provided", 2},
                                                       {"pricePerHour", "10.00 USD"},
                                                       {"nodeLabels", {{"pool", "a"}}}}})},
                               {"ratePerHour", "20.00 USD"},
                               {"spent", "35.50 USD"},
                               {"accounted", "2026-01-01T00:00:00Z"}};
  client_.Seed(kube::TrainingJobs(), job);
  auto text = Explain(ClusterState(), "default", "a");
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("2 of 2 hosts of spot-a (Spot)"));
  EXPECT_THAT(*text, HasSubstr("20.00 USD/h of at most 30.00 USD"));
  EXPECT_THAT(*text, HasSubstr("35.50 USD until 2026-01-01T00:00:00Z, moved 1 time"));
  EXPECT_THAT(*text, HasSubstr("on the same hosts"));
  const json rows = RowsAsJson(JobsTable(ClusterState(), "", /*now_ms=*/0, /*wide=*/true));
  EXPECT_EQ(rows[0]["costPerHour"], "20.00 USD");
  EXPECT_EQ(rows[0]["spent"], "35.50 USD");
}

TEST_F(ExplainTest, TheBestCheckpointIntervalStandsBesideTheJobsOwn) {
  for (const bool own : {false, true}) {
    const std::string name = own ? "own" : "none";
    json spec = {{"workers", 2}};
    if (own) spec["checkpoint"] = {{"intervalSeconds", 1800}};
    client_.Seed(kube::TrainingJobs(), {{"apiVersion", "yardmaster.dev/v1alpha1"},
                                        {"kind", "TrainingJob"},
                                        {"metadata", {{"name", name}, {"namespace", "default"}}},
                                        {"spec", spec},
                                        {"status",
                                         {{"checkpoint",
                                           {{"lastTime", "2026-01-01T00:00:00Z"},
                                            {"costSeconds", 30},
                                            {"recommendedIntervalSeconds", 1200}}}}}});
    const auto text = Explain(ClusterState(), "default", name);
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_THAT(*text, HasSubstr("costs 30 s, best every 1200 s"));
    EXPECT_EQ(text->find(", the spec says every 1800 s") != std::string::npos, own) << *text;
  }
}

TEST_F(ExplainTest, StandbysAreNamedWithTheirHostsAndWhatIsInTheWay) {
  client_.Seed(
      kube::TrainingJobs(),
      {{"apiVersion", "yardmaster.dev/v1alpha1"},
       {"kind", "TrainingJob"},
       {"metadata", {{"name", "a"}, {"namespace", "default"}}},
       {"spec", {{"workers", 2}, {"recovery", {{"standby", 2}}}}},
       {"status",
        {{"standby",
          json::array(
              {{{"state", "Ready"}, {"host", "n5"}, {"pod", "p"}},
               {{"state", "Refused"}, {"host", "n6"}, {"pod", "q"}, {"message", "exceeded quota"}},
               {{"state", "NoHost"}, {"message", "no host is free"}}})}}}});
  const auto text = Explain(ClusterState(), "default", "a");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("n5 has the images\n"));
  EXPECT_THAT(*text, HasSubstr("n6 does not get the images: exceeded quota\n"));
  EXPECT_THAT(*text, HasSubstr(" no host is free\n"));
}

TEST_F(ExplainTest, AJobOfThatNameInAnotherNamespaceIsSaid) {
  client_.Seed(kube::TrainingJobs(), {{"apiVersion", "yardmaster.dev/v1alpha1"},
                                      {"kind", "TrainingJob"},
                                      {"metadata", {{"name", "bert"}, {"namespace", "demo"}}},
                                      {"spec", {{"workers", 2}}}});
  EXPECT_EQ(MessageOf(Explain(ClusterState(), "default", "bert").status()),
            "there is no job bert in namespace default; there is one in namespace demo: add -n "
            "demo");
  EXPECT_TRUE(Explain(ClusterState(), "demo", "bert").ok());
}

TEST_F(ExplainTest, PodsThatAreNoWholeGangAreExplained) {
  JobPod("w", 0);
  for (const char* name : {"w", "job-w"}) {
    const auto text = Explain(ClusterState(), "default", name);
    ASSERT_TRUE(text.ok()) << text.status();
    EXPECT_EQ(
        *text,
        StrCat("job:        Job default/w\nstate:      Incomplete\npods:       ", kOneOfTwo, "\n"));
  }
  const auto object = ExplainAsJson(ClusterState(), "default", "w");
  ASSERT_TRUE(object.ok()) << object.status();
  EXPECT_EQ((*object)["state"], "Incomplete");
  EXPECT_FALSE(object->contains("gang"));
}

TEST_F(ExplainTest, PodsThatAskForNoGangAreExplainedWithWhatWouldMakeThemOne) {
  JobPod("w", 0);
  JobPod("w", 1);
  auto text = Explain(ClusterState(), "default", "w");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("state:      Waiting\npods:       2: 2 Pending\n"));
  EXPECT_THAT(*text, HasSubstr("its pods are there and no Gang is"));
  for (int i = 0; i < 2; ++i) {
    json pod = *client_.Find(kube::Pods(), "default", StrCat("w-", i));
    pod["metadata"].erase("annotations");
    pod["spec"].erase("schedulingGates");
    pod["status"] = {{"phase", i == 0 ? "Running" : "Pending"}};
    client_.Seed(kube::Pods(), pod);
  }
  text = Explain(ClusterState(), "default", "w");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("job:        Job default/w\nstate:      NotPlanned\n"
                               "pods:       2: 1 Pending, 1 Running\n"));
  EXPECT_THAT(*text, HasSubstr("yardmaster.dev/parallelism: \"dp=16\""));
  EXPECT_EQ((*ExplainAsJson(ClusterState(), "default", "w"))["state"], "NotPlanned");
  EXPECT_THAT(MessageOf(Explain(ClusterState(), "default", "ww").status()),
              HasSubstr("did you mean w?"));
  EXPECT_FALSE(Explain(ClusterState(), "other", "w").ok());
}

TEST_F(ExplainTest, AReasonIsWrittenOutOnce) {
  Job("big", {{"workers", 5}});
  const auto planned = Explain(ClusterState(), "default", "big");
  const std::string because = "  because:  ";
  const std::size_t at = planned->find(because) + because.size();
  const std::string reason = planned->substr(at, planned->find(" (", at) - at);
  json conditions = json::array();
  for (const char* type : {"Queued", "Planned", "Placed"}) {
    conditions.push_back(
        {{"type", type}, {"status", "False"}, {"message", StrCat(reason, "; and more")}});
  }
  client_.Seed(kube::TrainingJobs(), {{"apiVersion", "yardmaster.dev/v1alpha1"},
                                      {"kind", "TrainingJob"},
                                      {"metadata", {{"name", "big"}, {"namespace", "default"}}},
                                      {"spec", {{"workers", 5}}},
                                      {"status", {{"conditions", conditions}}}});
  const auto text = Explain(ClusterState(), "default", "big");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_EQ(text->find(reason), text->rfind(reason)) << *text;
  EXPECT_THAT(*text, HasSubstr("Planned:    no, as above\n"));
}

TEST_F(ExplainTest, AGangThatLostAPodBeforeItsPlaceSaysSo) {
  JobPod("w", 0);
  api::Gang gang;
  gang.metadata.name = "job-w";
  gang.metadata.namespace_name = "default";
  gang.owner = {"batch/v1", "Job", "w", "uid-w", false};
  gang.job.workers = 2;
  gang.rank_bases = {{"", 0}};
  client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  const Table rows = JobsTable(ClusterState(), "", /*now_ms=*/0, /*wide=*/true);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1][3], "Incomplete");
  EXPECT_EQ(rows[1][10], kOneOfTwo);
  const auto text = Explain(ClusterState(), "default", "w");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr(StrCat("pods:       ", kOneOfTwo)));
}

TEST_F(ExplainTest, AChangeThatHelpsIsACommandToPaste) {
  // A data group of three hosts, where a segment has two.
  Job("wide", {{"workers", 3},
               {"gpusPerWorker", 8},
               {"placement", {{"data", {{"within", "Segment"}, {"mode", "Required"}}}}}});
  const auto text = Explain(ClusterState(), "default", "wide");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("  try:      kubectl patch trainingjob wide -n default --type merge "
                               "-p 'spec: {placement: {data: {within: FabricPod}}}' -> Placed\n"));
}

TEST_F(ExplainTest, AnUnknownJobNamesTheOneThatWasMeant) {
  Job("pretrain", {{"workers", 1}});
  auto text = Explain(ClusterState(), "default", "pretrian");
  EXPECT_THAT(MessageOf(text.status()), HasSubstr("did you mean pretrain?"));
}

TEST_F(ExplainTest, AnExplanationAsJsonHasTheTextAndTheObjects) {
  Job("a", {{"workers", 2}});
  Placed("a");
  auto text = Explain(ClusterState(), "default", "a");
  auto object = ExplainAsJson(ClusterState(), "default", "a");
  ASSERT_TRUE(object.ok()) << object.status();
  std::string joined;
  for (const nlohmann::json& line : (*object)["lines"]) joined += line.get<std::string>() + "\n";
  EXPECT_EQ(joined, *text);
  EXPECT_TRUE(object->contains("gang"));
  EXPECT_FALSE(ExplainAsJson(ClusterState(), "default", "none").ok());
}

}  // namespace
}  // namespace yardmaster::cli
