// The gate where the API server has no MutatingAdmissionPolicy: the chart's webhook, answered by an
// extender that is started with the arguments and the ServiceAccount that the chart gives it. An
// operator started in the same way makes its certificate and gives its authority to the webhook.
#include <chrono>
#include <fstream>
#include <functional>
#include <iterator>
#include <regex>
#include <thread>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "pkg/base/base64.h"
#include "pkg/base/strings.h"
#include "test/integration/chart_operator.h"
#include "test/integration/control_plane.h"

namespace yardmaster::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kNamespace[] = "yardmaster-system";
constexpr char kExtender[] = "yardmaster-extender";
constexpr char kGate[] = "yardmaster.dev/placement";
constexpr char kTlsFolder[] = "/etc/yardmaster/tls/";

MATCHER_P(IsOkAndHolds, inner, "") {
  if (arg.ok()) return ::testing::ExplainMatchResult(inner, *arg, result_listener);
  *result_listener << arg.status().ToString();
  return false;
}

bool Eventually(const std::function<bool()>& holds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  return true;
}

class GateWebhookTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto plane = ControlPlane::Start({});
    ASSERT_TRUE(plane.ok()) << plane.status();
    plane_ = *std::move(plane);
    ASSERT_TRUE(plane_->Kubectl({"create", "namespace", kNamespace}).ok());
  }

  // With nothing said, the chart takes the webhook where the cluster has no policies.
  absl::Status Install(const std::string& values) const {
    const bool by_itself = plane_->kubernetes_minor() < 36;
    return RunProgram({plane_->bin() + "/helm", "install", "yardmaster",
                       YARDMASTER_SOURCE_DIR "/helm/yardmaster", "--namespace", kNamespace, "--set",
                       StrCat("fabric.preset=hpn-small",
                              by_itself ? "" : ",gatePolicy.mode=Webhook", values)},
                      "", {{"KUBECONFIG", plane_->kubeconfig()}, {"HOME", plane_->folder()}})
        .status();
  }

  json Get(std::vector<std::string> what) const {
    what.insert(what.begin(), "get");
    what.insert(what.end(), {"-o", "json"});
    const auto text = plane_->Kubectl(what);
    EXPECT_TRUE(text.ok()) << text.status();
    return text.ok() ? json::parse(*text) : json();
  }
  std::string File(const std::string& name) const { return StrCat(plane_->folder(), "/", name); }
  void Put(const std::string& name, const std::string& text) const {
    std::ofstream(File(name)) << text;
  }

  // The Deployment's arguments, with this machine's folders and free ports.
  Command ExtenderCommand() const {
    const json deployment = Get({"deployment", kExtender, "-n", kNamespace});
    const json& container = deployment["spec"]["template"]["spec"]["containers"][0];
    Command command = {YARDMASTER_EXTENDER, "--kubeconfig", File("extender.kubeconfig")};
    for (const std::string argument : container["args"]) {
      std::string ours = std::regex_replace(argument, std::regex(kTlsFolder), File(""));
      ours = std::regex_replace(ours, std::regex("address=.*"), "address=127.0.0.1:0");
      command.push_back(ours);
    }
    return command;
  }

  std::string BundleOfTheWebhook() const {
    const auto bundle = plane_->Kubectl({"get", "mutatingwebhookconfiguration", "yardmaster-gate",
                                         "-o", "jsonpath={.webhooks[0].clientConfig.caBundle}"});
    return bundle.value_or("");
  }
  // Starts an operator and, with its certificate, an extender. Returns the port of its webhook.
  int StartExtender() {
    operator_ = StartChartOperator(*plane_, YARDMASTER_OPERATOR, kNamespace);
    EXPECT_TRUE(Eventually([&] { return !BundleOfTheWebhook().empty(); }))
        << "see " << File("operator.log");
    const json secret = Get({"secret", "yardmaster-extender-tls", "-n", kNamespace});
    for (const auto& [name, value] : secret["data"].items()) {
      Put(name, *Base64Decode(value.get<std::string>()));
    }
    EXPECT_EQ(secret["data"]["ca.crt"], BundleOfTheWebhook());
    Put("token", *plane_->Kubectl({"create", "token", kExtender, "-n", kNamespace}));
    Put("extender.kubeconfig", plane_->KubeconfigWithToken(File("token")));
    auto started = Process::Start({ExtenderCommand(), {}, File("extender.log")});
    EXPECT_TRUE(started.ok()) << started.status();
    extender_ = *std::move(started);
    std::smatch found;
    std::string log;
    EXPECT_TRUE(Eventually([&] {
      std::ifstream file(File("extender.log"));
      log.assign(std::istreambuf_iterator<char>(file), {});
      return std::regex_search(log, found, std::regex("\"gatePort\":([0-9]+)"));
    })) << log;
    return found.empty() ? 0 : std::stoi(found[1]);
  }

  // There is no network of pods here: the Service's name leads to this machine.
  void PointServiceAt(int port) const {
    ASSERT_TRUE(plane_->Kubectl({"delete", "service", kExtender, "-n", kNamespace}).ok());
    ASSERT_TRUE(plane_
                    ->Kubectl({"create", "service", "externalname", kExtender, "-n", kNamespace,
                               "--external-name", "127.0.0.1"})
                    .ok());
    ASSERT_TRUE(
        plane_
            ->Kubectl(
                {"patch", "mutatingwebhookconfiguration", "yardmaster-gate", "--type=json",
                 "--patch",
                 StrCat(
                     R"([{"op": "replace", "path": "/webhooks/0/clientConfig/service/port", "value": )",
                     port, "}]")})
            .ok());
  }

  // Gates of the pod as the API server answers its creation: the extender may open them afterwards.
  absl::StatusOr<std::vector<std::string>> Create(const std::string& name, const json& annotations,
                                                  const json& gates,
                                                  const std::string& ns = "default") const {
    const json pod = {
        {"apiVersion", "v1"},
        {"kind", "Pod"},
        {"metadata", {{"name", name}, {"namespace", ns}, {"annotations", annotations}}},
        {"spec",
         {{"automountServiceAccountToken", false},
          {"schedulingGates", gates},
          {"containers", {{{"name", "c"}, {"image", "registry.example/c"}}}}}}};
    YM_ASSIGN_OR_RETURN(const std::string created,
                        plane_->Kubectl({"create", "-f", "-", "-o", "json"}, pod.dump()));
    std::vector<std::string> names;
    for (const auto& gate : json::parse(created)["spec"].value("schedulingGates", json::array())) {
      names.push_back(gate["name"]);
    }
    return names;
  }

  const json asks_ = {{"yardmaster.dev/parallelism", "tp=8"}};
  std::unique_ptr<ControlPlane> plane_;
  std::unique_ptr<Process> operator_;
  std::unique_ptr<Process> extender_;
};

