// `plan` in a cluster: manifests on top of what is there, and nothing written.
#include <map>
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/dispatch.h"
#include "pkg/cli/testing/lending_connector.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Answer {
  int code = 0;
  std::string out;
  std::string err;
  json report() const { return json::parse(out, nullptr, false); }
};

// Two segments of four hosts.
class PlanClusterTest : public testing::Test {
 protected:
  PlanClusterTest() : client_(clock_) {
    std::istringstream in;
    std::ostringstream out, err;
    EXPECT_EQ(Dispatch({"fabric", "render", "--preset", "hpn-small", "--hosts", "4",
                        "--backup-hosts", "0", "-o", "json"},
                       in, out, err),
              0)
        << err.str();
    const json list = json::parse(out.str());
    for (const json& object : list["items"]) {
      const bool is_fabric = object["kind"] == "Fabric";
      client_.Seed(is_fabric ? kube::Fabrics() : kube::Nodes(), object);
      (is_fabric ? fabric_ : nodes_.emplace_back()) = object;
    }
    EXPECT_EQ(nodes_.size(), 8u);
  }

  // What people do: `input` is what -f - reads.
  Answer Plan(std::vector<std::string> args, const std::string& input = "",
              const std::string& ns = "default") {
    if (!input.empty()) args.insert(args.end(), {"-f", "-"});
    std::istringstream in(input);
    std::ostringstream out, err;
    const int code = RunPlanCommand(args, ReadingConnector(client_, ns), in, out, err);
    return {code, out.str(), err.str()};
  }

  static json Job(const std::string& name, json spec, const std::string& created = "") {
    spec["template"] = json::object();
    json meta = {{"name", name}};
    if (!created.empty()) meta["creationTimestamp"] = created;
    return {{"apiVersion", "yardmaster.dev/v1alpha1"},
            {"kind", "TrainingJob"},
            {"metadata", std::move(meta)},
            {"spec", std::move(spec)}};
  }

  void Waiting(const std::string& name, json spec) {
    json job = Job(name, std::move(spec), "2026-01-01T00:00:00Z");
    job["metadata"]["namespace"] = "default";
    client_.Seed(kube::TrainingJobs(), job);
  }

  // A running job with its Gang and pods on the first hosts.
  void Running(const std::string& name, int workers, int level) {
    Waiting(name, {{"workers", workers}});
    api::Gang gang;
    gang.metadata.name = "trainingjob-" + name;
    gang.metadata.namespace_name = "default";
    gang.owner = {"yardmaster.dev/v1alpha1", "TrainingJob", name, "", false};
    gang.job.workers = workers;
    gang.job.parallelism.data = 8 * workers;
    gang.status.plan_generation = 1;
    for (int rank = 0; rank < workers; ++rank) {
      const json& meta = nodes_[static_cast<std::size_t>(rank)]["metadata"];
      gang.status.assignments.push_back({rank, meta["name"], "p00", "p00s00", {0}});
      client_.Seed(kube::Pods(), PodOf(name, rank, meta["name"]));
    }
    gang.status.network.emplace();
    gang.status.network->level = level;
    client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  }

  static json PodOf(const std::string& job, int rank, const std::string& node) {
    json pod =
        json::parse(R"({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "default",
        "ownerReferences": [{"apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob",
                             "uid": "", "controller": true}]},
        "spec": {"containers": [{"resources": {"limits": {"nvidia.com/gpu": "8"}}}]},
        "status": {"phase": "Running"}})");
    pod["metadata"]["name"] = StrCat(job, "-", rank);
    pod["metadata"]["labels"] = {{"yardmaster.dev/job", job},
                                 {"yardmaster.dev/rank", StrCat(rank)}};
    pod["metadata"]["ownerReferences"][0]["name"] = job;
    pod["spec"]["nodeName"] = node;
    return pod;
  }

  static std::map<std::string, std::string> Outcomes(const Answer& answer) {
    std::map<std::string, std::string> out;
    const json report = answer.report();
    for (const json& job : report["jobs"]) {
      out[StrCat(job["namespace"].get<std::string>(), "/", job["name"].get<std::string>())] =
          job["outcome"];
    }
    return out;
  }

  static json JobOf(const Answer& answer, const std::string& name) {
    const json report = answer.report();
    for (const json& job : report["jobs"]) {
      if (job["name"] == name) return job;
    }
    ADD_FAILURE() << name << " is not in " << answer.out << answer.err;
    return {};
  }

  FakeClock clock_;
  kube::FakeClient client_;
  json fabric_;
  std::vector<json> nodes_;
};

