// Pods of roles beside the workers: when they are made, what follows when they fail, and how they
// end the job.
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;

class JobRolesTest : public JobFixture {
 protected:
  static json Role(const std::string& name, const json& more = json::object()) {
    json role = {
        {"name", name},
        {"template", {{"spec", {{"containers", json::array({{{"name", "c"}, {"image", "i"}}})}}}}}};
    role.merge_patch(more);
    return role;
  }
  static json WithLauncher(const json& more = json::object()) {
    return {{"roles", json::array({Role("launcher", more)})}};
  }
  json RolePod(const std::string& name) {
    return client_.Find(kube::Pods(), "team", name).value_or(json());
  }
  void SetRolePod(const std::string& name, const std::string& phase,
                  const std::string& node = "cpu0", int exit_code = 0) {
    json pod = RolePod(name);
    ASSERT_TRUE(pod.is_object()) << name;
    pod["spec"]["nodeName"] = node;
    pod["status"]["phase"] = phase;
    if (exit_code != 0) {
      pod["status"]["containerStatuses"] =
          json::array({{{"name", "c"},
                        {"restartCount", 0},
                        {"state", {{"terminated", {{"exitCode", exit_code}}}}}}});
    }
    client_.Seed(kube::Pods(), pod);
  }
  // Workers and the launcher run.
  void RunWithLauncher() {
    SetNode("cpu0", true);
    RunAll();
    SetRolePod("a-launcher-0", "Running");
    RunUntilStable();
  }
  std::string UidOf(const std::string& name) {
    const json pod = RolePod(name);
    return pod.is_object() ? pod["metadata"]["uid"].get<std::string>() : "(none)";
  }
  int Pods() { return static_cast<int>(client_.All(kube::Pods()).size()); }
};

TEST_F(JobRolesTest, PodsOfRolesAreMadeOnceEveryWorkerHasItsHost) {
  SeedJob(2, 2, {{"roles", json::array({Role("data", {{"replicas", 2}}), Role("launcher")})}});
  RunUntilStable();
  EXPECT_EQ(Pods(), 2) << "the job waits";
  SetPod(0, "Pending", "n0");
  RunUntilStable();
  EXPECT_EQ(Pods(), 2);
  SetPod(1, "Pending", "n1");
  RunUntilStable();
  EXPECT_EQ(Pods(), 5);
  for (const char* name : {"a-data-0", "a-data-1", "a-launcher-0"}) {
    EXPECT_TRUE(RolePod(name).is_object()) << name;
  }
  EXPECT_EQ(Status()["roles"][0], json({{"name", "data"}, {"ready", 0}, {"succeeded", 0}}));
}

TEST_F(JobRolesTest, TheyHaveTheJobsServiceAndNoRankGateOrGpu) {
  SeedJob(2, 2, WithLauncher({{"template", {{"metadata", {{"labels", {{"app", "x"}}}}}}}}));
  RunAll();
  const json pod = RolePod("a-launcher-0");
  const json& labels = pod["metadata"]["labels"];
  EXPECT_EQ(labels[api::kJobLabel], "a");
  EXPECT_EQ(labels[api::kRoleLabel], "launcher");
  EXPECT_EQ(labels[api::kRoleIndexLabel], "0");
  EXPECT_EQ(labels["app"], "x");
  EXPECT_FALSE(labels.contains(api::kRankLabel));
  EXPECT_EQ(pod["spec"]["hostname"], "a-launcher-0");
  EXPECT_EQ(pod["spec"]["subdomain"], "a");
  EXPECT_FALSE(pod["spec"].contains("schedulingGates"));
  EXPECT_FALSE(pod["spec"]["containers"][0].contains("resources"));
  std::map<std::string, std::string> env;
  for (const json& entry : pod["spec"]["containers"][0]["env"]) {
    if (entry.contains("value")) env[entry["name"]] = entry["value"];
  }
  EXPECT_EQ(env["YARDMASTER_ROLE"], "launcher");
  EXPECT_EQ(env["YARDMASTER_ROLE_INDEX"], "0");
  EXPECT_EQ(env["MASTER_ADDR"], "a-0.a.team.svc");
  EXPECT_EQ(env["WORLD_SIZE"], "2");
  EXPECT_EQ(env.count("RANK"), 0u);
}

