// The operator's policy for moves of running gangs, on a real control plane: nobody asks, and a
// gang that is cut is gathered so that a gang that waits gets its segment.
#include <optional>
#include <string>
#include <vector>

#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

constexpr int kOrdinary = 4;  // hosts of a segment that are not backup hosts

std::string InOneSegment(const std::string& name, int workers) {
  return TrainingJob(name, workers, R"("parallelism": {"tensor": 8},
      "placement": {"data": {"within": "Segment", "mode": "Required"}})");
}

class MovesPolicyTest : public StoryTest {
 protected:
  // The bounds are those of the chart; only the times are short.
  static void SetUpTestSuite() {
    SetUpCluster(false, kHosts - 12 + kOrdinary,
                 {"--moves=Auto", "--moves-every=1", "--moves-after=1"});
  }
  static std::set<std::string> SegmentsOf(const std::string& job) {
    std::set<std::string> segments;
    const json gang = Gang(job);
    for (const json& slot : gang.value("/status/assignments"_json_pointer, json::array())) {
      segments.insert(slot["segment"]);
    }
    return segments;
  }
  static json MoveOf(const std::string& job) {
    return Job(job).value("/status/move"_json_pointer, json::object());
  }
  static void Delete(const std::string& job) {
    ASSERT_TRUE(cluster_->plane()
                    .Kubectl({"delete", "trainingjob", job, "-n", "team", "--timeout=60s"})
                    .ok());
  }
  // What `kubectl yardmaster rebalance` says of a job that is not moved.
  static std::string WhyNoMoveFor(const std::string& job) {
    const auto text = cluster_->Yardmaster({"rebalance", "-o", "json"});
    if (!text.ok()) return text.status().ToString();
    const json report = json::parse(*text);
    for (const json& stay : report["stays"]) {
      if (stay["job"] == job) return stay["why"];
    }
    return report.dump(1);
  }
  // Every version of the job's move, "<state> <hosts>", from now on.
  static std::unique_ptr<Process> WatchMoves(const std::string& job) {
    Process::Options options;
    options.command = {cluster_->plane().bin() + "/kubectl",
                       "--kubeconfig",
                       cluster_->plane().kubeconfig(),
                       "get",
                       "trainingjob",
                       job,
                       "-n",
                       "team",
                       "--watch",
                       "-o",
                       R"(jsonpath={.status.move.state} {.status.move.hosts}{"\n"})"};
    auto watch = Process::Start(options);
    EXPECT_TRUE(watch.ok()) << watch.status();
    return watch.ok() ? *std::move(watch) : nullptr;
  }
};

TEST_F(MovesPolicyTest, ACutGangIsGatheredForOneThatWaitsUnlessItSaysNever) {
  // One host of each segment is left, and the gang is cut.
  for (const char* filler : {"left", "right"}) {
    ASSERT_TRUE(cluster_->plane().Apply(InOneSegment(filler, kOrdinary - 1)).ok());
    ASSERT_TRUE(Has(filler, "Running"));
  }
  ASSERT_TRUE(
      cluster_->plane()
          .Apply(TrainingJob("cut", 2, R"("parallelism": {"tensor": 8}, "movable": "Never")"))
          .ok());
  ASSERT_TRUE(Has("cut", "Running"));
  ASSERT_EQ(SegmentsOf("cut").size(), 2u);
  for (const char* filler : {"left", "right"}) Delete(filler);
  ASSERT_TRUE(WaitFor(kPatience, [] {
    return cluster_->Get({"gangs", "-n", "team"})["items"].size() == 1;
  }));
  ASSERT_TRUE(cluster_->plane().Apply(InOneSegment("big", kOrdinary)).ok());
  ASSERT_TRUE(WaitFor(kPatience, [] { return ConditionOf(Gang("big"), "Planned") == "False"; }));

  EXPECT_FALSE(WaitFor(5, [] { return !MoveOf("cut").empty(); }))
      << "five looks, and it says Never";
  EXPECT_EQ(WhyNoMoveFor("cut"), "spec.movable: is Never");
  EXPECT_EQ(WhyNoMoveFor("big"), "no moves make place for it; 0 of 1 placed gang may be moved");

  const std::unique_ptr<Process> watch = WatchMoves("cut");
  ASSERT_NE(watch, nullptr);
  ASSERT_TRUE(watch->ReadLine().has_value());
  ASSERT_TRUE(cluster_->plane()
                  .Kubectl({"patch", "trainingjob", "cut", "-n", "team", "--type=merge", "-p",
                            R"({"spec": {"movable": "AtCheckpoint"}})"})
                  .ok());
  ASSERT_TRUE(WaitFor(kPatience, [] { return MoveOf("cut").value("state", "") == "Done"; }))
      << Job("cut").dump(1);
  std::optional<std::string> asked = watch->ReadLine();
  while (asked && !asked->starts_with("Asked ")) asked = watch->ReadLine();
  ASSERT_TRUE(asked.has_value());
  const json promised = json::parse(asked->substr(6));

  const json gang = Gang("cut");
  for (const json& slot : gang["status"]["assignments"]) {
    EXPECT_EQ(slot["host"], promised[slot["rank"].get<std::size_t>()]);
  }
  EXPECT_EQ(SegmentsOf("cut").size(), 1u);
  ASSERT_TRUE(Has("cut", "Running"));
  int on_hosts = 0;
  for (const json& pod : Pods()) {
    if (pod["metadata"]["labels"][api::kJobLabel] != "cut") continue;
    const std::size_t rank =
        std::stoul(pod["metadata"]["labels"]["yardmaster.dev/rank"].get<std::string>());
    EXPECT_EQ(pod["spec"].value("nodeName", ""), promised[rank]);
    ++on_hosts;
  }
  EXPECT_EQ(on_hosts, 2);
  const json move = MoveOf("cut");
  EXPECT_EQ(move["byPolicy"], true);
  EXPECT_EQ(move["record"]["policyMoves"].size(), 1u);
  EXPECT_FALSE(
      Job("cut")["metadata"].value("annotations", json::object()).contains("yardmaster.dev/move"));
  EXPECT_TRUE(Has("big", "Running"));
  CheckPromises();
}

}  // namespace
}  // namespace yardmaster::testing
