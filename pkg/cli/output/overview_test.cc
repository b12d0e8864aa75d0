#include "pkg/cli/output/overview.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/input/cluster_reader.h"
#include "pkg/cli/testing/lending_connector.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

class OverviewTest : public testing::Test {
 protected:
  OverviewTest() : client_(clock_) {
    for (int i = 0; i < 4; ++i) {
      client_.Seed(kube::Nodes(), {{"apiVersion", "v1"},
                                   {"kind", "Node"},
                                   {"metadata",
                                    {{"name", StrCat("n", i)},
                                     {"labels",
                                      {{"yardmaster.dev/fabric-pod", "p0"},
                                       {"yardmaster.dev/segment", i < 2 ? "s0" : "s1"}}}}},
                                   {"status", {{"allocatable", {{"nvidia.com/gpu", "8"}}}}}});
    }
  }

  void Job(const std::string& name, json spec) {
    client_.Seed(kube::TrainingJobs(), {{"apiVersion", "yardmaster.dev/v1alpha1"},
                                        {"kind", "TrainingJob"},
                                        {"metadata", {{"name", name}, {"namespace", "default"}}},
                                        {"spec", std::move(spec)}});
  }

  // A pod behind the gate, of an Indexed Job of two.
  void JobPod(const std::string& job, int index) {
    client_.Seed(kube::Pods(),
                 {{"apiVersion", "v1"},
                  {"kind", "Pod"},
                  {"metadata",
                   {{"name", StrCat(job, "-", index)},
                    {"namespace", "default"},
                    {"uid", StrCat("uid-", job, "-", index)},
                    {"annotations", {{"yardmaster.dev/parallelism", "tp=8,dp=2"}}},
                    {"labels",
                     {{"batch.kubernetes.io/job-name", job},
                      {"batch.kubernetes.io/job-completion-index", StrCat(index)}}},
                    {"ownerReferences", json::array({{{"apiVersion", "batch/v1"},
                                                      {"kind", "Job"},
                                                      {"name", job},
                                                      {"uid", "uid-" + job},
                                                      {"controller", true}}})}}},
                  {"spec",
                   {{"schedulingGates", json::array({{{"name", "yardmaster.dev/placement"}}})},
                    {"containers",
                     json::array({{{"name", "c"},
                                   {"resources", {{"limits", {{"nvidia.com/gpu", "8"}}}}}}})}}}});
  }

  // On n0 and n1; its owner wants that many workers.
  void Placed(const std::string& name, int wanted = 2) {
    api::Gang gang;
    gang.metadata.name = "trainingjob-" + name;
    gang.metadata.namespace_name = "default";
    gang.owner = {"yardmaster.dev/v1alpha1", "TrainingJob", name, "", false};
    gang.job.workers = wanted;
    gang.job.parallelism.data = 8 * wanted;
    gang.status.plan_generation = 1;
    gang.status.fabric = "f";
    gang.status.assignments = {{0, "n0", "p0", "s0", {0}}, {1, "n1", "p0", "s0", {0}}};
    gang.status.network = api::NetworkStatus{};
    gang.status.network->level = 6;
    client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  }

  state::ClusterState ClusterState() {
    auto cluster = ReadCluster(client_);
    EXPECT_TRUE(cluster.ok()) << cluster.status();
    return cluster.ok() ? *cluster : state::ClusterState{};
  }

  FakeClock clock_;
  kube::FakeClient client_;
};

TEST_F(OverviewTest, JobsShowTheirStateSegmentsAndLevel) {
  Job("a", {{"workers", 2}});
  Placed("a");
  Job("b", {{"workers", 3}});
  const Table rows = JobsTable(ClusterState(), "");
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_THAT(rows[1], ElementsAre("default", "a", "TrainingJob", "Placed", "2", "16", "0", "p0/s0",
                                   "6", "-", ""));
  EXPECT_THAT(rows[2], ElementsAre("default", "b", "TrainingJob", "Pending", "3", "24", "0", "-",
                                   "-", "-", ""));
  EXPECT_EQ(JobsTable(ClusterState(), "other").size(), 1u);
}

