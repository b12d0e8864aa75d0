#include "pkg/cli/output/overview.h"

#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/output/explain.h"
#include "pkg/cli/testing/lending_connector.h"
#include "pkg/cli/testing/overview_fixture.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

using OverviewTest = OverviewFixture;

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

}  // namespace
}  // namespace yardmaster::cli