TEST_F(PlanClusterTest, AJobIsPlannedOnTopOfTheClusterAndNothingIsWritten) {
  Running("there", 3, 5);
  const auto pods = client_.All(kube::Pods());
  const Answer answer = Plan({}, Job("a", {{"workers", 4}}).dump());
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(answer.report()["kind"], "PlanReport");
  const json job = JobOf(answer, "a");
  EXPECT_EQ(job["outcome"], "Placed");
  EXPECT_EQ(job["isNew"], true);
  ASSERT_EQ(job["assignments"].size(), 4u);
  for (const json& slot : job["assignments"]) EXPECT_EQ(slot["segment"], "p00s01");
  EXPECT_EQ(JobOf(answer, "there")["isNew"], false);

  for (const kube::Call& call : client_.calls()) EXPECT_EQ(call.verb, kube::Verb::kList);
  EXPECT_EQ(client_.All(kube::TrainingJobs()).size(), 1u);
  EXPECT_EQ(client_.All(kube::Gangs()).size(), 1u);
  EXPECT_EQ(client_.All(kube::Pods()), pods);
}

TEST_F(PlanClusterTest, WithoutManifestsWhatWaitsInTheClusterIsPlanned) {
  Waiting("waits", {{"workers", 2}});
  const Answer answer = Plan({});
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(JobOf(answer, "waits")["isNew"], true);
  const Answer table = Plan({"-o", "table"});
  EXPECT_THAT(table.out, AllOf(HasSubstr("NAMESPACE"), HasSubstr("waits")));
  EXPECT_THAT(Plan({"-o", "yaml"}).out, HasSubstr("kind: PlanReport"));
}

TEST_F(PlanClusterTest, AJobThatFitsNowhereIsNeverAndTheAnswerIsGood) {
  const Answer answer = Plan({}, Job("big", {{"workers", 9}}).dump());
  EXPECT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(JobOf(answer, "big")["outcome"], "Never");
  EXPECT_FALSE(JobOf(answer, "big")["reasons"].empty());
}

TEST_F(PlanClusterTest, AGivenJobQueuesBehindTheWaitingOnesAsIfItWereMadeNow) {
  Waiting("first", {{"workers", 5}});
  const Answer answer = Plan({}, Job("a", {{"workers", 5}}).dump());
  EXPECT_EQ(Outcomes(answer), (std::map<std::string, std::string>{{"default/first", "Placed"},
                                                                  {"default/a", "NotNow"}}));
  const Answer urgent = Plan({}, Job("a", {{"workers", 5}, {"priority", 1}}).dump());
  EXPECT_EQ(JobOf(urgent, "a")["outcome"], "Placed");
}

TEST_F(PlanClusterTest, ACordonedNodeIsAWhatIf) {
  Waiting("all", {{"workers", 8}});
  EXPECT_EQ(JobOf(Plan({}), "all")["outcome"], "Placed");
  json node = nodes_[3];
  node["spec"]["unschedulable"] = true;
  const Answer answer = Plan({}, node.dump());
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(JobOf(answer, "all")["outcome"], "NotNow");
  const auto real = client_.Find(kube::Nodes(), "", node["metadata"]["name"]);
  ASSERT_TRUE(real);
  EXPECT_FALSE(real->contains("/spec/unschedulable"_json_pointer));
}

TEST_F(PlanClusterTest, AJobGivenAsItIsKeepsItsPlaceAndAChangedOneIsPlannedAgain) {
  Running("a", 2, 5);
  const Answer same = Plan({}, Job("a", {{"workers", 2}}).dump());
  EXPECT_EQ(JobOf(same, "a")["isNew"], false);
  EXPECT_EQ(JobOf(same, "a")["assignments"].size(), 2u);
  // All eight hosts, its own among them.
  const Answer grown = Plan({}, Job("a", {{"workers", 8}}).dump());
  ASSERT_EQ(grown.code, 0) << grown.err;
  EXPECT_EQ(JobOf(grown, "a")["isNew"], true);
  EXPECT_EQ(JobOf(grown, "a")["assignments"].size(), 8u);
}

TEST_F(PlanClusterTest, AJobThatHasEndedIsPlannedAgainWhenItIsGivenAgain) {
  Running("a", 2, 5);
  json job = *client_.Find(kube::TrainingJobs(), "default", "a");
  job["status"]["conditions"] = {{{"type", "Succeeded"}, {"status", "True"}}};
  client_.Seed(kube::TrainingJobs(), job);
  const Answer again = Plan({}, Job("a", {{"workers", 2}}).dump());
  EXPECT_EQ(JobOf(again, "a")["isNew"], true);
  EXPECT_EQ(JobOf(again, "a")["assignments"].size(), 2u);
}

