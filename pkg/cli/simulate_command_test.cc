#include <cstdlib>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>

#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/input/presets.h"
#include "pkg/cli/input/render_fabric.h"
#include "pkg/cli/testing/lending_connector.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::cli {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int code;
  std::string out;
  std::string err;
};

absl::StatusOr<ClusterConnection> NoCluster(const ClusterFlags& /*flags*/) {
  return absl::UnavailableError("there is no cluster");
}

Outcome RunCommand(std::vector<std::string> args, const Connector& connect = NoCluster) {
  std::istringstream in;
  std::ostringstream out;
  std::ostringstream err;
  const int code = RunSimulateCommand(args, connect, in, out, err);
  return {code, out.str(), err.str()};
}

std::vector<std::string> SmallRun(const std::string& policy) {
  return {"--fabric", YARDMASTER_SOURCE_DIR "/crds/presets/two-layer-clos.yaml",
          "--trace",  YARDMASTER_SOURCE_DIR "/test/data/lingjun-2023",
          "--jobs",   "12",
          "--policy", policy,
          "--seed",   "3",
          "-o",       "json"};
}

TEST(SimulateCommand, ReportsEveryJobAndTheClusterTheSameEachTime) {
  for (const char* policy : {"crux", "ecmp"}) {
    const Outcome outcome = RunCommand(SmallRun(policy));
    ASSERT_EQ(outcome.code, 0) << outcome.err;
    const auto report = nlohmann::json::parse(outcome.out);
    EXPECT_EQ(report["jobs"].size(), 12u);
    EXPECT_EQ(report["source"], "generated");
    EXPECT_GT(report["cluster"]["utilisation"], 0.1);
    EXPECT_LE(report["cluster"]["utilisation"], 1);
    for (const auto& job : report["jobs"]) {
      EXPECT_GT(job["finishSeconds"], job["startSeconds"]);
      EXPECT_GE(job["slowdown"], 1);
    }
    EXPECT_THAT(outcome.err, HasSubstr("12 of 12 jobs finished"));
    EXPECT_EQ(outcome.out, RunCommand(SmallRun(policy)).out);
  }
}

TEST(SimulateCommand, WithoutAFileItReplaysOnTheClustersFabric) {
  const auto fabric = LoadPreset("two-layer-clos");
  ASSERT_TRUE(fabric.ok()) << fabric.status();
  const auto objects = RenderFabric(*fabric);
  ASSERT_TRUE(objects.ok()) << objects.status();
  FakeClock clock;
  kube::FakeClient client(clock);
  for (const nlohmann::json& object : *objects) {
    client.Seed(object.at("kind") == "Node" ? kube::Nodes() : kube::Fabrics(), object);
  }
  const std::vector<std::string> with_file = SmallRun("ecmp");
  const std::vector<std::string> without(with_file.begin() + 2, with_file.end());
  const Outcome cluster = RunCommand(without, ReadingConnector(client));
  ASSERT_EQ(cluster.code, 0) << cluster.err;
  EXPECT_EQ(cluster.out, RunCommand(with_file).out);
  const Outcome none = RunCommand(without);
  EXPECT_EQ(none.code, 1);
  EXPECT_THAT(none.err, HasSubstr("there is no cluster"));
}

TEST(SimulateCommand, TakesThePublishedFilesWithTheirPlaces) {
  std::string folder = ::testing::TempDir() + "/ymtraceXXXXXX";
  ASSERT_NE(mkdtemp(folder.data()), nullptr);
  std::ofstream(folder + "/job.csv")
      << "job_name,kind,model,priority,gmt_job_submitted,gmt_job_running,gmt_job_finished\n"
         "caf\xe9,PyTorchJob,GPT-13b,1,2023/8/15 02:19,2023/8/15 02:20,2023/8/15 03:20\n"
         "b,PyTorchJob,bert,1,2023/8/15 02:29,2023/8/15 02:20,2023/8/15 03:20\n";
  std::ofstream(folder + "/worker.csv")
      << "job_name,worker_name,replica_type,host_ip,RES\n"
         "caf\xe9,a-0,Master,y,\"{\"\"cpu\"\":96,\"\"gpu\"\":8}\"\n"
         "caf\xe9,a-1,Worker,x,\"{\"\"cpu\"\":96,\"\"gpu\"\":8}\"\n";
  std::ofstream(folder + "/topo.csv") << "ip,DSW,PSW,ASW\nx,G1,P1,S1\ny,G1,P1,S2\n";
  std::vector<std::string> args = SmallRun("crux");
  args[3] = folder;
  const Outcome outcome = RunCommand(args);
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  const auto report = nlohmann::json::parse(outcome.out);
  EXPECT_EQ(report["source"], "job.csv");
  ASSERT_EQ(report["jobs"].size(), 1u);
  EXPECT_EQ(report["jobs"][0]["id"], "caf\ufffd") << "the file is not UTF-8, the answer is";
  EXPECT_EQ(report["jobs"][0]["gpus"], 16);
  EXPECT_EQ(report["jobs"][0]["inPlace"], true);
  EXPECT_EQ(report["skippedRows"]["job.csv: running before submitted"], 1);
}

TEST(SimulateCommand, LinksInsideHostsAreWhatTheFlagsSay) {
  std::vector<std::string> args = SmallRun("ecmp");
  args.insert(args.end(), {"--fragmented", "1"});
  const Outcome wide = RunCommand(args);
  args.insert(args.end(), {"--pcie-gbps", "20"});
  const Outcome narrow = RunCommand(args);
  ASSERT_EQ(wide.code, 0) << wide.err;
  ASSERT_EQ(narrow.code, 0) << narrow.err;
  const auto utilisation = [](const Outcome& outcome) {
    return nlohmann::json::parse(outcome.out)["cluster"]["utilisation"].get<double>();
  };
  EXPECT_LT(utilisation(narrow), utilisation(wide));
  args.back() = "-3";
  EXPECT_EQ(RunCommand(args).code, 2);
}

TEST(SimulateCommand, NumbersThatAreNoneAreWrongUsage) {
  for (const char* flag : {"--scatter", "--fragmented", "--pcie-gbps", "--nvlink-gbps"}) {
    std::vector<std::string> args = SmallRun("crux");
    args.insert(args.end(), {flag, "nan"});
    const Outcome outcome = RunCommand(args);
    EXPECT_EQ(outcome.code, 2) << flag;
    EXPECT_THAT(outcome.err, HasSubstr("nan is not a number from"));
    EXPECT_TRUE(outcome.out.empty());
  }
}

TEST(SimulateCommand, ExitCodesTellInputFromUsage) {
  EXPECT_EQ(RunCommand({"--help"}).code, 0);
  EXPECT_EQ(RunCommand({}).code, 2);
  EXPECT_EQ(RunCommand(SmallRun("exact")).code, 2);
  std::vector<std::string> args = SmallRun("crux");
  args[3] = "/does/not/exist";
  const Outcome outcome = RunCommand(args);
  EXPECT_EQ(outcome.code, 1);
  EXPECT_THAT(outcome.err, HasSubstr("--trace"));
  args[3] = YARDMASTER_SOURCE_DIR "/crds";
  EXPECT_THAT(RunCommand(args).err, HasSubstr("/crds holds neither job.csv nor model-gpus.csv"));
}

}  // namespace
}  // namespace yardmaster::cli
