#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/cli/testing/invoke.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string Rendered(const std::string& preset) {
  return Invoke({"fabric", "render", "--preset", preset, "-o", "yaml"}).out;
}

constexpr char kJob[] = R"(
---
apiVersion: yardmaster.dev/v1alpha1
kind: TrainingJob
metadata: {name: a}
spec:
  workers: 2
  template: {spec: {containers: [{name: c, image: i}]}}
)";

json Spares(const std::string& input, std::vector<std::string> flags = {}) {
  std::vector<std::string> args = {"spares", "-f", "-", "-o", "json"};
  args.insert(args.end(), flags.begin(), flags.end());
  const Invocation answer = Invoke(args, input);
  EXPECT_EQ(answer.code, 0) << answer.err;
  return answer.code == 0 ? json::parse(answer.out) : json();
}

TEST(SparesCommandTest, EachNumberOfSparesHasItsProbabilityAndGoodput) {
  const json answer = Spares(Rendered("hpn-small"));
  const json& rows = answer["perSegment"];
  ASSERT_GT(rows.size(), 2u);
  EXPECT_EQ(rows[0]["spares"], 0);
  EXPECT_EQ(rows[0]["inside"], 0.0);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    EXPECT_EQ(rows[i]["spares"], i);
    EXPECT_GE(rows[i]["inside"].get<double>(), rows[i - 1]["inside"].get<double>());
    EXPECT_GE(rows[i]["goodput"].get<double>(), rows[i - 1]["goodput"].get<double>());
    EXPECT_LT(rows[i]["goodput"].get<double>(), 1);
  }
  EXPECT_FALSE(answer.contains("perDomain"));
}

TEST(SparesCommandTest, DomainsHaveTheirOwn) {
  const json answer = Spares(Rendered("nvl72"));
  EXPECT_EQ(answer["hostsPerDomain"], 18);
  ASSERT_TRUE(answer.contains("perDomain"));
  EXPECT_EQ(answer["perDomain"].size(), 9u);
  // Fewer hosts share a spare.
  EXPECT_GE(answer["perDomain"][1]["inside"].get<double>(),
            answer["perSegment"][1]["inside"].get<double>());
}

TEST(SparesCommandTest, SmallJobsOfTheFilesLoseLess) {
  const std::string fabric = Rendered("hpn-small");
  const json whole_segment = Spares(fabric);
  const json small_job = Spares(fabric + kJob);
  EXPECT_GT(small_job["perSegment"][0]["goodput"].get<double>(),
            whole_segment["perSegment"][0]["goodput"].get<double>());
}

TEST(SparesCommandTest, SparesAreChosenForTheWantedProbability) {
  const std::string fabric = Rendered("hpn-small");
  EXPECT_EQ(Spares(fabric, {"--inside", "0"})["enoughPerSegment"], 0);
  EXPECT_TRUE(Spares(fabric, {"--inside", "1"})["enoughPerSegment"].is_null());
  const json answer = Spares(fabric, {"--inside", "0.9", "--host-failures-per-day", "0.02"});
  const int enough = answer["enoughPerSegment"];
  ASSERT_GT(enough, 0);
  const json& rows = answer["perSegment"];
  EXPECT_GE(rows[static_cast<std::size_t>(enough)]["inside"].get<double>(), 0.9);
  EXPECT_LT(rows[static_cast<std::size_t>(enough - 1)]["inside"].get<double>(), 0.9);
}

TEST(SparesCommandTest, TheRateMayComeFromTheIncidentsOfTheJobs) {
  std::string job = std::string(kJob) + R"(
status:
  startTime: "2026-01-01T00:00:00Z"
  completionTime: "2026-01-11T00:00:00Z"
  recovery:
    incidents:
    - {attempt: 1, cause: HostLost, action: Restart, ranks: [0], host: n1, message: "",
       startTime: "2026-01-02T00:00:00Z", endTime: "2026-01-02T00:01:00Z"}
    - {attempt: 2, cause: HostLost, action: Restart, ranks: [1], host: n2, message: "",
       startTime: "2026-01-03T00:00:00Z", endTime: "2026-01-03T00:01:00Z"}
)";
  const std::string fabric = Rendered("hpn-small");
  const Invocation few = Invoke({"spares", "-f", "-", "--measured"}, fabric + job);
  EXPECT_EQ(few.code, 1);
  EXPECT_THAT(few.err, HasSubstr("have lost 2 hosts in 20 host days"));
  job += R"(
    - {attempt: 3, cause: HostFault, action: Restart, ranks: [1], host: n2, message: "",
       startTime: "2026-01-04T00:00:00Z", endTime: "2026-01-04T00:01:00Z"}
)";
  EXPECT_DOUBLE_EQ(Spares(fabric + job, {"--measured"})["hostFailuresPerDay"].get<double>(),
                   3 / 20.0);
}

TEST(SparesCommandTest, AFileWithoutAFabricIsRefused) {
  const Invocation answer = Invoke({"spares", "-f", "-"}, kJob);
  EXPECT_EQ(answer.code, 1);
  EXPECT_THAT(answer.err, HasSubstr("holds no Fabric; write one with"));
}

TEST(SparesCommandTest, ARateThatIsNoRateIsWrongUsage) {
  const Invocation answer =
      Invoke({"spares", "-f", "-", "--host-failures-per-day", "-1"}, Rendered("hpn-small"));
  EXPECT_EQ(answer.code, 2);
  EXPECT_THAT(answer.err, HasSubstr("--host-failures-per-day"));
}

}  // namespace
}  // namespace yardmaster::cli