std::string IndexedJob(int workers, const std::string& more) {
  return StrCat("apiVersion: batch/v1\nkind: Job\nmetadata: {name: plain}\nspec:\n",
                "  completions: ", workers, "\n  parallelism: ", workers,
                "\n  completionMode: Indexed\n  template:\n    metadata:\n      annotations: ",
                "{yardmaster.dev/parallelism: \"tp=8,dp=", workers, "\"}\n    spec:\n      ", more,
                "\n      containers: [{name: t, resources: {limits: {nvidia.com/gpu: 8}}}]\n");
}

TEST_F(PlanClusterTest, AnotherKindsJobTakesItsPriorityFromTheClustersClass) {
  Waiting("first", {{"workers", 5}, {"priority", 3}});
  client_.Seed({"scheduling.k8s.io", "v1", "priorityclasses", "PriorityClass", false},
               {{"apiVersion", "scheduling.k8s.io/v1"},
                {"kind", "PriorityClass"},
                {"metadata", {{"name", "high"}}},
                {"value", 10}});
  EXPECT_EQ(JobOf(Plan({}, IndexedJob(5, "restartPolicy: Never")), "plain")["outcome"], "NotNow");
  const Answer urgent = Plan({}, IndexedJob(5, "priorityClassName: high"));
  ASSERT_EQ(urgent.code, 0) << urgent.err;
  EXPECT_EQ(JobOf(urgent, "plain")["outcome"], "Placed");
}

TEST_F(PlanClusterTest, AnotherKindsJobThatIsThereIsReplacedWhereItDiffers) {
  // What the extender has made of it: a Gang that holds three hosts.
  api::Gang gang;
  gang.metadata.name = "job-plain";
  gang.metadata.namespace_name = "default";
  gang.owner = {"batch/v1", "Job", "plain", "", false};
  gang.job.workers = 3;
  gang.job.parallelism = {8, 1, 1, 3, 1, 1, workload::kMegatronOrder};
  gang.job.parallelism_given = true;
  gang.status.plan_generation = 1;
  for (int rank = 0; rank < 3; ++rank) {
    gang.status.assignments.push_back(
        {rank, nodes_[static_cast<std::size_t>(rank)]["metadata"]["name"], "p00", "p00s00", {0}});
  }
  client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  const Answer same = Plan({}, IndexedJob(3, "restartPolicy: Never"));
  EXPECT_EQ(JobOf(same, "plain")["isNew"], false) << same.err;
  const Answer grown = Plan({}, IndexedJob(8, "restartPolicy: Never"));
  EXPECT_EQ(JobOf(grown, "plain")["assignments"].size(), 8u) << grown.err;
}

TEST_F(PlanClusterTest, ManifestsWithoutANamespaceAreInTheContextsOrTheFlags) {
  const std::string job = Job("a", {{"workers", 1}}).dump();
  EXPECT_EQ(JobOf(Plan({}, job, "team"), "a")["namespace"], "team");
  EXPECT_EQ(JobOf(Plan({"-n", "other"}, job, "team"), "a")["namespace"], "other");
  json named = Job("a", {{"workers", 1}});
  named["metadata"]["namespace"] = "own";
  EXPECT_EQ(JobOf(Plan({"-n", "other"}, named.dump()), "a")["namespace"], "own");
}

TEST_F(PlanClusterTest, WithoutAFabricJobsArePlacedAndToldWhatIsMissing) {
  FakeClock clock;
  kube::FakeClient bare(clock);
  for (const json& node : nodes_) bare.Seed(kube::Nodes(), node);
  std::istringstream in(Job("a", {{"workers", 2}}).dump());
  std::ostringstream out, err;
  EXPECT_EQ(RunPlanCommand({"-f", "-"}, ReadingConnector(bare), in, out, err), 0);
  EXPECT_THAT(err.str(), HasSubstr("there is no Fabric"));
  const json job = json::parse(out.str())["jobs"][0];
  EXPECT_EQ(job["outcome"], "Placed");
  EXPECT_FALSE(job.contains("network"));
}

TEST_F(PlanClusterTest, AFabricThatTheClusterDoesNotKnowTakesThePlaceOfItsOwn) {
  Waiting("a", {{"workers", 2}});
  EXPECT_EQ(JobOf(Plan({}), "a")["network"]["level"], 7);
  json fabric = fabric_;
  fabric["metadata"]["name"] = "zz-other";
  fabric["spec"]["networkLevels"] = {{"count", 4}};
  const Answer answer = Plan({}, fabric.dump());
  ASSERT_EQ(answer.code, 0) << answer.err;
  EXPECT_EQ(JobOf(answer, "a")["network"]["level"], 3);
  EXPECT_THAT(answer.err, Not(HasSubstr("is not used")));
}

TEST_F(PlanClusterTest, RunningJobsKeepTheirLevel) {
  Running("there", 2, 4);
  EXPECT_EQ(JobOf(Plan({}), "there")["network"]["level"], 4);
}