TEST_F(OverviewTest, JobsShowTheirAgeAsKubectlDoes) {
  client_.Seed(
      kube::TrainingJobs(),
      {{"apiVersion", "yardmaster.dev/v1alpha1"},
       {"kind", "TrainingJob"},
       {"metadata",
        {{"name", "a"}, {"namespace", "default"}, {"creationTimestamp", "2026-01-01T00:00:00Z"}}},
       {"spec", {{"workers", 2}}}});
  constexpr std::int64_t kCreated = 1'767'225'600'000;
  const state::ClusterState cluster = ClusterState();
  const auto age = [&](std::int64_t seconds) {
    return JobsTable(cluster, "", kCreated + seconds * 1000)[1][9];
  };
  EXPECT_EQ(age(-5), "0s") << "clocks differ";
  EXPECT_EQ(age(119), "119s");
  EXPECT_EQ(age(300), "5m");
  EXPECT_EQ(age(3 * 3600), "3h");
  EXPECT_EQ(age(3 * 86'400), "3d");
}

TEST_F(OverviewTest, AGangOfWhichOnlySomeWorkersHaveAHostIsResizing) {
  Placed("a", /*wanted=*/4);
  EXPECT_EQ(JobsTable(ClusterState(), "")[1][3], "Resizing");
  const auto text = Explain(ClusterState(), "default", "a");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("state:      Resizing\n"));
  EXPECT_THAT(*text, HasSubstr("placed:     2 of 4 workers, on fabric f, plan 1\n"));
}

TEST_F(OverviewTest, SegmentsCountHostsByWhatTheyDo) {
  Placed("a");
  const Table rows = SegmentsTable(ClusterState());
  EXPECT_THAT(rows[1], ElementsAre("p0", "s0", "2", "0", "2", "0", "0 of 0 free"));
  EXPECT_THAT(rows[2], ElementsAre("p0", "s1", "2", "2", "0", "0", "0 of 0 free"));
}

TEST_F(OverviewTest, APlacedJobIsExplainedByItsSegments) {
  Placed("a");
  auto text = Explain(ClusterState(), "default", "a");
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("p0/s0"));
  EXPECT_THAT(*text, HasSubstr("2 workers, ranks 0-1"));
  EXPECT_THAT(*text, HasSubstr("level 6"));
}

