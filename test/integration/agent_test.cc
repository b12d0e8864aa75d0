// The agent as it runs: the program, a real API server, the rights of its own ServiceAccount, real
// files and a sysfs tree of ours.
#include <signal.h>

#include "gmock/gmock.h"

#include "pkg/api/profile_report.h"
#include "test/integration/agent_fixture.h"

namespace yardmaster::testing {
namespace {

TEST_F(AgentProcessTest, OneNode) {
  MakeNode("one-a");
  MakeNode("one-b");
  const std::string ours = MakePod("ours", "one-a", 3'600'000);
  const std::string theirs = MakePod("theirs", "one-b", 3'600'000);
  Put("sys/class/net/a/operstate", "up\n");
  Put("sys/class/net/b/operstate", "down\n");
  StartAgent({"--node=one-a", StrCat("--reports-dir=", folder_, "/reports")});

  Eventually("the plan", [&] { return Plan(ours + ".json").value("level", -1) == 5; });
  EXPECT_EQ(Plan(ours + ".json")["environment"]["NCCL_IB_TC"], "96");
  EXPECT_EQ(Plan(ours + ".json")["rails"][0]["peers"][0]["sourcePorts"][0], 49321);
  EXPECT_FALSE(Exists(theirs + ".json"));
  // It is told after the file is written.
  Eventually("the status", [&] {
    const auto status = client_->Status({}, kCallMs);
    return status.ok() && status->pods.size() == 1 &&
           status->pods[0].state == rpc::PlanState::kSynced;
  });

  const auto down_ports = [&] {
    return Ask({"get", "node", "one-a", "-o",
                R"(jsonpath={.metadata.annotations.yardmaster\.dev/down-ports})"});
  };
  Eventually("the dead port", [&] { return down_ports() == "r0p1"; });
  Put("sys/class/net/b/operstate", "up\n");
  Eventually("its recovery", [&] { return down_ports().empty(); });

  // What a training process measures comes to its pod, and what a host program saw to the Node.
  rpc::IterationReport report;
  report.pod_uid = ours;
  report.means.samples = 12;
  report.means.iteration_seconds = 1.5;
  ASSERT_TRUE(client_->Report(report, kCallMs).ok());
  Eventually("the profile", [&] {
    const std::string text = Ask({"get", "pod", "ours", "-n", namespace_, "-o",
                                  R"(jsonpath={.metadata.annotations.yardmaster\.dev/profile})"});
    const auto told = api::DecodeProfileReport(text);
    return told.ok() && *told == report.means;
  });
  Put("reports/neighbours.json", R"({"neighbours": []})");
  Eventually("the neighbours", [&] {
    return Ask({"get", "node", "one-a", "-o",
                R"(jsonpath={.metadata.annotations.yardmaster\.dev/neighbours})"}) ==
           R"({"neighbours":[]})";
  });

  // By force: the test bed has no kubelet that would end it.
  ASSERT_TRUE(plane_->Kubectl({"delete", "pod", "ours", "-n", namespace_, "--force"}).ok());
  Eventually("the file's end", [&] { return !Exists(ours + ".json"); });

  agent_->Signal(SIGTERM);
  EXPECT_EQ(agent_->Wait(), 0);
}

TEST_F(AgentProcessTest, SeveralNodesAndAKill) {
  MakeNode("many-a");
  MakeNode("many-b");
  const std::string first = MakePod("first", "many-a", 3'600'000);
  StartAgent({StrCat("--nodes-matching=fleet=", namespace_)});
  Eventually("first", [&] { return Plan(StrCat("many-a/", first, ".json"))["level"] == 5; });

  agent_->Signal(SIGKILL);
  agent_->Wait();
  ASSERT_TRUE(plane_->Kubectl({"delete", "pod", "first", "-n", namespace_, "--force"}).ok());
  const std::string second = MakePod("second", "many-b", 3'600'000);
  StartAgent({StrCat("--nodes-matching=fleet=", namespace_)});
  Eventually("second", [&] { return Plan(StrCat("many-b/", second, ".json"))["level"] == 5; });
  Eventually("first's end", [&] { return !Exists(StrCat("many-a/", first, ".json")); });
}

TEST_F(AgentProcessTest, AnExpiredPlanIsDefaultBehaviourAndAnEvent) {
  MakeNode("stale-a");
  StartAgent({"--node=stale-a"});
  const std::string pod = MakePod("old", "stale-a", 2'000);
  Eventually("default behaviour",
             [&] { return Plan(pod + ".json").value("state", "") == "Stale"; });
  EXPECT_EQ(Plan(pod + ".json")["rails"], json::array());
  Eventually("the event", [&] {
    return Ask({"get", "events.events.k8s.io", "-n", namespace_, "-o",
                "jsonpath={.items[*].reason}"})
               .find("NetworkPlanStale") != std::string::npos;
  });
}

}  // namespace
}  // namespace yardmaster::testing
