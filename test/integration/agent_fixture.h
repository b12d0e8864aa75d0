// A suite with a control plane and one agent: the program, the rights of its own ServiceAccount,
// real files and a sysfs tree of the test's. Thread safety: one thread.
#pragma once

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <stdlib.h>
#include <string>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/pod_path_plan.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/rpc/testing/agent_client.h"
#include "test/integration/installed_control_plane.h"

namespace yardmaster::testing {

namespace fs = std::filesystem;
using nlohmann::json;

inline constexpr std::int64_t kCallMs = 5'000;

class AgentProcessTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto plane = StartInstalledControlPlane();
    ASSERT_TRUE(plane.ok()) << plane.status();
    plane_ = plane->release();
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

  static inline ControlPlane* plane_ = nullptr;
  std::string folder_;
  std::string namespace_;
  std::string socket_folder_;
  std::string socket_;
  std::unique_ptr<Process> agent_;
  std::unique_ptr<rpc::AgentClient> client_;
};

}  // namespace yardmaster::testing
