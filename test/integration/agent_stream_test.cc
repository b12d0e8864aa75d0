// From a lost link on a host to the operator's plan: both programs, a real API server, tokens that
// are bound to a node, certificates of an authority of our own.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <signal.h>
#include <thread>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/base/testing/free_port.h"
#include "pkg/tls/authority.h"
#include "test/integration/installed_control_plane.h"

namespace yardmaster::testing {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kMissing[] = "-1";

class AgentStreamTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto plane = StartInstalledControlPlane();
    ASSERT_TRUE(plane.ok()) << plane.status();
    plane_ = *std::move(plane);
    folder_ = plane_->folder();
    metrics_port_ = FreePort();
    reports_port_ = FreePort();
    authority_ = *tls::MakeAuthority({.common_name = "ours", .now_ms = clock_.WallMs()});
    Put("ca.crt", authority_.certificate_pem);
    Issue("operator");
    Issue("agent");
    for (const char* node : {"h0", "h1"}) {
      const json object = {
          {"apiVersion", "v1"},
          {"kind", "Node"},
          {"metadata",
           {{"name", node},
            {"labels",
             {{"yardmaster.dev/fabric-pod", "p0"}, {"yardmaster.dev/segment", "p0s0"}}}}}};
      ASSERT_TRUE(plane_->Apply(object.dump()).ok());
    }
    Put("ports.yaml",
        "ports: [{rail: 0, port: 0, interface: a}, {rail: 0, port: 1, interface: b}]");
    Link("a", true);
    Link("b", true);
  }

  void Put(const std::string& name, const std::string& text) const {
    const fs::path file = fs::path(folder_) / name;
    fs::create_directories(file.parent_path());
    std::ofstream(file.string() + ".new") << text;
    fs::rename(file.string() + ".new", file);
  }
  void Link(const std::string& interface, bool up) const {
    Put(StrCat("sys/class/net/", interface, "/operstate"), up ? "up\n" : "down\n");
  }
  void Issue(const std::string& side) const {
    tls::CertificateRequest request;
    request.common_name = side;
    request.ip_addresses = {"127.0.0.1"};
    request.server = side == "operator";
    request.client = side == "agent";
    request.now_ms = clock_.WallMs();
    const tls::KeyPair pair = *tls::Issue(authority_, request);
    Put(side + ".crt", pair.certificate_pem);
    Put(side + ".key", pair.key_pem);
  }
  // A token of the agents' ServiceAccount that is bound to a node, as kubelet makes them.
  void MakeToken(const std::string& node, const std::string& audience) const {
    const auto token = plane_->Kubectl(
        {"create", "token", "yardmaster-agent", "-n", "yardmaster-system", "--audience", audience,
         "--bound-object-kind", "Node", "--bound-object-name", node});
    ASSERT_TRUE(token.ok()) << token.status();
    Put("token", *token);
  }

  std::string File(const std::string& name) const { return StrCat(folder_, "/", name); }
  std::unique_ptr<Process> Run(const Command& command, const std::string& log) const {
    auto process = Process::Start({command, {}, File(log)});
    EXPECT_TRUE(process.ok()) << process.status();
    return process.ok() ? *std::move(process) : nullptr;
  }
  std::unique_ptr<Process> RunOperator() const {
    return Run({YARDMASTER_OPERATOR, StrCat("--kubeconfig=", File("operator.kubeconfig")),
                StrCat("--metrics-bind-address=127.0.0.1:", metrics_port_),
                "--health-bind-address=127.0.0.1:0",
                StrCat("--reports-bind-address=127.0.0.1:", reports_port_),
                StrCat("--reports-tls-cert-file=", File("operator.crt")),
                StrCat("--reports-tls-key-file=", File("operator.key")),
                StrCat("--reports-client-ca-file=", File("ca.crt")),
                "--reports-service-account=yardmaster-system:yardmaster-agent"},
               "operator.log");
  }
  std::unique_ptr<Process> RunAgent() const {
    return Run({YARDMASTER_AGENT, StrCat("--kubeconfig=", File("agent.kubeconfig")), "--node=h0",
                "--metrics-bind-address=127.0.0.1:0", "--health-bind-address=127.0.0.1:0",
                StrCat("--plan-dir=", File("plans")), StrCat("--sysfs-root=", File("sys")),
                "--no-measure-traffic", StrCat("--nic-ports-file=", File("ports.yaml")),
                "--link-up-ms=500", StrCat("--grpc-bind-address=127.0.0.1:", FreePort()),
                StrCat("--operator-address=127.0.0.1:", reports_port_),
                StrCat("--operator-tls-cert-file=", File("agent.crt")),
                StrCat("--operator-tls-key-file=", File("agent.key")),
                StrCat("--operator-ca-file=", File("ca.crt")),
                StrCat("--operator-token-file=", File("token"))},
               "agent.log");
  }
  // A metric of the operator as its text; kMissing when it is not there.
  std::string Metric(const std::string& name) const {
    const auto text = RunProgram(
        {"curl", "-s", "-m", "5", StrCat("http://127.0.0.1:", metrics_port_, "/metrics")});
    if (!text.ok()) return kMissing;
    const std::size_t at = text->find("\n" + name + " ");
    if (at == std::string::npos) return kMissing;
    const std::size_t value = at + name.size() + 2;
    return text->substr(value, text->find('\n', value) - value);
  }
  ::testing::AssertionResult Eventually(const std::function<bool()>& holds) const {
    const std::int64_t until_ms = clock_.SteadyMs() + 60'000;
    while (!holds()) {
      if (clock_.SteadyMs() > until_ms) return ::testing::AssertionFailure() << "it never came";
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return ::testing::AssertionSuccess();
  }
  std::string Log(const std::string& name) const {
    std::ifstream file(File(name));
    return std::string(std::istreambuf_iterator<char>(file), {});
  }

  RealClock clock_;
  std::unique_ptr<ControlPlane> plane_;
  std::string folder_;
  int metrics_port_ = 0;
  int reports_port_ = 0;
  tls::KeyPair authority_;
};