TEST_F(GateWebhookTest, PodsThatAskForAGangAreGatedAsByThePolicy) {
  const absl::Status installed = Install("");
  ASSERT_TRUE(installed.ok()) << installed;
  const json none = json::array();
  // No webhook answers yet: the pod is created without the gate, as failurePolicy Ignore says.
  EXPECT_THAT(Create("early", asks_, none), IsOkAndHolds(IsEmpty()));

  PointServiceAt(StartExtender());
  int tries = 0;
  absl::StatusOr<std::vector<std::string>> gates;
  EXPECT_TRUE(Eventually([&] {
    gates = Create(StrCat("probe-", tries++), asks_, none);
    return gates.ok() && !gates->empty();
  })) << gates.status();
  const json other = {{{"name", "other/gate"}}};
  const json own = {{{"name", kGate}}};
  EXPECT_THAT(Create("asks", asks_, none), IsOkAndHolds(ElementsAre(kGate)));
  EXPECT_THAT(Create("joins", asks_, other), IsOkAndHolds(ElementsAre("other/gate", kGate)));
  EXPECT_THAT(Create("has-it", asks_, own), IsOkAndHolds(ElementsAre(kGate)));
  EXPECT_THAT(Create("plain", json::object(), none), IsOkAndHolds(IsEmpty()));
  EXPECT_THAT(Create("ours", asks_, none, kNamespace), IsOkAndHolds(IsEmpty()));
}

TEST_F(GateWebhookTest, WithFailurePolicyFailThePodIsRefusedWhileNobodyAnswers) {
  ASSERT_TRUE(Install(",gatePolicy.failurePolicy=Fail").ok());
  const json none = json::array();
  // Webhooks are in force some time after they are made.
  int tries = 0;
  absl::Status refused;
  EXPECT_TRUE(Eventually([&] {
    refused = Create(StrCat("early-", tries++), asks_, none).status();
    return !refused.ok();
  }));
  EXPECT_THAT(MessageOf(refused), HasSubstr("gate.yardmaster.dev"));
  EXPECT_THAT(Create("plain", json::object(), none), IsOkAndHolds(IsEmpty()))
      << "it asks for no gang";
  PointServiceAt(StartExtender());
  absl::StatusOr<std::vector<std::string>> gates;
  EXPECT_TRUE(Eventually([&] {
    gates = Create(StrCat("later-", tries++), asks_, none);
    return gates.ok();
  })) << gates.status();
  EXPECT_THAT(gates, IsOkAndHolds(ElementsAre(kGate)));
}

}  // namespace
}  // namespace yardmaster::testing
