// why, explain of nodes and pods, drain, backup, fabric show, get's flags: their output on one
// cluster.
#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/gang.h"
#include "pkg/api/names.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/output/explain.h"
#include "pkg/cli/output/overview.h"
#include "pkg/cli/output/print_objects.h"
#include "pkg/cli/testing/lending_connector.h"
#include "pkg/cli/top_reader.h"
#include "pkg/cli/watch_rows.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

using Command = int (*)(const std::vector<std::string>&, const Connector&, std::ostream&,
                        std::ostream&);

// Two segments of three hosts, the last of each a backup host; gang "bert" on n0 and n1.
class ClusterVerbsTest : public testing::Test {
 protected:
  ClusterVerbsTest() : client_(clock_) {
    for (int i = 0; i < 6; ++i) AddNode(i);
    api::Gang gang;
    gang.metadata.name = "trainingjob-bert";
    gang.metadata.namespace_name = "default";
    gang.metadata.uid = "u";
    gang.metadata.labels = {{"team", "nlp"}};
    gang.owner = {"yardmaster.dev/v1alpha1", "TrainingJob", "bert", "", false};
    gang.job.workers = 2;
    gang.job.parallelism.tensor = 8;
    gang.job.parallelism.data = 2;
    gang.job.parallelism_given = true;
    gang.rank_bases = {{"", 0}};
    gang.status.plan_generation = 1;
    gang.status.committed_ms = clock_.WallMs() - 300'000;
    gang.status.assignments = {{0, "n0", "p0", "s0", {0}}, {1, "n1", "p0", "s0", {0}}};
    client_.Seed(kube::Gangs(), api::EncodeGang(gang));
  }

  void AddNode(int i) {
    json labels = {{"yardmaster.dev/fabric-pod", "p0"},
                   {"yardmaster.dev/segment", i < 3 ? "s0" : "s1"}};
    if (i % 3 == 2) labels[api::kBackupKey] = "true";
    client_.Seed(kube::Nodes(), {{"apiVersion", "v1"},
                                 {"kind", "Node"},
                                 {"metadata", {{"name", StrCat("n", i)}, {"labels", labels}}},
                                 {"spec", json::object()},
                                 {"status", {{"allocatable", {{"nvidia.com/gpu", "8"}}}}}});
  }

  // Standard output; standard error in err_.
  std::string Run(Command command, const std::vector<std::string>& args, int code = 0) {
    std::ostringstream out, err;
    EXPECT_EQ(command(args, LendingConnector(client_, clock_), out, err), code) << err.str();
    err_ = err.str();
    return out.str();
  }

  FakeClock clock_;
  kube::FakeClient client_;
  std::string err_;
};

TEST_F(ClusterVerbsTest, WhySaysWhatHoldsAHostAndSinceWhen) {
  EXPECT_EQ(Run(RunWhyCommand, {"n1"}),
            "host:           n1\n"
            "place:          fabric pod p0, segment s0\n"
            "state:          usable, 0 of 8 GPUs free\n"
            "held by:        TrainingJob default/bert rank 1, plan 1, since 2023-11-14T22:08:20Z "
            "(5 minutes ago)\n");
  EXPECT_THAT(Run(RunWhyCommand, {"n5"}), HasSubstr("backup host"));
  EXPECT_THAT(Run(RunExplainCommand, {"node/n5"}), HasSubstr("held by:        no gang"));
  EXPECT_EQ(json::parse(Run(RunWhyCommand, {"n1", "-o", "json"}))["place"][0],
            "fabric pod p0, segment s0");
  Run(RunWhyCommand, {"n9"}, 1);
  EXPECT_THAT(err_, HasSubstr("there is no node n9"));
}

TEST_F(ClusterVerbsTest, WhatOthersWroteDoesNotCommandTheTerminal) {
  client_.Seed(kube::Pods(),
               {{"apiVersion", "v1"},
                {"kind", "Pod"},
                {"metadata",
                 {{"name", "x"},
                  {"namespace", "default"},
                  {"annotations", {{api::kSlotAnnotation, "a\x1b[2J\nstate: b\xc2\x9b"}}}}},
                {"spec",
                 {{"nodeName", "n3"},
                  {"containers",
                   json::array({{{"name", "c"},
                                 {"resources", {{"limits", {{"nvidia.com/gpu", "1"}}}}}}})}}}});
  EXPECT_THAT(Run(RunExplainCommand, {"pod/x"}), HasSubstr("slot:           a [2J state: b"));
  EXPECT_THAT(Run(RunWhyCommand, {"n3"}), HasSubstr("default/x, 1 GPU, "));
  std::ostringstream out;
  PrintTable({{"A"}, {"\x1b[31m\nb\xc2\x9b"}}, out);
  EXPECT_EQ(out.str(), "A\n [31m b  \n");
}

