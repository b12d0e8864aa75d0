#include <algorithm>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/testing/invoke.h"
#include "pkg/cli/testing/lending_connector.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Two segments of four hosts.
std::string Hosts() {
  return Invoke({"fabric", "render", "--preset", "hpn-small", "--hosts", "4", "--backup-hosts", "0",
                 "-o", "yaml"})
      .out;
}

std::string JobManifest(const std::string& name, int workers, const std::string& spec = "") {
  return StrCat("---\napiVersion: yardmaster.dev/v1alpha1\nkind: TrainingJob\nmetadata: {name: ",
                name, ", namespace: team}\nspec: {workers: ", workers,
                ", checkpoint: {intervalSeconds: 1000}, capacity: {restartSeconds: 100}", spec,
                ", template: {}}\n");
}

// The Gang of a job that runs there.
std::string GangManifest(const std::string& name, const std::vector<std::string>& hosts) {
  std::string out = StrCat(
      "---\napiVersion: yardmaster.dev/v1alpha1\nkind: Gang\nmetadata: {name: trainingjob-", name,
      ", namespace: team}\nspec: {owner: {apiVersion: yardmaster.dev/v1alpha1, kind: "
      "TrainingJob, name: ",
      name, "}, workers: ", hosts.size(),
      ", gpusPerWorker: 8, parallelism: {data: ", 8 * hosts.size(),
      "}}\nstatus: {planGeneration: 1, assignments: [");
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) {
    out += StrCat(rank > 0 ? ", " : "", "{rank: ", rank, ", host: ", hosts[rank], "}");
  }
  return out + "]}\n";
}

// a and b have half a segment each, and big needs a whole one.
std::string TwoHalves(const std::string& spec_of_b = "") {
  return Hosts() + JobManifest("a", 2, ", priority: 5") + JobManifest("b", 2, spec_of_b) +
         GangManifest("a", {"p00s00h000", "p00s00h001"}) +
         GangManifest("b", {"p00s01h000", "p00s01h001"}) +
         JobManifest("big", 4, ", placement: {data: {within: Segment, mode: Required}}");
}

// Neither may move, and what waits stays.
std::string BothNever() {
  std::string manifests = TwoHalves(", movable: Never");
  manifests.replace(manifests.find("priority: 5"), 11, "movable: Never");
  return manifests;
}

json Proposed(const std::string& manifests, std::vector<std::string> flags = {}) {
  std::vector<std::string> args = {"rebalance", "--offline", "-f", "-", "-o", "json"};
  args.insert(args.end(), flags.begin(), flags.end());
  const Invocation answer = Invoke(args, manifests);
  EXPECT_EQ(answer.code, 0) << answer.err;
  return answer.code == 0 ? json::parse(answer.out) : json();
}

TEST(RebalanceCommandTest, AMoveSaysWhatItCostsAndWhatItGains) {
  const json report = Proposed(TwoHalves());
  ASSERT_THAT(report["moves"], SizeIs(1));
  const json& move = report["moves"][0];
  EXPECT_EQ(move["job"], "a");
  EXPECT_EQ(move["namespace"], "team");
  EXPECT_EQ(move["from"], json({"p00s00h000", "p00s00h001"}));
  EXPECT_EQ(move["to"], json({"p00s01h002", "p00s01h003"}));
  EXPECT_EQ(move["priceGpuSeconds"], 16 * (100 + 500));
  EXPECT_EQ(move["gain"]["admits"], json({"team/big"}));
  EXPECT_EQ(move["gain"]["segments"], 0);
  EXPECT_EQ(move["gain"]["gpuSeconds"], 32 * 6 * 3600);
  ASSERT_TRUE(move["gain"].contains("lostGpus"));
  EXPECT_EQ(move["gain"]["contention"], move["gain"]["lostGpus"]);
  EXPECT_EQ(report["objectiveAfter"]["contention"], report["objectiveAfter"]["lostGpus"]);
  EXPECT_EQ(move["why"], "makes place for TrainingJob team/big, which then fits");
  EXPECT_EQ(report["objectiveBefore"]["waiting"], 1);
  EXPECT_EQ(report["objectiveAfter"]["waiting"], 0);
  EXPECT_EQ(report["objectiveAfter"]["segments"], 2);
}

