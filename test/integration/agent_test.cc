// The agent as it runs: the program, a real API server, the rights of its own ServiceAccount, real
// files and a sysfs tree of ours.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <signal.h>
#include <stdlib.h>
#include <thread>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "pkg/api/pod_path_plan.h"
#include "pkg/api/profile_report.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/rpc/testing/agent_client.h"
#include "test/integration/control_plane.h"

namespace yardmaster::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::int64_t kCallMs = 5'000;

class AgentProcessTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto plane = ControlPlane::Start({});
    ASSERT_TRUE(plane.ok()) << plane.status();
    plane_ = plane->release();
    const auto installed = RunProgram(
        {YARDMASTER_SOURCE_DIR "/test/cluster/install", plane_->folder(), plane_->kubeconfig()}, "",
        {{"PATH", StrCat(plane_->bin(), ":/usr/local/bin:/usr/bin:/bin")}});
    ASSERT_TRUE(installed.ok()) << installed.status();
    ASSERT_TRUE(
        plane_->Kubectl({"apply", "-f", YARDMASTER_SOURCE_DIR "/crds/presets/hpn-small.yaml"})
            .ok());
  }
  static void TearDownTestSuite() {
    delete plane_;
    plane_ = nullptr;
  }

  void SetUp() override {
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = StrCat(plane_->folder(), "/", test);
    fs::create_directories(folder_);
    // The name of a socket has at most 107 characters, and a checkout may lie deep.
    std::string sockets = (fs::temp_directory_path() / "ym-agent-XXXXXX").string();
    ASSERT_NE(::mkdtemp(sockets.data()), nullptr);
    socket_folder_ = sockets;
    socket_ = StrCat("unix:", socket_folder_, "/a.sock");
    const auto made = plane_->Kubectl({"create", "namespace", Lower(test)});
    ASSERT_TRUE(made.ok()) << made.status();
    namespace_ = Lower(test);
    ASSERT_TRUE(Eventually("the ServiceAccount", [&] {
      return plane_->Kubectl({"get", "serviceaccount", "default", "-n", namespace_}).ok();
    }));
  }

  void TearDown() override { fs::remove_all(socket_folder_); }

  static std::string Lower(std::string text) {
    for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return text;
  }
  static bool Eventually(const char* what, const std::function<bool()>& holds) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
    while (!holds()) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "never came: " << what;
        return false;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return true;
  }

  void StartAgent(const std::vector<std::string>& whom) {
    Command command = {YARDMASTER_AGENT,
                       StrCat("--kubeconfig=", plane_->folder(), "/agent.kubeconfig"),
                       "--metrics-bind-address=127.0.0.1:0",
                       "--health-bind-address=127.0.0.1:0",
                       StrCat("--plan-dir=", folder_, "/plans"),
                       StrCat("--sysfs-root=", folder_, "/sys"),
                       StrCat("--nic-ports-file=", folder_, "/ports.yaml"),
                       "--link-poll-ms=50",
                       "--link-down-ms=100",
                       "--link-up-ms=100",
                       StrCat("--grpc-bind-address=", socket_)};
    command.insert(command.end(), whom.begin(), whom.end());
    Put("ports.yaml",
        "ports: [{rail: 0, port: 0, interface: a}, {rail: 0, port: 1, interface: b}]");
    auto process = Process::Start({command, {}, folder_ + "/agent.log"});
    ASSERT_TRUE(process.ok()) << process.status();
    agent_ = *std::move(process);
    client_ = *rpc::AgentClient::Create(socket_);
    ASSERT_TRUE(Eventually("serving", [&] { return client_->Serving(kCallMs).value_or(false); }));
  }

  void Put(const std::string& name, const std::string& text) {
    const fs::path file = fs::path(folder_) / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file.string() + ".new") << text;
    fs::rename(file.string() + ".new", file);
  }
  void MakeNode(const std::string& name) {
    const json node = {{"apiVersion", "v1"},
                       {"kind", "Node"},
                       {"metadata", {{"name", name}, {"labels", {{"fleet", namespace_}}}}}};
    ASSERT_TRUE(plane_->Apply(node.dump()).ok());
  }
  // A pod bound to `node` that has a level and a path plan; its uid.
  std::string MakePod(const std::string& name, const std::string& node, std::int64_t lives_ms) {
    api::PodPathPlan plan;
    plan.fabric_generation = 1;
    plan.expires_ms = RealClock().WallMs() + lives_ms;
    plan.rails = {{0, {{1, "n9", "10.0.0.9", 0, {49321}}}}};
    const json annotations = {
        {"yardmaster.dev/slot",
         R"({"version":1,"gang":"g","rank":0,"fabricPod":"p0","segment":"p0s0","stages":[0]})"},
        {"yardmaster.dev/network-priority", "5"},
        {"yardmaster.dev/path-plan", *api::EncodePathPlan(plan)}};
    const json pod = {
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata", {{"name", name}, {"namespace", namespace_}, {"annotations", annotations}}},
        {"spec",
         {{"nodeName", node},
          {"automountServiceAccountToken", false},
          {"containers", json::array({{{"name", "c"}, {"image", "registry.example/c"}}})}}}};
    EXPECT_TRUE(plane_->Apply(pod.dump()).ok());
    return Ask({"get", "pod", name, "-n", namespace_, "-o", "jsonpath={.metadata.uid}"});
  }
  static std::string Ask(const std::vector<std::string>& arguments) {
    const auto answer = plane_->Kubectl(arguments);
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.value_or("");
  }
  json Plan(const std::string& file) const {
    std::ifstream in(folder_ + "/plans/" + file);
    const json plan = json::parse(in, nullptr, false);
    return plan.is_object() ? plan : json::object();
  }
  bool Exists(const std::string& file) const { return fs::exists(folder_ + "/plans/" + file); }

  static ControlPlane* plane_;
  std::string folder_;
  std::string namespace_;
  std::string socket_folder_;
  std::string socket_;
  std::unique_ptr<Process> agent_;
  std::unique_ptr<rpc::AgentClient> client_;
};

ControlPlane* AgentProcessTest::plane_ = nullptr;

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