TEST_F(PlanClusterTest, TheDiffSaysWhoMoves) {
  Waiting("waits", {{"workers", 4}});
  const std::string urgent = Job("urgent", {{"workers", 8}, {"priority", 1}}).dump();
  const Answer answer = Plan({"--diff"}, urgent);
  ASSERT_EQ(answer.code, 0) << answer.err;
  int gained = 0, lost = 0;
  const json changes = answer.report()["changes"];
  for (const json& rank : changes["moved"]) {
    if (rank["job"] == "default/urgent") gained += rank["from"].is_null() ? 1 : 0;
    if (rank["job"] == "default/waits") lost += rank["to"].is_null() ? 1 : 0;
  }
  EXPECT_EQ(gained, 8);
  EXPECT_EQ(lost, 4);
  EXPECT_EQ(changes["levels"].size(), 2u);
  EXPECT_THAT(Plan({"--diff", "-o", "table"}, urgent).out,
              AllOf(HasSubstr("CHANGED"), HasSubstr("default/waits    0        4")));
  EXPECT_FALSE(Plan({}, urgent).report().contains("changes"));
}

TEST_F(PlanClusterTest, OnlyGivenJobsThatContradictThemselvesAreAnError) {
  const json wrong = {{"workers", 2}, {"parallelism", {{"tensor", 8}, {"data", 3}}}};
  Waiting("theirs", wrong);
  const Answer theirs = Plan({}, Job("mine", {{"workers", 1}}).dump());
  EXPECT_EQ(theirs.code, 0);
  EXPECT_THAT(theirs.err, HasSubstr("TrainingJob default/theirs: spec.parallelism"));
  const Answer mine = Plan({}, Job("mine", wrong).dump());
  EXPECT_EQ(mine.code, 1);
  EXPECT_THAT(mine.err, HasSubstr("standard input:1: TrainingJob default/mine"));
  EXPECT_EQ(JobOf(mine, "mine")["outcome"], "Never");
  EXPECT_EQ(Plan({}, "kind: TrainingJob\n").code, 1);
}

TEST_F(PlanClusterTest, AMissingRightIsNamedAndBudgetsCanBeDoneWithout) {
  client_.SetHook([](const kube::Call& call) {
    return call.target.resource == kube::Nodes()
               ? absl::PermissionDeniedError("GET /api/v1/nodes: nodes is forbidden")
               : absl::OkStatus();
  });
  const Answer refused = Plan({});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.out, IsEmpty());
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("nodes is forbidden"),
                    HasSubstr("the right to list nodes is missing"), HasSubstr("--offline")));
  client_.SetHook([](const kube::Call& call) {
    return call.target.resource == kube::PodDisruptionBudgets() ? absl::PermissionDeniedError("no")
                                                                : absl::OkStatus();
  });
  const Answer answer = Plan({}, Job("a", {{"workers", 1}}).dump());
  EXPECT_EQ(answer.code, 0);
  EXPECT_THAT(answer.err, HasSubstr("the right to list poddisruptionbudgets.policy in all "
                                    "namespaces is missing, so disruption budgets are not"));
  client_.SetHook([](const kube::Call& call) {
    return call.target.resource == kube::PodDisruptionBudgets()
               ? absl::UnavailableError("no answer")
               : absl::OkStatus();
  });
  EXPECT_EQ(Plan({}).code, 1);
}

TEST_F(PlanClusterTest, WithoutAClusterItSaysHowToPlanFromFiles) {
  std::istringstream in;
  std::ostringstream out, err;
  const Connector none = [](const ClusterFlags&) -> absl::StatusOr<ClusterConnection> {
    return absl::NotFoundError("no way to a cluster");
  };
  EXPECT_EQ(RunPlanCommand({}, none, in, out, err), 1);
  EXPECT_THAT(err.str(), AllOf(HasSubstr("no way to a cluster"), HasSubstr("--offline")));
  EXPECT_THAT(out.str(), IsEmpty());
}

TEST_F(PlanClusterTest, FlagsThatContradictEachOtherAreUsageErrors) {
  EXPECT_EQ(Plan({"--offline"}).code, 2);
  EXPECT_EQ(Plan({"--offline", "--context", "x"}, "a").code, 2);
  EXPECT_EQ(Plan({"--offline", "--diff"}, "a").code, 2);
  EXPECT_EQ(Plan({"--diff"}).code, 2);
  const Answer help = Plan({"--help"});
  EXPECT_EQ(help.code, 0);
  EXPECT_THAT(help.out, AllOf(HasSubstr("--offline"), HasSubstr("Nothing is changed")));
}

}  // namespace
}  // namespace yardmaster::cli