TEST_F(AgentStreamTest, ALostLinkIsAtTheOperatorWithinASecond) {
  MakeToken("h0", "yardmaster.dev/reports");
  const auto op = RunOperator();
  const auto agent = RunAgent();
  ASSERT_TRUE(Eventually([&] { return Metric("yardmaster_operator_agent_streams") == "1"; }))
      << Log("agent.log") << Log("operator.log");
  EXPECT_TRUE(Eventually([&] { return Metric("yardmaster_operator_agent_reports_total") == "1"; }));
  const auto down = [&] { return Metric("yardmaster_operator_cables{state=\"down\"}"); };
  EXPECT_TRUE(Eventually([&] { return down() == "0"; }));

  for (int i = 0; i < 3; ++i) {
    const std::string lost = StrCat(2 + 2 * i);
    const std::int64_t begin_ms = clock_.SteadyMs();
    Link("b", false);
    EXPECT_TRUE(
        Eventually([&] { return Metric("yardmaster_operator_agent_reports_total") == lost; }));
    const std::int64_t took_ms = clock_.SteadyMs() - begin_ms;
    std::printf("at the operator after %lld ms\n", static_cast<long long>(took_ms));
    EXPECT_LT(took_ms, 1'000);
    EXPECT_TRUE(Eventually([&] { return down() == "1"; }));
    Link("b", true);
    EXPECT_TRUE(Eventually([&] { return down() == "0"; }));
  }
  // The agent dies with the link lost: its stream is gone, what it wrote on the Node holds.
  Link("b", false);
  EXPECT_TRUE(Eventually([&] { return down() == "1"; }));
  EXPECT_TRUE(Eventually([&] {
    return plane_
               ->Kubectl({"get", "node", "h0", "-o",
                          R"(jsonpath={.metadata.annotations.yardmaster\.dev/down-ports})"})
               .value_or("") == "r0p1";
  }));
  agent->Signal(SIGKILL);
  agent->Wait();
  EXPECT_TRUE(Eventually([&] { return Metric("yardmaster_operator_agent_streams") == "0"; }));
  EXPECT_EQ(down(), "1");
  op->Signal(SIGTERM);
  EXPECT_EQ(op->Wait(), 0);
}

TEST_F(AgentStreamTest, ATokenOfAnotherNodeOrAudienceDoesNotCount) {
  MakeToken("h1", "yardmaster.dev/reports");
  const auto op = RunOperator();
  const auto agent = RunAgent();
  const auto refused = [&] {
    return std::atoi(Metric("yardmaster_operator_agent_streams_refused_total").c_str());
  };
  ASSERT_TRUE(Eventually([&] { return refused() >= 1; }))
      << Log("agent.log") << Log("operator.log");
  MakeToken("h0", "https://kubernetes.default.svc");
  const int before = refused();
  EXPECT_TRUE(Eventually([&] { return refused() >= before + 1; }));
  EXPECT_EQ(Metric("yardmaster_operator_agent_reports_total"), "0");
  // The next try has the right one.
  MakeToken("h0", "yardmaster.dev/reports");
  EXPECT_TRUE(Eventually([&] { return Metric("yardmaster_operator_agent_streams") == "1"; }));
}

}  // namespace
}  // namespace yardmaster::testing