TEST_F(ClusterVerbsTest, ExplainSaysWhatAPodWaitsFor) {
  client_.Seed(kube::Pods(), {{"apiVersion", "v1"},
                              {"kind", "Pod"},
                              {"metadata", {{"name", "x"}, {"namespace", "default"}}},
                              {"spec",
                               {{"schedulingGates", json::array({{{"name", api::kPlacementGate}}})},
                                {"containers", json::array({{{"name", "c"}}})}}}});
  const std::string text = Run(RunExplainCommand, {"pod/x"});
  EXPECT_THAT(text, HasSubstr("gate:           closed"));
  EXPECT_THAT(text, HasSubstr("path plan:      none"));
  Run(RunExplainCommand, {"pod/y"}, 1);
  EXPECT_THAT(err_, HasSubstr("there is no pod y in namespace default"));
}

TEST_F(ClusterVerbsTest, ExplainNamesAJobAsItsOwnerIsNamed) {
  EXPECT_THAT(Run(RunExplainCommand, {"bert"}), HasSubstr("TrainingJob default/bert\n"));
}

TEST_F(ClusterVerbsTest, DrainSaysWhatWouldMoveAndChangesNothing) {
  EXPECT_EQ(Run(RunDrainCommand, {"n1"}),
            "1 host, 1 rank to move\n"
            "JOB            RANK   FROM   TO   REASON\n"
            "default/bert   1      n1     n2\n");
  EXPECT_THAT(err_, HasSubstr("nothing was changed"));
  EXPECT_FALSE(client_.Get({kube::Nodes(), "", "n1", ""})->at("spec").contains("taints"));
  const json moves = json::parse(Run(RunDrainCommand, {"s0", "-o", "json"}));
  EXPECT_EQ(moves["hosts"], json({"n0", "n1", "n2"}));
  EXPECT_EQ(moves["moves"].size(), 2u);
  EXPECT_THAT(Run(RunDrainCommand, {"p0/s1"}), HasSubstr("3 hosts, 0 ranks to move"));
  Run(RunDrainCommand, {"s2"}, 1);
  EXPECT_THAT(err_, HasSubstr("did you mean"));
}

TEST_F(ClusterVerbsTest, DrainTaintsAndUndoKeepsTheTaintsOfOthers) {
  json node = *client_.Get({kube::Nodes(), "", "n1", ""});
  node["spec"]["taints"] = json::array({{{"key", "mine"}, {"effect", "NoSchedule"}}});
  client_.Seed(kube::Nodes(), node);
  EXPECT_THAT(Run(RunDrainCommand, {"n1", "--yes"}), HasSubstr("node n1 is drained"));
  json spec = client_.Get({kube::Nodes(), "", "n1", ""})->at("spec");
  EXPECT_EQ(spec["unschedulable"], true);
  EXPECT_EQ(spec["taints"], json::parse(R"([{"key": "mine", "effect": "NoSchedule"},
                                            {"key": "yardmaster.dev/drain", "effect": "NoExecute"}])"));
  Run(RunDrainCommand, {"n1", "--yes"});  // twice is once
  EXPECT_EQ(client_.Get({kube::Nodes(), "", "n1", ""})->at("spec")["taints"].size(), 2u);
  Run(RunDrainCommand, {"n1", "--undo", "-o", "json"}, 2);
  Run(RunDrainCommand, {"n1", "--undo"});
  spec = client_.Get({kube::Nodes(), "", "n1", ""})->at("spec");
  EXPECT_FALSE(spec.contains("unschedulable"));
  EXPECT_EQ(spec["taints"].size(), 1u);
}

TEST_F(ClusterVerbsTest, BackupHostsAreListedAndSet) {
  EXPECT_EQ(Run(RunBackupListCommand, {}),
            "HOST   FABRIC POD   SEGMENT   STATE\n"
            "n2     p0           s0        free\n"
            "n5     p0           s1        free\n");
  EXPECT_EQ(Run(RunBackupSetCommand, {"n4"}), "node n4 is a backup host\n");
  EXPECT_EQ(Run(RunBackupSetCommand, {"n2", "--off"}), "node n2 is an ordinary host\n");
  EXPECT_EQ(Run(RunBackupListCommand, {"-o", "name"}), "node/n4\nnode/n5\n");
  Run(RunBackupSetCommand, {"none"}, 1);
  EXPECT_THAT(err_, HasSubstr("node none"));
}

TEST_F(ClusterVerbsTest, FabricShowDrawsALetterAHost) {
  EXPECT_EQ(Run(RunFabricShowCommand, {"--job", "bert"}),
            "p0/s0  PPb\n"
            "p0/s1  ffb\n"
            "\n"
            "f free   p promised   b backup\n"
            "upper case: 2 hosts of default/bert\n");
  EXPECT_THAT(Run(RunFabricShowCommand, {"--columns", "2"}), HasSubstr("p0/s0  pp\n       b\n"));
}