TEST(RebalanceCommandTest, AJobThatMayNotBeMovedStays) {
  EXPECT_EQ(Proposed(TwoHalves(", movable: AtCheckpoint"))["moves"][0]["job"], "a");
  std::string first = TwoHalves();
  first.replace(first.find("priority: 5"), 11, "movable: Never");
  EXPECT_EQ(Proposed(first)["moves"][0]["job"], "b");
  EXPECT_THAT(Proposed(BothNever())["moves"], IsEmpty());
}

TEST(RebalanceCommandTest, MovesThatGainTooLittleAreLeftOut) {
  EXPECT_THAT(Proposed(TwoHalves(), {"--min-gain", "72"})["moves"], SizeIs(1));
  EXPECT_THAT(Proposed(TwoHalves(), {"--min-gain", "72.1"})["moves"], IsEmpty());
  EXPECT_THAT(Proposed(TwoHalves(), {"--min-gain", "72", "--horizon-seconds", "60"})["moves"],
              IsEmpty());
}

TEST(RebalanceCommandTest, WhatIsNotMovedHasAReason) {
  const json stays = Proposed(BothNever())["stays"];
  ASSERT_THAT(stays, SizeIs(1)) << "a and b are in one segment each";
  EXPECT_EQ(stays[0]["job"], "big");
  EXPECT_EQ(stays[0]["namespace"], "team");
  EXPECT_EQ(stays[0]["reason"], "NoMoveHelps");
  EXPECT_EQ(stays[0]["why"], "no moves make place for it; 0 of 2 placed gangs may be moved");
  EXPECT_THAT(Proposed(BothNever(), {"--job", "team/a"})["stays"], IsEmpty());
  EXPECT_THAT(Proposed(TwoHalves())["stays"], IsEmpty());
}

TEST(RebalanceCommandTest, ATableSaysWhyNothingIsProposed) {
  EXPECT_THAT(Invoke({"rebalance", "--offline", "-f", "-"}, BothNever()).out,
              HasSubstr("big           team        no moves make place for it"));
  const std::string idle =
      Hosts() + JobManifest("a", 2) + GangManifest("a", {"p00s00h000", "p00s00h001"});
  EXPECT_THAT(Invoke({"rebalance", "--offline", "-f", "-"}, idle).out,
              HasSubstr("No gang waits that moves could help, and every placed gang has the best "
                        "place."));
}

TEST(RebalanceCommandTest, TablesNameSegmentsAndWideOnesHosts) {
  const Invocation table = Invoke({"rebalance", "--offline", "-f", "-"}, TwoHalves());
  EXPECT_THAT(table.out, HasSubstr("p00s00:2"));
  EXPECT_THAT(table.out, HasSubstr("p00s01:2"));
  EXPECT_THAT(table.out, Not(HasSubstr("p00s01h")));
  const Invocation wide = Invoke({"rebalance", "--offline", "-f", "-", "-o", "wide"}, TwoHalves());
  EXPECT_THAT(wide.out, HasSubstr("p00s01h[002-003]"));
}

TEST(RebalanceCommandTest, GangsOfOtherOwnersAreNamedAndStay) {
  std::string manifests = Hosts() + GangManifest("a", {"p00s00h000", "p00s01h000"});
  const Invocation answer = Invoke({"rebalance", "--offline", "-f", "-", "-o", "json"}, manifests);
  EXPECT_EQ(answer.code, 0);
  EXPECT_THAT(json::parse(answer.out)["moves"], IsEmpty());
  EXPECT_THAT(answer.err, HasSubstr("not moved: 1 placed gang without a TrainingJob"));
  manifests += JobManifest("a", 2);
  const json report = Proposed(manifests);
  ASSERT_THAT(report["moves"], SizeIs(1));
  EXPECT_EQ(report["moves"][0]["why"], "1 segment instead of 2");
  EXPECT_EQ(report["moves"][0]["gain"]["segments"], 1);
}