TEST_F(OverviewTest, WhatTheJobAndItsGangBothSayIsSaidOnceAndNumbersAreShort) {
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

TEST_F(OverviewTest, AWaitingJobIsPlannedAgainAndSaysWhatIsMissing) {
  Job("big", {{"workers", 5}});
  auto text = Explain(ClusterState(), "default", "big");
  ASSERT_TRUE(text.ok());
  EXPECT_THAT(*text, HasSubstr("planned now: Never"));
  EXPECT_THAT(*text, HasSubstr("because:"));
}

TEST_F(OverviewTest, AJobOnRentedHostsShowsWhatItCostsAndWhereTheNextHourRuns) {
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

constexpr char kOneOfTwo[] =
    "1 of 2 pods are there, rank 1 is missing; Job w makes them; kubectl describe job w -n default "
    "says why it has not";

TEST_F(OverviewTest, PodsThatAreNoWholeGangAreListedWithWhatTheyWaitFor) {
  JobPod("w", 0);
  Job("a", {{"workers", 2}});
  Job("z", {{"workers", 2}});
  const Table rows = JobsTable(ClusterState(), "", /*now_ms=*/0, /*wide=*/true);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[1][1], "a");
  EXPECT_THAT(rows[2], ElementsAre("default", "w", "Job", "Incomplete", "2", "-", "-", "-", "-",
                                   "-", kOneOfTwo, "0", "-", "-", "-"));
  EXPECT_EQ(rows[3][1], "z");
  EXPECT_EQ(JobsTable(ClusterState(), "other").size(), 1u);
  JobPod("w", 1);
  EXPECT_EQ(JobsTable(ClusterState(), "").size(), 3u) << "its Gang is made in a moment";
}

TEST_F(OverviewTest, TheBestCheckpointIntervalStandsBesideTheJobsOwn) {
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

TEST_F(OverviewTest, PodsThatAreNoWholeGangAreExplained) {
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

TEST_F(OverviewTest, PodsThatAskForNoGangAreExplainedWithWhatWouldMakeThemOne) {
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

TEST_F(OverviewTest, AReasonIsWrittenOutOnce) {
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

TEST_F(OverviewTest, WhereJobsRunAndWouldBePlacedNeedsNothingOfOurs) {
  for (int i = 0; i < 2; ++i) {
    JobPod("w", i);
    json pod = *client_.Find(kube::Pods(), "default", StrCat("w-", i));
    pod["metadata"].erase("annotations");
    pod["spec"].erase("schedulingGates");
    pod["spec"]["nodeName"] = i == 0 ? "n0" : "n3";
    client_.Seed(kube::Pods(), pod);
  }
  client_.FailNext(kube::Verb::kList, "fabrics", absl::NotFoundError("no such type"));
  std::ostringstream out, err;
  const Connector connect = ReadingConnector(client_);
  ASSERT_EQ(RunObserveCommand({}, connect, out, err), 0) << err.str();
  EXPECT_THAT(out.str(), HasSubstr("default     w      Job    Running   2         16     2"));
  EXPECT_THAT(out.str(), HasSubstr("a better place was there; parallelism guessed"));
  EXPECT_THAT(out.str(), HasSubstr("for 1 of 1 running job a better place is there"));
  std::ostringstream object;
  ASSERT_EQ(RunObserveCommand({"-n", "default", "-o", "json"}, connect, object, err), 0);
  const json job = json::parse(object.str())["jobs"][0];
  EXPECT_EQ(job["actual"]["objective"]["segments"], 2);
  EXPECT_EQ(job["planned"]["objective"]["segments"], 1);
  EXPECT_TRUE(job["better"].get<bool>());
}

TEST_F(OverviewTest, AGangThatLostAPodBeforeItsPlaceSaysSo) {
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

TEST_F(OverviewTest, AChangeThatHelpsIsACommandToPaste) {
  // A data group of three hosts, where a segment has two.
  Job("wide", {{"workers", 3},
               {"gpusPerWorker", 8},
               {"placement", {{"data", {{"within", "Segment"}, {"mode", "Required"}}}}}});
  const auto text = Explain(ClusterState(), "default", "wide");
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_THAT(*text, HasSubstr("  try:      kubectl patch trainingjob wide -n default --type merge "
                               "-p 'spec: {placement: {data: {within: FabricPod}}}' -> Placed\n"));
}

TEST_F(OverviewTest, AnUnknownJobNamesTheOneThatWasMeant) {
  Job("pretrain", {{"workers", 1}});
  auto text = Explain(ClusterState(), "default", "pretrian");
  EXPECT_THAT(MessageOf(text.status()), HasSubstr("did you mean pretrain?"));
}

TEST_F(OverviewTest, ObjectsThatCannotBeReadAreNamedAndTheRestIsShown) {
  Job("bad", {{"workers", "many"}});
  Job("good", {{"workers", 1}});
  const state::ClusterState cluster = ClusterState();
  ASSERT_EQ(cluster.problems.size(), 1u);
  EXPECT_THAT(cluster.problems[0], HasSubstr("TrainingJob default/bad: spec.workers"));
  EXPECT_EQ(JobsTable(cluster, "").size(), 2u);
}

TEST_F(OverviewTest, TheVerbsAnswerAndFailWithTheRightCodes) {
  Job("a", {{"workers", 2}});
  const Connector connect = ReadingConnector(client_);
  std::ostringstream out;
  std::ostringstream err;
  EXPECT_EQ(RunGetCommand({"jobs"}, connect, out, err), 0) << err.str();
  EXPECT_THAT(out.str(), HasSubstr("TrainingJob"));
  EXPECT_EQ(RunGetCommand({"segments", "-A"}, connect, out, err), 0);
  EXPECT_THAT(out.str(), HasSubstr("FABRIC POD"));
  EXPECT_EQ(RunExplainCommand({"a"}, connect, out, err), 0);
  EXPECT_THAT(out.str(), HasSubstr("planned now: Placed"));
  EXPECT_EQ(RunExplainCommand({"b", "-n", "default"}, connect, out, err), 1);
  EXPECT_EQ(RunGetCommand({"pods"}, connect, out, err), 2);
  EXPECT_EQ(RunExplainCommand({}, connect, out, err), 2);
  client_.FailNext(kube::Verb::kList, "*", absl::UnavailableError("no answer"));
  EXPECT_EQ(RunGetCommand({"jobs"}, connect, out, err), 1);
}

TEST_F(OverviewTest, RowsAsObjectsHaveTheNamesOfTheColumns) {
  Job("a", {{"workers", 2}});
  Placed("a");
  const nlohmann::json jobs =
      RowsAsJson(JobsTable(ClusterState(), "", /*now_ms=*/0, /*wide=*/true));
  ASSERT_FALSE(jobs.empty());
  EXPECT_EQ(jobs[0]["namespace"], "default");
  EXPECT_TRUE(jobs[0]["workers"].is_number_integer());
  EXPECT_TRUE(jobs[0].contains("priority"));
  const nlohmann::json segments = RowsAsJson(SegmentsTable(ClusterState()));
  EXPECT_TRUE(segments[0].contains("fabricPod"));
  EXPECT_EQ(RowsAsJson({{"A", "B C"}, {"-", "x 1"}}),
            nlohmann::json::parse(R"([{"a": null, "bC": "x 1"}])"));
  EXPECT_EQ(RowsAsJson({{"NAME", "FABRIC POD", "WORKERS"}, {"42", "7", "3"}}),
            nlohmann::json::parse(R"([{"name": "42", "fabricPod": "7", "workers": 3}])"))
      << "a name is a text, also of digits";
}

TEST_F(OverviewTest, AnExplanationAsJsonHasTheTextAndTheObjects) {
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
