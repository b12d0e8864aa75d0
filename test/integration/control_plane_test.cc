#include "test/integration/control_plane.h"

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <signal.h>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

// Asks until the answer is yes, for at most 20 seconds.
bool Eventually(const std::function<bool()>& holds) {
  auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!holds()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return true;
}

std::vector<std::string> Running(const std::map<std::string, pid_t>& processes) {
  std::vector<std::string> names;
  for (const auto& [name, pid] : processes) {
    if (IsRunning(pid)) names.push_back(name);
  }
  return names;
}

std::string Answer(const ControlPlane& plane, const std::vector<std::string>& arguments) {
  auto answer = plane.Kubectl(arguments);
  return answer.ok() ? *answer : MessageOf(answer.status());
}

TEST(ControlPlaneTest, AnswersToItsKubeconfigAndToNobodyElse) {
  auto plane = ControlPlane::Start({});
  ASSERT_TRUE(plane.ok()) << plane.status();
  EXPECT_EQ(Answer(**plane, {"get", "--raw", "/readyz"}), "ok");
  EXPECT_EQ(Answer(**plane, {"auth", "can-i", "*", "*"}), "yes\n");

  Command stranger = {(*plane)->bin() + "/kubectl",
                      "--server",
                      (*plane)->api_server(),
                      "--certificate-authority",
                      (*plane)->ca_file(),
                      "--token",
                      "none",
                      "get",
                      "nodes"};
  auto refused = RunProgram(stranger, "", {{"KUBECONFIG", "/dev/null"}});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(MessageOf(refused.status()), HasSubstr("logged in"));
}

TEST(ControlPlaneTest, StopLeavesNothingButLogs) {
  auto plane = ControlPlane::Start({.scheduler = true, .kwok = true});
  ASSERT_TRUE(plane.ok()) << plane.status();
  EXPECT_EQ((*plane)->component_pids().size(), 5u);
  EXPECT_EQ(Running((*plane)->component_pids()).size(), 5u);
  EXPECT_EQ((*plane)->Stop(), 0);
  EXPECT_THAT(Running((*plane)->component_pids()), IsEmpty());
  std::filesystem::path folder = (*plane)->folder();
  EXPECT_FALSE(std::filesystem::exists(folder / "etcd"));
  EXPECT_FALSE(std::filesystem::exists(folder / "kubeconfig"));
  EXPECT_TRUE(std::filesystem::exists(folder / "logs" / "etcd.log"));
}

TEST(ControlPlaneTest, TwoStartedAtOnceDoNotClash) {
  auto other = std::async(std::launch::async, [] { return ControlPlane::Start({}); });
  auto one = ControlPlane::Start({});
  auto two = other.get();
  ASSERT_TRUE(one.ok()) << one.status();
  ASSERT_TRUE(two.ok()) << two.status();
  EXPECT_NE((*one)->api_server(), (*two)->api_server());
  Answer(**one, {"create", "namespace", "only-in-one"});
  EXPECT_EQ(Answer(**one, {"get", "namespace", "only-in-one", "-o", "name"}),
            "namespace/only-in-one\n");
  EXPECT_THAT(Answer(**two, {"get", "namespace", "only-in-one", "-o", "name"}),
              HasSubstr("not found"));
  EXPECT_EQ((*one)->Stop(), 0);
  EXPECT_EQ(Answer(**two, {"get", "--raw", "/readyz"}), "ok");
}

TEST(ControlPlaneTest, AKilledStarterTakesItsComponentsAlong) {
  auto plane = ControlPlane::Start({.scheduler = true, .kwok = true});
  ASSERT_TRUE(plane.ok()) << plane.status();
  kill((*plane)->starter_pid(), SIGKILL);
  EXPECT_TRUE(Eventually([&] { return Running((*plane)->component_pids()).empty(); }))
      << Join(Running((*plane)->component_pids()), ", ");
}

TEST(ControlPlaneTest, AComponentThatDiesEndsTheRest) {
  auto plane = ControlPlane::Start({});
  ASSERT_TRUE(plane.ok()) << plane.status();
  kill((*plane)->component_pids().at("kube-controller-manager"), SIGKILL);
  EXPECT_TRUE(Eventually([&] { return Running((*plane)->component_pids()).empty(); }))
      << Join(Running((*plane)->component_pids()), ", ");
  EXPECT_EQ((*plane)->Stop(), 1);
}

TEST(ControlPlaneTest, AComponentThatCannotStartIsReportedWithItsLog) {
  auto plane = ControlPlane::Start({.apiserver_args = {"no-such-flag=1"}});
  ASSERT_FALSE(plane.ok());
  EXPECT_THAT(MessageOf(plane.status()), HasSubstr("kube-apiserver"));
  EXPECT_THAT(MessageOf(plane.status()), HasSubstr("unknown flag: --no-such-flag"));
}

