// The whole processes, in a process of their own, at an API server that takes connections and never
// answers.
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <unistd.h>

#include "gtest/gtest.h"

#include "pkg/app/agent_app.h"
#include "pkg/app/extender_app.h"
#include "pkg/app/operator_app.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/kube/testing/raw_server.h"
#include "pkg/tls/authority.h"

namespace yardmaster::app {
namespace {

constexpr std::chrono::seconds kLimit{6};

class ShutdownTest : public testing::Test {
 protected:
  ShutdownTest() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }

  // Exits with 0 if `run` is OK and returns within kLimit after SIGTERM, which comes after `after`.
  void RunUntilSigterm(std::chrono::milliseconds after,
                       const std::function<absl::Status(const CommonOptions&)>& run) {
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &stop, nullptr);
    kube::RawServer silent([](kube::RawConnection& connection) {
      while (!connection.ReadRequest().empty()) {
      }
    });
    CommonOptions options;
    options.metrics_address = options.health_address = "127.0.0.1:0";
    options.kubeconfig =
        Write("kubeconfig",
              StrCat("clusters: [{name: c, cluster: {server: \"http://127.0.0.1:", silent.port(),
                     "\"}}]\nusers: [{name: u, user: {token: t}}]\n"
                     "contexts: [{name: c, context: {cluster: c, user: u}}]\n"
                     "current-context: c\n"));
    std::chrono::steady_clock::time_point signalled;
    std::thread killer([&] {
      std::this_thread::sleep_for(after);
      signalled = std::chrono::steady_clock::now();
      kill(getpid(), SIGTERM);
    });
    const absl::Status status = run(options);
    killer.join();
    const auto took = std::chrono::steady_clock::now() - signalled;
    if (!status.ok()) std::_Exit(1);
    std::_Exit(took < kLimit ? 0 : 2);
  }

  // Returns the path of a file with this text.
  static std::string Write(const char* name, const std::string& text) {
    const std::string path = StrCat(testing::TempDir(), getpid(), "-", name);
    std::ofstream(path) << text;
    return path;
  }
};

TEST_F(ShutdownTest, AnAgentWithoutAnApiServerEndsSoonAfterSigterm) {
  EXPECT_EXIT(RunUntilSigterm(std::chrono::milliseconds(1'500),
                              [](const CommonOptions& common) {
                                AgentAppOptions options;
                                options.common = common;
                                options.agent.nodes = {"n1"};
                                options.agent.plan_dir =
                                    StrCat(testing::TempDir(), getpid(), "-plans");
                                options.agent.grpc_addresses.clear();
                                options.agent.nic_load_balancing = "none";
                                return RunAgent(options);
                              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(ShutdownTest, AnOperatorThatStartsWithoutAnApiServerEndsSoonAfterSigterm) {
  EXPECT_EXIT(RunUntilSigterm(std::chrono::milliseconds(500),
                              [](const CommonOptions& common) {
                                OperatorOptions options;
                                options.common = common;
                                options.page_address.clear();
                                return RunOperator(options);
                              }),
              testing::ExitedWithCode(0), "");
}

TEST_F(ShutdownTest, AnExtenderThatStartsWithoutAnApiServerEndsSoonAfterSigterm) {
  EXPECT_EXIT(
      RunUntilSigterm(std::chrono::milliseconds(500),
                      [](const CommonOptions& common) {
                        const std::int64_t now_ms = RealClock().WallMs();
                        const tls::KeyPair ca =
                            *tls::MakeAuthority({.common_name = "ca", .now_ms = now_ms});
                        const tls::KeyPair pair = *tls::Issue(ca, {.common_name = "extender",
                                                                   .ip_addresses = {"127.0.0.1"},
                                                                   .server = true,
                                                                   .now_ms = now_ms});
                        ExtenderOptions options;
                        options.common = common;
                        options.webhook.bind_address = "127.0.0.1:0";
                        options.webhook.tls_cert_file = Write("tls.crt", pair.certificate_pem);
                        options.webhook.tls_key_file = Write("tls.key", pair.key_pem);
                        return RunExtender(options);
                      }),
      testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace yardmaster::app