TEST_F(ClusterVerbsTest, WhereHostsHaveDomainsAllVerbsNameThem) {
  constexpr const char* kDomains[] = {"d0", "d0", "d1", "d2", "d2", "d3"};
  for (int i = 0; i < 6; ++i) {
    json node = *client_.Find(kube::Nodes(), "", StrCat("n", i));
    node["metadata"]["labels"]["yardmaster.dev/domain"] = kDomains[i];
    client_.Seed(kube::Nodes(), node);
  }
  json gang = *client_.Find(kube::Gangs(), "default", "trainingjob-bert");
  for (json& slot : gang["status"]["assignments"]) slot["domain"] = "d0";
  client_.Seed(kube::Gangs(), gang);

  EXPECT_THAT(Run(RunFabricShowCommand, {}), HasSubstr("p0/s0  pp b\np0/s1  ff b\n"));
  EXPECT_THAT(Run(RunFabricShowCommand, {"--columns", "2"}), HasSubstr("p0/s0  pp\n       b\n"));
  const json shown = json::parse(Run(RunFabricShowCommand, {"--job", "bert", "-o", "json"}));
  EXPECT_EQ(shown["segments"][0]["hosts"][2],
            json::parse(R"({"name": "n2", "domain": "d1", "state": "backup", "ofJob": false})"));
  EXPECT_EQ(shown["segments"][0]["hosts"][1]["ofJob"], true);

  const json hosts = json::parse(Run(RunGetCommand, {"hosts", "-o", "json"}))["hosts"];
  EXPECT_EQ(hosts[3]["domain"], "d2");
  const json segments = json::parse(Run(RunGetCommand, {"segments", "-o", "json"}))["segments"];
  EXPECT_EQ(segments[0]["domains"], 2);
  EXPECT_EQ(segments[0]["freeDomains"], 0);
  EXPECT_EQ(segments[1]["freeDomains"], 1) << "d3 has a backup host alone";
  EXPECT_THAT(Run(RunWhyCommand, {"n1"}),
              HasSubstr("segment s0, domain d0 (2 of 2 hosts usable, 0 free)\n"));
  EXPECT_THAT(Run(RunWhyCommand, {"n2"}), HasSubstr("another of its domain, then of its segment"));
  const std::string explained = Run(RunExplainCommand, {"bert"});
  EXPECT_THAT(explained, HasSubstr("2 workers, ranks 0-1, in 1 domain: d0\n"));
  EXPECT_THAT(explained, HasSubstr("; tensor, context and expert groups over domains 0\n"));
  const json backup = json::parse(Run(RunBackupListCommand, {"-o", "json"}))["backup"];
  EXPECT_EQ(backup[0]["domain"], "d1");
  const json top = json::parse(Run(RunTopCommand, {"-o", "json"}))["jobs"];
  EXPECT_EQ(top[0]["domains"], 1);
  const json top_segments = json::parse(Run(RunTopCommand, {"segments", "-o", "json"}))["segments"];
  EXPECT_EQ(top_segments[0]["domains"], 2);
  EXPECT_EQ(top_segments[0]["domainsInUse"], 1);
}

TEST_F(ClusterVerbsTest, TopShowsGangsOfANamespaceAndSegments) {
  const json all = json::parse(Run(RunTopCommand, {"-o", "json"}))["jobs"];
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0]["gang"], "default/trainingjob-bert");
  EXPECT_EQ(all[0]["hosts"], 2);
  EXPECT_EQ(all[0]["gpus"], 16);
  EXPECT_EQ(json::parse(Run(RunTopCommand, {"-n", "default", "-o", "json"}))["jobs"], all);
  EXPECT_EQ(Run(RunTopCommand, {"-n", "other", "-o", "json"}), "{\n  \"jobs\": []\n}\n");
  const json segments = json::parse(Run(RunTopCommand, {"segments", "-o", "json"}))["segments"];
  ASSERT_EQ(segments.size(), 2u);
  EXPECT_EQ(segments[0]["segment"], "p0/s0");
  EXPECT_EQ(segments[0]["inUse"], 2);
  EXPECT_EQ(json::parse(Run(RunTopCommand, {"links", "-o", "json"}))["links"], json::array());
  EXPECT_THAT(Run(RunTopCommand, {"segments", "--limit", "1"}), Not(HasSubstr("p0/s1")));
  Run(RunTopCommand, {"rails"}, 2);
}

