#include "pkg/agent/agent.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>
#include <thread>

#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"
#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/config/yaml.h"
#include "pkg/kube/testing/fake_client.h"
#include "pkg/rpc/testing/agent_client.h"

namespace yardmaster::agent {
namespace {

using ::testing::HasSubstr;

nlohmann::json ShippedFabric(std::int64_t generation) {
  std::ostringstream text;
  text << std::ifstream(YARDMASTER_SOURCE_DIR "/crds/presets/hpn-small.yaml").rdbuf();
  nlohmann::json fabric = *config::ParseYaml(text.str(), "hpn-small.yaml");
  fabric["metadata"]["generation"] = generation;
  return fabric;
}

class AgentTest : public ::testing::Test {
 protected:
  AgentTest() {
    client_.Seed(kube::Fabrics(), ShippedFabric(5));
    options_.plan_dir = folder_.path() + "/plans";
    options_.sysfs_root = "";
    options_.grpc_addresses = {StrCat("unix:", folder_.path(), "/agent.sock")};
  }

  void SeedNode(const std::string& name, const std::string& fleet) {
    client_.Seed(kube::Nodes(), {{"apiVersion", "v1"},
                                 {"kind", "Node"},
                                 {"metadata", {{"name", name}, {"labels", {{"fleet", fleet}}}}}});
  }
  nlohmann::json PodObject(const std::string& uid, const std::string& node,
                           std::int64_t expires_ms) const {
    const PodInput pod = ExamplePod(uid, expires_ms);
    return {{"apiVersion", "v1"},
            {"kind", "Pod"},
            {"metadata",
             {{"namespace", "team"},
              {"name", uid},
              {"uid", uid},
              {"annotations",
               {{"yardmaster.dev/slot", *pod.slot},
                {"yardmaster.dev/network-priority", *pod.priority},
                {"yardmaster.dev/path-plan", *pod.path_plan}}}}},
            {"spec", {{"nodeName", node}}}};
  }
  void SeedPod(const std::string& uid, const std::string& node, std::int64_t lives_ms = 3'600'000) {
    client_.Seed(kube::Pods(), PodObject(uid, node, clock_.WallMs() + lives_ms));
  }
  void DeletePod(const std::string& uid) {
    ASSERT_TRUE(client_.Delete({kube::Pods(), "team", uid, ""}, {.grace_period_seconds = 0}).ok());
  }
  std::unique_ptr<Agent> Make() {
    return std::make_unique<Agent>(options_, AgentDeps{client_,
                                                       {clock_, sleeper_, 1},
                                                       log_,
                                                       registry_,
                                                       health_,
                                                       [this](const PodNotice& notice) {
                                                         const std::lock_guard lock(mutex_);
                                                         notices_.push_back(notice);
                                                       }});
  }
  // Two ports of one rail, "a" and "b".
  void WatchPorts() {
    options_.sysfs_root = folder_.path() + "/sys";
    options_.nic_ports_file = folder_.path() + "/ports.yaml";
    options_.link_poll_ms = 50;
    options_.debounce = {100, 100};
    folder_.Put("ports.yaml",
                "ports: [{rail: 0, port: 0, interface: a}, {rail: 0, port: 1, interface: b}]");
  }
  std::string DownPorts(const std::string& name) const {
    const auto node = client_.Find(kube::Nodes(), "", name);
    return (*node)["metadata"].value("/annotations/yardmaster.dev~1down-ports"_json_pointer, "");
  }
  // What is awaited comes from other threads; nothing here depends on how long it takes.
  template <typename Condition>
  void Eventually(const char* what, Condition condition) {
    for (int i = 0; i < 3'000; ++i) {
      if (condition()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    ADD_FAILURE() << "never came: " << what;
  }
  bool Exists(const std::string& file) const {
    return std::filesystem::exists(options_.plan_dir + "/" + file);
  }
  nlohmann::json Plan(const std::string& file) const {
    std::ifstream in(options_.plan_dir + "/" + file);
    const nlohmann::json plan = nlohmann::json::parse(in, nullptr, false);
    return plan.is_object() ? plan : nlohmann::json::object();  // not there yet
  }

  TempFolder folder_;
  RealClock clock_;
  kube::RealSleeper sleeper_;
  kube::FakeClient client_{clock_};
  std::ostringstream lines_;
  metrics::Logger log_{{.out = &lines_}, clock_};
  metrics::Registry registry_;
  metrics::Health health_;
  std::mutex mutex_;
  std::vector<PodNotice> notices_;
  AgentOptions options_;
};

TEST_F(AgentTest, OneNodeFromPodToFileAndBack) {
  options_.nodes = {"n1"};
  SeedPod("u1", "n1");
  SeedPod("u2", "n2");
  const auto agent = Make();
  EXPECT_FALSE(health_.Readiness().ok);
  ASSERT_TRUE(agent->Start().ok());
  Eventually("the file", [&] { return Plan("u1.json").value("level", -1) == 3; });
  Eventually("readiness", [&] { return health_.Readiness().ok; });
  EXPECT_FALSE(Exists("u2.json"));

  const auto asked = rpc::AgentClient::Create(options_.grpc_addresses[0]);
  Eventually("serving", [&] { return *(*asked)->Serving(5'000); });
  const auto status = (*asked)->Status({}, 5'000);
  ASSERT_TRUE(status.ok());
  ASSERT_EQ(status->pods.size(), 1u);
  EXPECT_EQ(status->pods[0].gang, "trainingjob-a");
  EXPECT_EQ(status->pods[0].state, rpc::PlanState::kSynced);
  EXPECT_EQ(status->pods[0].plan_file, options_.plan_dir + "/u1.json");

  DeletePod("u1");
  Eventually("the file's end", [&] { return !Exists("u1.json"); });
  EXPECT_THAT(registry_.Text(), HasSubstr("yardmaster_agent_plan_file_writes_total 1"));
}

TEST_F(AgentTest, AnAgentThatStandsForSeveralNodesKeepsThemApart) {
  options_.nodes_matching = "fleet=demo";
  SeedNode("n1", "demo");
  SeedNode("n2", "other");
  SeedPod("u1", "n1");
  SeedPod("u2", "n2");
  const auto agent = Make();
  ASSERT_TRUE(agent->Start().ok());
  Eventually("n1's file", [&] { return Exists("n1/u1.json"); });
  EXPECT_FALSE(Exists("n2/u2.json"));
  SeedNode("n2", "demo");
  Eventually("n2's file", [&] { return Exists("n2/u2.json"); });
  EXPECT_THAT(agent->Status().nodes, ::testing::ElementsAre("n1", "n2"));
  SeedNode("n1", "other");
  Eventually("n1's end", [&] { return !Exists("n1/u1.json"); });
}

TEST_F(AgentTest, AfterAKillTheNextLifePutsTheFilesRight) {
  options_.nodes = {"n1"};
  SeedPod("u1", "n1");
  folder_.Put("plans/u1.json", "half a");
  folder_.Put("plans/gone.json", "{}");
  const auto agent = Make();
  ASSERT_TRUE(agent->Start().ok());
  Eventually("u1", [&] { return Plan("u1.json").value("level", -1) == 3; });
  Eventually("gone", [&] { return !Exists("gone.json"); });
}

TEST_F(AgentTest, FilesOutliveTheAgent) {
  options_.nodes = {"n1"};
  SeedPod("u1", "n1");
  auto agent = Make();
  ASSERT_TRUE(agent->Start().ok());
  Eventually("the file", [&] { return Exists("u1.json"); });
  agent.reset();
  EXPECT_TRUE(Exists("u1.json"));
}

TEST_F(AgentTest, AFileOfAProgramThatHasWrittenACheckpointBecomesAnAnnotation) {
  const std::string mark = R"({"version":1,"time":"2026-01-01T00:00:00Z","seconds":42.5})";
  options_.nodes = {"n1"};
  options_.checkpoint_marks_dir = folder_.path() + "/pods";
  for (const char* uid : {"u1", "u2"}) {
    folder_.Put(
        StrCat("pods/", uid, "/volumes/kubernetes.io~empty-dir/yardmaster-checkpoint-mark/mark"),
        mark);
  }
  SeedPod("u1", "n1");
  SeedPod("u2", "n2");
  const auto agent = Make();
  ASSERT_TRUE(agent->Start().ok());
  const auto told = [&](const char* name) {
    const nlohmann::json pod = *client_.Find(kube::Pods(), "team", name);
    return pod["metadata"]["annotations"].value(api::kCheckpointAnnotation, "");
  };
  Eventually("the annotation", [&] { return told("u1") == mark; });
  EXPECT_EQ(told("u2"), "") << "another agent's node";
}

TEST_F(AgentTest, ANewFabricGenerationMakesPlansStaleWithAMetricAndANotice) {
  options_.nodes = {"n1"};
  SeedPod("u1", "n1");
  const auto agent = Make();
  ASSERT_TRUE(agent->Start().ok());
  Eventually("the plan", [&] { return Plan("u1.json").value("level", -1) == 3; });
  client_.Seed(kube::Fabrics(), ShippedFabric(6));
  Eventually("default behaviour", [&] { return Plan("u1.json").value("state", "") == "Stale"; });
  Eventually("the metric", [&] {
    return registry_.Text().find("yardmaster_agent_plan_problems_total{reason=\"stale\"} 1") !=
           std::string::npos;
  });
  // It is counted before it is told.
  Eventually("the notice", [&] {
    const std::lock_guard lock(mutex_);
    return !notices_.empty();
  });
  const std::lock_guard lock(mutex_);
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_EQ(notices_[0].kind, NoticeKind::kStale);
}

TEST_F(AgentTest, APortThatLosesItsLinkComesToTheNode) {
  options_.nodes = {"n1"};
  WatchPorts();
  folder_.Put("sys/class/net/a/operstate", "up\n");
  folder_.Put("sys/class/net/b/operstate", "up\n");
  SeedNode("n1", "demo");
  const auto agent = Make();
  ASSERT_TRUE(agent->Start().ok());
  folder_.Put("sys/class/net/b/operstate", "down\n");
  Eventually("the annotation", [&] { return DownPorts("n1") == "r0p1"; });
  Eventually("the status", [&] {
    const auto links = agent->Status().links;
    return links.size() == 2 && links[0].up && !links[1].up;
  });
}

TEST_F(AgentTest, ANodeThatIsRecreatedGetsItsDownPortsBack) {
  options_.nodes_matching = "fleet=demo";
  WatchPorts();
  folder_.Put("sys/n1/class/net/a/operstate", "up\n");
  folder_.Put("sys/n1/class/net/b/operstate", "down\n");
  SeedNode("n1", "demo");
  const auto agent = Make();
  ASSERT_TRUE(agent->Start().ok());
  Eventually("the annotation", [&] { return DownPorts("n1") == "r0p1"; });
  ASSERT_TRUE(client_.Delete({kube::Nodes(), "", "n1", ""}, {}).ok());
  SeedNode("n1", "demo");
  Eventually("it again", [&] { return DownPorts("n1") == "r0p1"; });
}

TEST_F(AgentTest, WhatATrainingProcessReportsComesToItsPodAndOnlyToPodsOfTheNode) {
  options_.nodes = {"n1"};
  options_.link_poll_ms = 50;
  SeedPod("u1", "n1");
  SeedPod("u2", "n2");
  const auto agent = Make();
  ASSERT_TRUE(agent->Start().ok());
  Eventually("the plan file", [&] { return Exists("u1.json"); });
  const auto client = rpc::AgentClient::Create(options_.grpc_addresses[0]);
  ASSERT_TRUE(client.ok());
  rpc::IterationReport report;
  report.pod_uid = "u1";
  report.means.samples = 10;
  report.means.iteration_seconds = 1.5;
  report.means.sent_bytes = {1e9, 2e9};
  ASSERT_TRUE((*client)->Report(report, 10'000).ok());
  std::string text;
  Eventually("the annotation", [&] {
    const auto pod = client_.Find(kube::Pods(), "team", "u1");
    text = (*pod)["metadata"]["annotations"].value("yardmaster.dev/profile", "");
    return !text.empty();
  });
  EXPECT_EQ(api::DecodeProfileReport(text).value(), report.means);
  report.pod_uid = "u2";
  EXPECT_EQ((*client)->Report(report, 10'000).code(), absl::StatusCode::kNotFound);
  report.pod_uid = "u1";
  report.means.iteration_seconds = -1;
  EXPECT_EQ((*client)->Report(report, 10'000).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(registry_.Text(), HasSubstr("iteration_reports_total{result=\"refused\"} 1"));
}

TEST_F(AgentTest, FlopOfGpusComeToThePodAndLldpNeighboursToTheNode) {
  const auto line = [](const char* metric, const char* value) {
    return StrCat(metric,
                  "{gpu=\"0\",modelName=\"NVIDIA H100 80GB HBM3\",namespace=\"team\",pod=\"u1\"} ",
                  value, "\n");
  };
  folder_.Put("metrics", line("DCGM_FI_DEV_SM_CLOCK", "1830") +
                             line("DCGM_FI_PROF_PIPE_TENSOR_ACTIVE", "0.5"));
  folder_.Put("lldp.json",
              R"({"lldp":{"interface":{"a":{"chassis":{"leaf":{}},"port":{"id":"swp3"}}}}})");
  folder_.Put("names.yaml", "switches: [{chassis: leaf, name: tor}]\nports: [{prefix: swp}]\n");
  folder_.Put("ports.yaml", "ports: [{rail: 0, port: 0, interface: a}]\n");
  options_.nodes = {"n1"};
  options_.link_poll_ms = 50;
  options_.nic_ports_file = folder_.path() + "/ports.yaml";
  options_.programs.gpu_metrics = folder_.path() + "/metrics";
  options_.programs.gpu_interval_ms = 20;
  options_.programs.lldp_command = StrCat("cat ", folder_.path(), "/lldp.json");
  options_.programs.lldp_names_file = folder_.path() + "/names.yaml";
  SeedNode("n1", "demo");
  SeedPod("u1", "n1");
  const auto agent = Make();
  ASSERT_TRUE(agent->Start().ok());
  Eventually("the neighbours", [&] {
    const auto node = client_.Find(kube::Nodes(), "", "n1");
    return (*node)["metadata"].value("/annotations/yardmaster.dev~1neighbours"_json_pointer, "") ==
           R"({"neighbours":[{"chassis":"leaf","local":"n1:r0p0","remote":"tor:d3"}]})";
  });
  EXPECT_THAT(
      registry_.Text(),
      HasSubstr("yardmaster_agent_neighbour{device=\"a\",port=\"swp3\",switch=\"leaf\"} 1"));
  Eventually("the plan file", [&] { return Exists("u1.json"); });
  Eventually("some readings", [&] {
    const std::string text = registry_.Text();
    const std::size_t at = text.find("gpu_reads_total{result=\"ok\"} ");
    return at != std::string::npos && std::atoi(text.c_str() + at + 29) >= 5;
  });
  const auto client = rpc::AgentClient::Create(options_.grpc_addresses[0]);
  rpc::IterationReport report;
  report.pod_uid = "u1";
  report.means.samples = 10;
  report.means.iteration_seconds = 2;
  ASSERT_TRUE((*client)->Report(report, 10'000).ok());
  std::string text;
  Eventually("the annotation", [&] {
    const auto pod = client_.Find(kube::Pods(), "team", "u1");
    text = (*pod)["metadata"]["annotations"].value("yardmaster.dev/profile", "");
    return !text.empty();
  });
  EXPECT_NEAR(api::DecodeProfileReport(text)->flop.value_or(0), 989.4e12, 1e12);
  agent->Stop();
}

TEST_F(AgentTest, UntilTheCachesAreFilledReadinessSaysWhy) {
  options_.nodes = {"n1"};
  client_.SetHook([](const kube::Call& call) {
    return call.target.resource == kube::Fabrics()
               ? absl::PermissionDeniedError("no fabrics for you")
               : absl::OkStatus();
  });
  SeedPod("u1", "n1");
  folder_.Put("plans/u0.json", "{}");
  const auto agent = Make();
  ASSERT_TRUE(agent->Start().ok());
  Eventually("the reason", [&] {
    return health_.Readiness().text.find("no fabrics for you") != std::string::npos;
  });
  EXPECT_TRUE(health_.Liveness().ok);
  EXPECT_TRUE(Exists("u0.json"));  // nothing is removed on half the knowledge
}

TEST_F(AgentTest, OptionsThatCannotWorkAreRefused) {
  const auto why = [&] {
    const auto agent = Make();
    const absl::Status status = agent->Start();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    return MessageOf(status);
  };
  EXPECT_THAT(why(), HasSubstr("--node"));
  options_.nodes = {"n1"};
  options_.nodes_matching = "a=b";
  EXPECT_THAT(why(), HasSubstr("not both"));
  options_.nodes_matching = "";
  options_.plan_dir = "plans";
  EXPECT_THAT(why(), HasSubstr("absolute"));
  options_.plan_dir = folder_.path();
  options_.nic_ports_file = "/no/such/file";
  EXPECT_THAT(why(), HasSubstr("--nic-ports-file"));
  options_.nic_ports_file = "";
  options_.programs = {.gpu_metrics = "/metrics", .gpu_peaks = {"fast"}};
  EXPECT_THAT(why(), HasSubstr("--gpu-peak"));
  options_.programs = {.lldp_file = "/a", .lldp_command = "b"};
  EXPECT_THAT(why(), HasSubstr("--lldp-command"));
  options_.programs = {.lldp_file = "/a", .lldp_names_file = "/no/such/file"};
  EXPECT_THAT(why(), HasSubstr("--lldp-names-file"));
  options_.programs = {};
  options_.grpc_addresses = {"0.0.0.0:0"};
  EXPECT_THAT(why(), HasSubstr("--grpc-bind-address"));
}

}  // namespace
}  // namespace yardmaster::agent
