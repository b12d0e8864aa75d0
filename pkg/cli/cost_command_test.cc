#include <sstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/cli/commands.h"
#include "pkg/cli/testing/lending_connector.h"
#include "pkg/kube/testing/fake_client.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

constexpr char kSample[] = YARDMASTER_SOURCE_DIR "/crds/samples/capacity-pools.yaml";

struct Result {
  int code;
  std::string out;
  std::string err;
};

Result Ask(std::vector<std::string> args, const std::string& input = "",
           kube::Client* client = nullptr) {
  std::istringstream in(input);
  std::ostringstream out, err;
  const Connector none = [](const ClusterFlags&) -> absl::StatusOr<ClusterConnection> {
    return absl::UnavailableError("no cluster");
  };
  const int code =
      RunCostCommand(args, client != nullptr ? ReadingConnector(*client) : none, in, out, err);
  return {code, out.str(), err.str()};
}

constexpr char kJob[] = R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "TrainingJob",
  "metadata": {"name": "a", "namespace": "default"},
  "spec": {"workers": 2, "capacity": {"maxCostPerHour": "20 USD"},
           "template": {"spec": {"containers": [{"name": "c", "image": "i"}]}}}})";

json Pool(const char* price) {
  return json::parse(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "CapacityPool",
    "metadata": {"name": "p"},
    "spec": {"instanceType": "x", "allocatable": {"nvidia.com/gpu": 8}, "fabricPod": "p0",
             "offers": [{"type": "Spot", "maxHosts": 4, "pricePerHour": ")" +
                     std::string(price) + "\"}]}}");
}

TEST(CostCommandTest, TheSampleRentsPreemptibleHosts) {
  const Result result = Ask({"-f", kSample, "-o", "json"});
  ASSERT_EQ(result.code, 0) << result.err;
  const json answer = json::parse(result.out)["jobs"][0];
  EXPECT_EQ(answer["feasible"], true);
  EXPECT_EQ(answer["pricePerHour"], "78.40 USD");
  EXPECT_EQ(answer["hosts"],
            json::parse(R"([{"pool": "segment-1-spot", "type": "Spot", "hosts": 8}])"));
  EXPECT_NEAR(answer["lostShare"].get<double>(), 8 * 0.01 * 240 / 3600, 1e-9);
  EXPECT_EQ(answer["checkpointIntervalSeconds"], 2324);
}

TEST(CostCommandTest, TheTableNamesPriceAndHosts) {
  const Result result = Ask({"-f", kSample});
  ASSERT_EQ(result.code, 0) << result.err;
  EXPECT_EQ(result.out,
            "JOB              PRICE/H     USEFUL/H    LOST    HOSTS\n"
            "default/frugal   78.40 USD   78.82 USD   0.5 %   8 x segment-1-spot (Spot)\n");
}

TEST(CostCommandTest, PoolsComeFromTheClusterWhenTheFilesHoldNone) {
  FakeClock clock;
  kube::FakeClient client(clock);
  client.Seed(kube::CapacityPools(), Pool("11 USD"));
  const Result dear = Ask({"-f", "-", "-o", "json"}, kJob, &client);
  ASSERT_EQ(dear.code, 0) << dear.err;
  const json answer = json::parse(dear.out)["jobs"][0];
  EXPECT_EQ(answer["feasible"], false);
  EXPECT_EQ(answer["lowestPricePerHour"], "22.00 USD");
  EXPECT_THAT(answer["message"], HasSubstr("the caps allow 20.00 USD/h"));
}

TEST(CostCommandTest, APoolThatCannotBeReadIsNamedAndTheOthersAreUsed) {
  FakeClock clock;
  kube::FakeClient client(clock);
  client.Seed(kube::CapacityPools(), Pool("9 USD"));
  json broken = Pool("cheap");
  broken["metadata"]["name"] = "broken";
  client.Seed(kube::CapacityPools(), broken);
  const Result result = Ask({"-f", "-"}, kJob, &client);
  EXPECT_EQ(result.code, 0);
  EXPECT_THAT(result.err, HasSubstr("warning: CapacityPool broken: spec.offers[0].pricePerHour"));
  EXPECT_THAT(result.out, HasSubstr("18.00 USD"));
}

TEST(CostCommandTest, APlanSaysWhatTheJobWouldCost) {
  std::istringstream in;
  std::ostringstream out, err;
  const Connector none = [](const ClusterFlags&) -> absl::StatusOr<ClusterConnection> {
    return absl::UnavailableError("no cluster");
  };
  RunPlanCommand({"--offline", "-f", kSample, "-o", "json"}, none, in, out, err);
  const json costs = json::parse(out.str()).value("costs", json::array());
  ASSERT_EQ(costs.size(), 1) << err.str();
  EXPECT_EQ(costs[0]["name"], "frugal");
  EXPECT_EQ(costs[0]["pricePerHour"], "78.40 USD");
}

TEST(CostCommandTest, WithoutPoolsAndWithoutAClusterItSaysWhatIsMissing) {
  const Result result = Ask({"-f", "-"}, kJob);
  EXPECT_EQ(result.code, 1);
  EXPECT_THAT(result.err,
              HasSubstr("standard input: holds no CapacityPool, and the cluster does not answer"));
  EXPECT_TRUE(result.out.empty());
}

TEST(CostCommandTest, WrongInputIsExplained) {
  EXPECT_THAT(Ask({"-f", "-"}, "").err, HasSubstr("standard input: holds no TrainingJob"));
  EXPECT_EQ(Ask({"-f", "-"}, kJob).code, 1) << "no pools, and no cluster";
  json pool = Pool("11 USD");
  pool["spec"]["offers"][0]["pricePerHour"] = "cheap";
  const Result wrong = Ask({"-f", "-"}, pool.dump());
  EXPECT_EQ(wrong.code, 1);
  EXPECT_THAT(wrong.err, HasSubstr("spec.offers[0].pricePerHour"));
  EXPECT_EQ(Ask({}).code, 2);
  EXPECT_EQ(Ask({"--help"}).code, 0);
}

}  // namespace
}  // namespace yardmaster::cli