TEST(RebalanceCommandTest, WrongUsageSaysWhatIsMissing) {
  EXPECT_EQ(Invoke({"rebalance", "--offline"}).code, 2);
  EXPECT_EQ(Invoke({"rebalance", "-f", "-"}).code, 2);
  EXPECT_EQ(Invoke({"rebalance", "--offline", "-f", "-", "--max-moves", "0"}, Hosts()).code, 2);
  const Invocation empty = Invoke({"rebalance", "--offline", "-f", "-"}, "");
  EXPECT_EQ(empty.code, 1);
  EXPECT_THAT(empty.err, HasSubstr("holds no object"));
}

// The same objects in a cluster, whose clock counts.
TEST(RebalanceCommandTest, InAClusterWhatRunsIsReadAndNothingIsWritten) {
  FakeClock clock;
  kube::FakeClient client(clock);
  const json list = json::parse(Invoke({"fabric", "render", "--preset", "hpn-small", "--hosts", "4",
                                        "--backup-hosts", "0", "-o", "json"})
                                    .out);
  for (const json& object : list["items"]) {
    client.Seed(object["kind"] == "Fabric" ? kube::Fabrics() : kube::Nodes(), object);
  }
  const auto job = [&](const std::string& name, int workers) {
    client.Seed(kube::TrainingJobs(),
                {{"apiVersion", "yardmaster.dev/v1alpha1"},
                 {"kind", "TrainingJob"},
                 {"metadata", {{"name", name}, {"namespace", "team"}}},
                 {"spec", {{"workers", workers}, {"template", json::object()}}},
                 {"status",
                  {{"conditions",
                    {{{"type", "Running"},
                      {"status", "True"},
                      {"reason", "WorkersRunning"},
                      {"message", ""},
                      {"lastTransitionTime", "2020-01-01T00:00:00Z"}}}}}}});
  };
  job("a", 2);
  client.Seed(
      kube::Gangs(),
      {{"apiVersion", "yardmaster.dev/v1alpha1"},
       {"kind", "Gang"},
       {"metadata", {{"name", "trainingjob-a"}, {"namespace", "team"}}},
       {"spec",
        {{"owner",
          {{"apiVersion", "yardmaster.dev/v1alpha1"}, {"kind", "TrainingJob"}, {"name", "a"}}},
         {"workers", 2},
         {"gpusPerWorker", 8},
         {"pods", "Follow"},
         {"parallelism", {{"data", 16}}}}},
       {"status",
        {{"planGeneration", 1},
         {"assignments",
          {{{"rank", 0}, {"host", "p00s00h000"}}, {{"rank", 1}, {"host", "p00s01h000"}}}}}}});
  std::istringstream in;
  std::ostringstream out, err;
  const int code = RunRebalanceCommand({"-o", "json"}, ReadingConnector(client), in, out, err);
  ASSERT_EQ(code, 0) << err.str();
  const json report = json::parse(out.str());
  ASSERT_THAT(report["moves"], SizeIs(1));
  EXPECT_EQ(report["moves"][0]["gain"]["segments"], 1);
  // Its pods would stay where they are.
  nlohmann::json gang = *client.Find(kube::Gangs(), "team", "trainingjob-a");
  gang["spec"]["pods"] = "First";
  client.Seed(kube::Gangs(), gang);
  std::ostringstream none;
  ASSERT_EQ(RunRebalanceCommand({"-o", "json"}, ReadingConnector(client), in, none, err), 0)
      << err.str();
  EXPECT_TRUE(json::parse(none.str())["moves"].empty());
}

}  // namespace
}  // namespace yardmaster::cli