TEST(ControlPlaneTest, ForgottenHistoryCannotBeWatched) {
  auto plane = ControlPlane::Start({.apiserver_args = {"watch-cache=false"}});
  ASSERT_TRUE(plane.ok()) << plane.status();
  std::vector<std::string> watch = {
      "get", "--raw", "/api/v1/namespaces?watch=1&resourceVersion=1&timeoutSeconds=1"};
  EXPECT_THAT(Answer(**plane, watch), HasSubstr("\"ADDED\""));
  ASSERT_TRUE((*plane)->ForgetHistory().ok());
  EXPECT_THAT(Answer(**plane, watch), HasSubstr("\"code\":410"));
}

constexpr char kHost[] = R"(
apiVersion: v1
kind: Node
metadata: {name: host, labels: {place: here}}
spec:
  taints: [{key: keep, value: free, effect: NoSchedule}]
status:
  capacity: {cpu: "128", memory: 1Ti, pods: "64", nvidia.com/gpu: "8"}
  allocatable: {cpu: "127", memory: 1Ti, pods: "64", nvidia.com/gpu: "8"}
)";

constexpr char kTrainer[] = R"(
apiVersion: batch/v1
kind: Job
metadata: {name: trainer}
spec:
  template:
    spec:
      restartPolicy: Never
      tolerations: [{key: keep, operator: Exists}]
      containers: [{name: main, image: none, resources: {limits: {nvidia.com/gpu: "8"}}}]
)";

// One control plane for all of them.
class SimulatedHostTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto plane = ControlPlane::Start({.scheduler = true, .kwok = true});
    ASSERT_TRUE(plane.ok()) << plane.status();
    plane_ = *std::move(plane);
  }
  static void TearDownTestSuite() { plane_.reset(); }

  void SetUp() override {
    ASSERT_NE(plane_, nullptr);
    ASSERT_TRUE(plane_->Apply(kHost).ok());
    ASSERT_TRUE(HostBecomes("True"));
  }

  std::string Host(const std::string& path) {
    return Answer(*plane_, {"get", "node", "host", "-o", "jsonpath={" + path + "}"});
  }
  bool HostBecomes(const std::string& ready) {
    return Eventually(
        [&] { return Host(".status.conditions[?(@.type==\"Ready\")].status") == ready; });
  }
  std::string PodPhases() {
    return Answer(*plane_, {"get", "pods", "-o", "jsonpath={.items[*].status.phase}"});
  }

  static inline std::unique_ptr<ControlPlane> plane_;
};

TEST_F(SimulatedHostTest, KeepsWhatItsManifestSaid) {
  EXPECT_EQ(Host(".metadata.labels.place"), "here");
  EXPECT_EQ(Host(".status.allocatable.nvidia\\.com/gpu"), "8");
  EXPECT_EQ(Host(".status.allocatable.cpu"), "127");
  EXPECT_EQ(Host(".status.capacity.cpu"), "128");
  EXPECT_TRUE(Eventually([&] { return Host(".spec.taints[*].key") == "keep"; }))
      << Host(".spec.taints");
}

TEST_F(SimulatedHostTest, GoesNotReadyByLabelAndComesBack) {
  const std::string label = "node-not-ready.stage.kwok.x-k8s.io";
  Answer(*plane_, {"label", "node", "host", label + "=true"});
  EXPECT_TRUE(HostBecomes("False"));
  EXPECT_TRUE(Eventually([&] {
    return Host(".spec.taints[*].key").find("node.kubernetes.io/not-ready") != std::string::npos;
  }));
  Answer(*plane_, {"label", "node", "host", label + "-"});
  EXPECT_TRUE(HostBecomes("True"));
  EXPECT_EQ(Host(".status.allocatable.nvidia\\.com/gpu"), "8");
}

TEST_F(SimulatedHostTest, RunsAJobsPodUntilItIsTold) {
  ASSERT_TRUE(plane_->Apply(kTrainer).ok());
  ASSERT_TRUE(Eventually([&] { return PodPhases() == "Running"; })) << PodPhases();
  EXPECT_EQ(Answer(*plane_, {"get", "pods", "-o", "jsonpath={.items[*].spec.nodeName}"}), "host");
  Answer(*plane_, {"annotate", "pods", "--all", "pod-complete.stage.kwok.x-k8s.io/delay=10ms"});
  EXPECT_TRUE(Eventually([&] { return PodPhases() == "Succeeded"; })) << PodPhases();
  EXPECT_TRUE(Eventually([&] {
    return Answer(*plane_, {"get", "job", "trainer", "-o", "jsonpath={.status.succeeded}"}) == "1";
  }));
  Answer(*plane_, {"delete", "job", "trainer"});
  EXPECT_TRUE(Eventually([&] { return PodPhases().empty(); })) << PodPhases();
}

}  // namespace
}  // namespace yardmaster::testing
