#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sstream>
#include <unistd.h>

#include "nlohmann/json.hpp"

#include "pkg/api/fabric.h"
#include "pkg/base/strings.h"
#include "pkg/cli/commands.h"
#include "pkg/cli/input/presets.h"
#include "pkg/cli/input/render_fabric.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kTor[] = "p00/p00s00/tor-r0-p0";

struct Answered {
  int code = 0;
  json out;
  std::string text;
  std::string err;
};

class FabricNamesTest : public testing::Test {
 protected:
  FabricNamesTest() {
    std::vector<json> objects = RenderFabric(LoadPreset("hpn-small").value()).value();
    for (json& object : objects) {
      if (object["kind"] == "Node") {
        const auto name = object["metadata"]["name"].get<std::string>();
        const json seen = {
            {"neighbours", {{{"local", name + ":r0p0"}, {"chassis", LeafOf(name)}}}}};
        object["metadata"]["annotations"]["yardmaster.dev/neighbours"] = seen.dump();
      }
      cluster_.push_back(std::move(object));
    }
    std::ofstream(names_) << "switchNames: {" << kTor << ": leaf-0}\n";
  }
  ~FabricNamesTest() override { unlink(names_.c_str()); }

  // "p00s01h003" hangs on leaf-1.
  static std::string LeafOf(const std::string& host) { return StrCat("leaf-", host.substr(5, 1)); }

  Answered Ask(const std::vector<std::string>& args,
               int (*command)(const Args&, std::istream&, std::ostream&, std::ostream&)) {
    std::istringstream in(json{{"kind", "List"}, {"apiVersion", "v1"}, {"items", cluster_}}.dump());
    std::ostringstream out, err;
    Answered answered;
    answered.code = command(args, in, out, err);
    answered.text = out.str();
    answered.out = json::parse(answered.text, nullptr, false);
    answered.err = err.str();
    return answered;
  }
  static int Names(const Args& args, std::istream& in, std::ostream& out, std::ostream& err) {
    const Connector none = [](const ClusterFlags&) -> absl::StatusOr<ClusterConnection> {
      return absl::UnavailableError("no cluster");
    };
    return RunFabricNamesCommand(args, none, in, out, err);
  }
  static int Plan(const Args& args, std::istream& in, std::ostream& out, std::ostream& err) {
    const Connector none = [](const ClusterFlags&) -> absl::StatusOr<ClusterConnection> {
      return absl::UnavailableError("no cluster");
    };
    return RunPlanCommand(args, none, in, out, err);
  }

  json cluster_ = json::array();
  const std::string names_ = testing::TempDir() + std::to_string(getpid()) + "-names.yaml";
};

TEST_F(FabricNamesTest, TorsHaveTheNamesThatTheirHostsSeeAndOthersThoseOfTheFabric) {
  cluster_[0]["spec"]["switchNames"] = {{"p00/agg-p0-1", "spine-1"}};
  const Answered answered = Ask({"-f", "-", "-o", "json"}, Names);
  ASSERT_EQ(answered.code, 0) << answered.err;
  const json names = answered.out["switchNames"];
  EXPECT_EQ(names[kTor], "leaf-0");
  EXPECT_EQ(names["p00/p00s01/tor-r0-p0"], "leaf-1");
  EXPECT_EQ(names["p00/agg-p0-1"], "spine-1");
  EXPECT_THAT(answered.err, HasSubstr("1 other names from the Fabric"));
  // The answer is a part of a Fabric's spec.
  cluster_[0]["spec"]["switchNames"] = names;
  const auto fabric = api::DecodeFabric(cluster_[0]);
  ASSERT_TRUE(fabric.ok()) << fabric.status();
  EXPECT_TRUE(fabric::Problems(fabric->spec).empty());
}

TEST_F(FabricNamesTest, WithoutReportsItIsSaidWhatGivesThem) {
  for (json& object : cluster_) object["metadata"].erase("annotations");
  const Answered answered = Ask({"-f", "-"}, Names);
  EXPECT_EQ(answered.code, 1);
  EXPECT_THAT(answered.err, HasSubstr("agent.lldp.file"));
}

TEST_F(FabricNamesTest, APathHasTheNamesOfTheFileBesideItsIds) {
  const Answered answered = Ask({"-f", "-", "--names", names_, "--from", "p00s00h000/0/0", "--to",
                                 "p00s01h003/0/0", "--source-port", "49321", "--down", "leaf-0:u0"},
                                RunPathCommand);
  ASSERT_EQ(answered.code, 0) << answered.err;
  const json hop = answered.out["hops"][0];
  EXPECT_EQ(hop["switch"], kTor);
  EXPECT_EQ(hop["switchName"], "leaf-0");
  EXPECT_EQ(hop["members"], 59);  // without the link that is down
  const auto link = hop["link"].get<std::string>();
  EXPECT_EQ(hop["linkName"], "leaf-0" + link.substr(std::string(kTor).size()));
  EXPECT_EQ(answered.out["links"].size(), answered.out["linkNames"].size());
  EXPECT_EQ(answered.out["linkNames"][1], hop["linkName"]);
}

TEST_F(FabricNamesTest, APlanHasTheNamesOfTheFileBesideItsIds) {
  cluster_.push_back(
      {{"apiVersion", "yardmaster.dev/v1alpha1"},
       {"kind", "TrainingJob"},
       {"metadata", {{"name", "a"}, {"namespace", "default"}}},
       {"spec",
        {{"workers", 200},
         {"gpusPerWorker", 8},
         {"parallelism", {{"tensor", 8}, {"data", 200}}},
         {"template", {{"spec", {{"containers", {{{"name", "t"}, {"image", "i"}}}}}}}}}}});
  const Answered answered =
      Ask({"--offline", "-f", "-", "--paths", "--names", names_, "-o", "json"}, Plan);
  ASSERT_EQ(answered.code, 0) << answered.err;
  int named = 0;
  for (const json& path : answered.out["paths"]) {
    ASSERT_EQ(path["links"].size(), path["linkNames"].size());
    for (std::size_t i = 0; i < path["links"].size(); ++i) {
      const auto link = path["links"][i].get<std::string>();
      const bool is_leaf_0 = link.rfind(std::string(kTor) + ":", 0) == 0;
      named += is_leaf_0 ? 1 : 0;
      EXPECT_EQ(path["linkNames"][i],
                is_leaf_0 ? "leaf-0" + link.substr(std::string(kTor).size()) : link);
    }
  }
  EXPECT_GT(named, 0);
}

TEST_F(FabricNamesTest, SwitchesThatAreNotThereAndFilesThatAreNoneAreSaid) {
  std::ofstream(names_) << "switchNames: {p09/agg: spine}\n";
  const std::vector<std::string> args = {"-f",
                                         "-",
                                         "--names",
                                         names_,
                                         "--from",
                                         "p00s00h000/0/0",
                                         "--to",
                                         "p00s01h003/0/0",
                                         "--source-port",
                                         "49321"};
  Answered answered = Ask(args, RunPathCommand);
  EXPECT_EQ(answered.code, 0) << answered.err;
  EXPECT_THAT(answered.err, HasSubstr("there is no switch p09/agg"));
  std::ofstream(names_) << "switchNames: {" << kTor << ": 'leaf:0'}\n";
  answered = Ask(args, RunPathCommand);
  EXPECT_EQ(answered.code, 1);
  EXPECT_THAT(answered.err, HasSubstr(names_));
}

}  // namespace
}  // namespace yardmaster::cli