TEST_F(JobRolesTest, AFailedLauncherIsRecreatedAloneAndCostsOneRestart) {
  SeedJob(2, 2, WithLauncher());
  RunWithLauncher();
  const auto before = Uids();
  const std::string launcher = UidOf("a-launcher-0");
  SetRolePod("a-launcher-0", "Failed", "cpu0", 3);
  RunUntilStable();
  EXPECT_EQ(Uids(), before) << "the workers stay";
  EXPECT_NE(UidOf("a-launcher-0"), launcher);
  EXPECT_EQ(Status()["restarts"], 1);
  const json incident = Status()["recovery"]["incidents"][0];
  EXPECT_EQ(incident["action"], "Replace");
  EXPECT_EQ(incident["ranks"], json::array({2}));
  EXPECT_FALSE(incident.contains("blamesHost"));
  EXPECT_EQ(incident["message"], "launcher 0 failed with exit code 3 on host cpu0: replaced alone");
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_FALSE(Status().contains("lostWork"));
  EXPECT_EQ(Condition("Recovering"), "True");
  SetRolePod("a-launcher-0", "Running");
  RunUntilStable();
  EXPECT_EQ(Condition("Recovering"), "False");
  EXPECT_EQ(Status()["roles"][0]["ready"], 1);
}

TEST_F(JobRolesTest, ALauncherThatKeepsFailingSpendsTheJobsBudget) {
  json spec = WithLauncher();
  spec["recovery"] = {{"maxRestarts", 1}, {"backoffSeconds", 0}};
  SeedJob(2, 2, spec);
  RunWithLauncher();
  SetRolePod("a-launcher-0", "Failed", "cpu0", 3);
  RunUntilStable();
  SetRolePod("a-launcher-0", "Running");
  RunUntilStable();
  SetRolePod("a-launcher-0", "Failed", "cpu0", 3);
  RunUntilStable();
  EXPECT_EQ(Condition("Failed"), "True");
  EXPECT_EQ(Reason("Failed"), "NoRestartLeft");
  EXPECT_FALSE(HasPod(0)) << "workers that still ran are removed";
}

TEST_F(JobRolesTest, OnFailureMayRestartOrFailTheJob) {
  SeedJob(2, 2, WithLauncher({{"onFailure", "Restart"}}));
  RunWithLauncher();
  const auto before = Uids();
  SetRolePod("a-launcher-0", "Failed", "cpu0", 3);
  RunUntilStable();
  for (const auto& [rank, uid] : before) EXPECT_NE(Uid(rank), uid);
  EXPECT_FALSE(RolePod("a-launcher-0").is_object()) << "the workers have no hosts yet";
  RunWithLauncher();
  EXPECT_EQ(Condition("Running"), "True");
  Change(WithLauncher({{"onFailure", "Fail"}}));
  SetRolePod("a-launcher-0", "Failed", "cpu0", 3);
  RunUntilStable();
  EXPECT_EQ(Condition("Failed"), "True");
}

TEST_F(JobRolesTest, WhenAWorkerFailsWithTheLauncherTheStricterPolicyDecides) {
  SeedJob(2, 2, WithLauncher());
  RunWithLauncher();
  const auto before = Uids();
  SetRolePod("a-launcher-0", "Failed", "cpu0", 3);
  FailPod(1, 134);
  RunUntilStable();
  EXPECT_NE(Uid(0), before.at(0)) << "onWorkerFailure: Restart";
  EXPECT_EQ(Status()["restarts"], 1);
}

