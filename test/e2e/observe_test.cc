// Observe mode on a real control plane: a job of another kind is scheduled as without us, nothing
// of it is written, and metrics and the command line say where it would have been.
#include <memory>

#include "test/e2e/story_fixture.h"

namespace yardmaster::testing {
namespace {

// Of as many workers as a segment has ordinary hosts, which a scheduler that knows no segments
// spreads over both.
constexpr int kWorkers = kHosts - 8;

json SpreadJob() {
  return {{"apiVersion", "batch/v1"},
          {"kind", "Job"},
          {"metadata", {{"name", "spread"}, {"namespace", "team"}}},
          {"spec",
           {{"completionMode", "Indexed"},
            {"completions", kWorkers},
            {"parallelism", kWorkers},
            {"template",
             {{"metadata", {{"annotations", {{"yardmaster.dev/parallelism", "tp=8"}}}}},
              {"spec",
               {{"restartPolicy", "Never"},
                {"containers",
                 json::array({{{"name", "t"},
                               {"image", "i"},
                               {"resources", {{"limits", {{"nvidia.com/gpu", "8"}}}}}}})}}}}}}}};
}

std::string Gangs(const std::string& state) {
  return StrCat("yardmaster_observe_gangs{state=\"", state, "\"}");
}
std::string Segments(const std::string& place) {
  return StrCat("yardmaster_observe_objective{place=\"", place, "\",term=\"segments\"}");
}

// Nothing of ours is on any object.
void ExpectUntouched(Cluster& cluster) {
  EXPECT_TRUE(cluster.Get({"gangs", "-A"})["items"].empty());
  const json pods = cluster.Get({"pods", "-n", "team", "--show-managed-fields"});
  const json nodes = cluster.Get({"nodes", "--show-managed-fields"});
  for (const json* list : {&pods, &nodes}) {
    ASSERT_FALSE((*list)["items"].empty());
    for (const json& object : (*list)["items"]) {
      for (const json& manager : object["metadata"]["managedFields"]) {
        EXPECT_EQ(manager["manager"].get<std::string>().find("yardmaster-"), std::string::npos)
            << object["metadata"]["name"] << " " << manager;
      }
    }
  }
  const json events = cluster.Get({"events.events.k8s.io", "-A"});
  for (const json& event : events["items"]) {
    EXPECT_EQ(event.value("reportingController", "").find("yardmaster.dev"), std::string::npos)
        << event;
  }
}

TEST(ObserveTest, AJobIsScheduledUntouchedAndItIsSaidWhereItWouldHaveBeen) {
  auto started = Cluster::Start(kHosts, /*kueue=*/false, /*observes=*/true);
  ASSERT_TRUE(started.ok()) << started.status();
  Cluster& cluster = **started;
  ASSERT_TRUE(cluster.plane().Kubectl({"create", "namespace", "team"}).ok());
  ASSERT_TRUE(cluster.StartExtender().ok());
  ASSERT_TRUE(cluster.StartOperator().ok());
  ASSERT_TRUE(WaitFor(kPatience, [&] { return !cluster.LeaderOf("extender").empty(); }));
  ASSERT_TRUE(cluster.plane().Apply(SpreadJob().dump()).ok());

  EXPECT_TRUE(WaitFor(kPatience, [&] {
    int bound = 0;
    const json pods = cluster.Get({"pods", "-n", "team"});
    for (const json& pod : pods["items"]) bound += pod["spec"].contains("nodeName") ? 1 : 0;
    return bound == kWorkers;
  })) << "kube-scheduler places it, and the extender's filter lets every node pass";
  // A look while pods come may have seen some of them.
  EXPECT_TRUE(WaitFor(kPatience, [&] {
    return cluster.ExtenderMetric(Gangs("compared")) == 1 &&
           cluster.ExtenderMetric(Segments("actual")) == 2;
  }));
  EXPECT_EQ(cluster.ExtenderMetric(Gangs("betterPlanned")), 1);
  EXPECT_EQ(cluster.ExtenderMetric(Segments("planned")), 1);
  const auto seen = cluster.Yardmaster({"observe", "-n", "team", "-o", "json"});
  ASSERT_TRUE(seen.ok()) << seen.status();
  const json job = json::parse(*seen)["jobs"][0];
  EXPECT_EQ(job["name"], "spread");
  EXPECT_EQ(job["actual"]["objective"]["segments"], 2);
  EXPECT_EQ(job["planned"]["objective"]["segments"], 1);
  EXPECT_EQ(job["better"], true);
  ExpectUntouched(cluster);
}

}  // namespace
}  // namespace yardmaster::testing