TEST_F(ClusterVerbsTest, TopSaysEachWarningOnce) {
  client_.Seed(kube::TrainingJobs(), {{"apiVersion", "yardmaster.dev/v1alpha1"},
                                      {"kind", "TrainingJob"},
                                      {"metadata", {{"name", "odd"}, {"namespace", "default"}}},
                                      {"spec", {{"workers", "many"}}}});
  Run(RunTopCommand, {});
  const auto first = err_.find("TrainingJob default/odd");
  EXPECT_NE(first, std::string::npos) << err_;
  EXPECT_EQ(err_.find("TrainingJob default/odd", first + 1), std::string::npos) << err_;
}

TEST_F(ClusterVerbsTest, TopGoesOnWithTheConnectionItHasAndRepeatsNoWarning) {
  auto connection = LendingConnector(client_, clock_)({});
  ASSERT_TRUE(connection.ok());
  TopReader reader(*std::move(connection), clock_);
  std::ostringstream err;
  ASSERT_TRUE(reader.Read(err).ok());
  EXPECT_THAT(err.str(), HasSubstr("there is no Fabric"));
  err.str("");
  clock_.Advance(5'000);
  const auto load = reader.Read(err);
  ASSERT_TRUE(load.ok());
  EXPECT_EQ(err.str(), "");
  EXPECT_EQ(load->snapshot.now_ms, clock_.WallMs());
}

TEST_F(ClusterVerbsTest, GetSelectsAndFormats) {
  EXPECT_EQ(Run(RunGetCommand, {"jobs", "-o", "name"}), "trainingjob.yardmaster.dev/bert\n");
  EXPECT_EQ(Run(RunGetCommand, {"segments", "-o", "name"}), "segment/p0/s0\nsegment/p0/s1\n");
  EXPECT_EQ(Run(RunGetCommand, {"jobs", "-o", "jsonpath={.jobs[*].state}"}), "Placed");
  EXPECT_EQ(Run(RunGetCommand, {"jobs", "-l", "team=nlp", "-o", "name"}),
            "trainingjob.yardmaster.dev/bert\n");
  EXPECT_EQ(Run(RunGetCommand, {"jobs", "-l", "team!=nlp", "-o", "name"}), "");
  Run(RunGetCommand, {"jobs", "-o", "xml"}, 2);
  EXPECT_THAT(err_, HasSubstr("jsonpath=TEMPLATE"));
  Run(RunGetCommand, {"jobs", "-l", "a in (b)"}, 2);
  client_.FailNext(kube::Verb::kList, "*", absl::UnavailableError("no answer"));
  Run(RunGetCommand, {"jobs", "-w", "-o", "name"}, 2);
  Run(RunGetCommand, {"jobs"}, 1);
  Run(RunGetCommand, {"jobs", "-o", "jsonpath={.jobs"}, 1);
  EXPECT_THAT(err_, HasSubstr("'}' is missing"));
}

TEST(PrintTableTest, NoLineEndsInBlanks) {
  std::ostringstream out;
  PrintTable({{"A", "B", "NOTE"}, {"1", "", ""}, {"2", "", "kept"}}, out);
  EXPECT_EQ(out.str(), "A   B   NOTE\n1\n2       kept\n");
}

TEST(PrintTableTest, ColoursStatesWithoutMovingColumns) {
  std::ostringstream plain, coloured;
  const Table rows = {{"NAME", "STATE", "X"}, {"a", "Never", "1"}, {"b", "Running", "2"}};
  PrintTable(rows, plain);
  PrintTable(rows, coloured, true);
  EXPECT_EQ(coloured.str(),
            "NAME   STATE     X\n"
            "a      \033[31mNever\033[0m     1\n"
            "b      \033[32mRunning\033[0m   2\n");
  EXPECT_THAT(plain.str(), Not(HasSubstr("\033")));
  EXPECT_FALSE(WantsColour(plain));
}

TEST(RowPrinterTest, PrintsWhatChanges) {
  RowPrinter printer;
  std::ostringstream out;
  const std::vector<std::string> header = {"NS", "NAME", "STATE"};
  printer.Print({{header, {"a", "x", "Waiting"}, {"a", "y", "Running"}}}, out);
  EXPECT_EQ(out.str(), "NS   NAME   STATE\na    x      Waiting\na    y      Running\n");
  out.str("");
  printer.Print({{header, {"a", "x", "Placed"}, {"a", "y", "Running"}}}, out);
  EXPECT_EQ(out.str(), "a    x      Placed\n");
  out.str("");
  printer.Print({{header, {"a", "y", "Running"}}}, out);
  printer.Print({{header, {"a", "x", "Placed"}, {"a", "y", "Running"}}}, out);
  EXPECT_EQ(out.str(), "a    x      Placed\n");
}

}  // namespace
}  // namespace yardmaster::cli