TEST_F(JobRolesTest, AWorkerThatFailsAfterTheLauncherIsAnIncidentOfItsOwn) {
  SeedJob(2, 2, WithLauncher());
  RunWithLauncher();
  SetRolePod("a-launcher-0", "Failed", "cpu0", 3);
  RunUntilStable();
  const auto before = Uids();
  FailPod(1, 134);
  RunUntilStable();
  clock_.Advance(10'000);
  RunUntilStable();
  EXPECT_NE(Uid(0), before.at(0)) << "not joined to what concerns the launcher alone";
  EXPECT_EQ(Status()["recovery"]["incidents"].size(), 2u);
}

TEST_F(JobRolesTest, ALostHostOfALauncherCostsNothing) {
  SeedJob(4, 4, WithLauncher());
  RunWithLauncher();
  const auto before = Uids();
  SetNode("cpu0", false);
  RunUntilStable();
  clock_.Advance(10'000);
  RunUntilStable();
  EXPECT_EQ(Uids(), before);
  EXPECT_EQ(Status()["restarts"], 0);
  EXPECT_EQ(Status()["recovery"]["incidents"][0]["cause"], "HostLost");
}

TEST_F(JobRolesTest, TheJobEndsWithTheRoleThatItsPolicyNames) {
  json spec = WithLauncher();
  spec["successPolicy"] = "Role";
  spec["successRole"] = "launcher";
  SeedJob(2, 2, spec);
  RunWithLauncher();
  SetRolePod("a-launcher-0", "Succeeded");
  RunUntilStable();
  EXPECT_EQ(Condition("Succeeded"), "True");
  EXPECT_EQ(Reason("Succeeded"), "RoleSucceeded");
  EXPECT_FALSE(HasPod(0) || HasPod(1)) << "they ran on";
  EXPECT_TRUE(RolePod("a-launcher-0").is_object()) << "its log stays";
  EXPECT_EQ(notices_.back().note, "role launcher has succeeded");
}

TEST_F(JobRolesTest, ALauncherThatEndsBeforeTheWorkersDoesNotEndTheJob) {
  SeedJob(2, 2, WithLauncher());
  RunWithLauncher();
  SetRolePod("a-launcher-0", "Succeeded");
  RunUntilStable();
  EXPECT_EQ(Condition("Succeeded"), "(none)");
  EXPECT_EQ(Condition("Running"), "True");
  for (int rank = 0; rank < 2; ++rank) SetPod(rank, "Succeeded", StrCat("n", rank));
  RunUntilStable();
  EXPECT_EQ(Condition("Succeeded"), "True");
  EXPECT_EQ(Reason("Succeeded"), "WorkersSucceeded");
}

TEST_F(JobRolesTest, WhenTheJobEndsPodsOfRolesThatRunAreRemoved) {
  SeedJob(2, 2, WithLauncher());
  RunWithLauncher();
  for (int rank = 0; rank < 2; ++rank) SetPod(rank, "Succeeded", StrCat("n", rank));
  RunUntilStable();
  EXPECT_FALSE(RolePod("a-launcher-0").is_object());
  EXPECT_EQ(Pods(), 2);
}

TEST_F(JobRolesTest, ASuspendedJobHasNoPodsOfRoles) {
  SeedJob(2, 2, WithLauncher());
  RunWithLauncher();
  Change({{"suspend", true}});
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
  EXPECT_EQ(Condition("Suspended"), "True");
  Change({{"suspend", false}});
  RunWithLauncher();
  EXPECT_EQ(Pods(), 3);
  EXPECT_EQ(Status()["recovery"]["incidents"].size(), 0u);
}

TEST_F(JobRolesTest, ARoleThatAsksForGpusIsACondition) {
  const json container = {{"name", "c"}, {"resources", {{"limits", {{api::kGpuResource, 1}}}}}};
  SeedJob(2, 2,
          WithLauncher({{"template", {{"spec", {{"containers", json::array({container})}}}}}}));
  RunUntilStable();
  EXPECT_EQ(Pods(), 0);
  EXPECT_EQ(Reason("Planned"), "Invalid");
  EXPECT_NE(Message("Planned").find("spec.roles[0].template"), std::string::npos);
}

}  // namespace
}  // namespace yardmaster::op
