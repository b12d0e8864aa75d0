#include "pkg/rpc/agent_server.h"

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <thread>

#include "gmock/gmock.h"

#include "pkg/base/strings.h"
#include "pkg/rpc/testing/agent_client.h"

namespace yardmaster::rpc {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kTimeoutMs = 10'000;

class AgentServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "ym-rpc-XXXXXX").string();
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string socket() const { return StrCat("unix:", folder_, "/agent.sock"); }
  static AgentStatus Example() {
    AgentStatus status;
    status.nodes = {"n1", "n2"};
    status.links = {{"n1", 0, 0, "eth2", true}, {"n2", 0, 0, "eth2", false}};
    return status;
  }
  static std::unique_ptr<AgentServer> StartOn(std::vector<std::string> addresses) {
    auto server = AgentServer::Start({.addresses = std::move(addresses), .tls = {}}, Example);
    EXPECT_TRUE(server.ok()) << server.status();
    return server.ok() ? std::move(*server) : nullptr;
  }

  std::string folder_;
};

TEST_F(AgentServerTest, AnswersOnAUnixSocketAndOnLoopback) {
  const auto server = StartOn({socket(), "127.0.0.1:0"});
  ASSERT_NE(server, nullptr);
  EXPECT_EQ(server->port(0), 0);
  ASSERT_GT(server->port(1), 0);
  for (const std::string& target : {socket(), StrCat("127.0.0.1:", server->port(1))}) {
    const auto client = AgentClient::Create(target);
    ASSERT_TRUE(client.ok());
    const auto status = (*client)->Status({}, kTimeoutMs);
    ASSERT_TRUE(status.ok()) << status.status();
    EXPECT_EQ(*status, Example());
    EXPECT_EQ((*client)->Status({.node = "n2", .pod_uid = ""}, kTimeoutMs)->links.size(), 1u);
  }
}

TEST_F(AgentServerTest, HealthFollowsSetServing) {
  const auto server = StartOn({socket()});
  ASSERT_NE(server, nullptr);
  const auto client = AgentClient::Create(socket());
  EXPECT_EQ(*(*client)->Serving(kTimeoutMs), false);
  server->SetServing(true);
  EXPECT_EQ(*(*client)->Serving(kTimeoutMs), true);
  server->SetServing(false);
  EXPECT_EQ(*(*client)->Serving(kTimeoutMs), false);
}

TEST_F(AgentServerTest, TheSocketIsForOwnerAndGroup) {
  const auto server = StartOn({socket()});
  struct stat info {};
  ASSERT_EQ(::stat((folder_ + "/agent.sock").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0660u);
}

TEST_F(AgentServerTest, ANewAgentTakesOverTheSocketOfAKilledOne) {
  StartOn({socket()}).reset();
  // What a killed process leaves: the file of a socket without a listener.
  const auto first = StartOn({socket()});
  const auto second = StartOn({socket()});
  ASSERT_NE(second, nullptr);
  EXPECT_TRUE((*AgentClient::Create(socket()))->Status({}, kTimeoutMs).ok());
}

TEST_F(AgentServerTest, AnOrdinaryFileOfThatNameIsLeftAlone) {
  std::ofstream(folder_ + "/agent.sock") << "mine";
  const auto server = AgentServer::Start({.addresses = {socket()}, .tls = {}}, Example);
  EXPECT_EQ(server.status().code(), absl::StatusCode::kUnavailable);
  std::string content;
  std::ifstream(folder_ + "/agent.sock") >> content;
  EXPECT_EQ(content, "mine");
}

TEST_F(AgentServerTest, ATakenPortIsAnErrorThatNamesIt) {
  const auto first = StartOn({"127.0.0.1:0"});
  const std::string address = StrCat("127.0.0.1:", first->port(0));
  const auto second = AgentServer::Start({.addresses = {address}, .tls = {}}, Example);
  EXPECT_EQ(second.status().code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(MessageOf(second.status()), HasSubstr(address));
}

TEST_F(AgentServerTest, OptionsThatCannotWorkAreRefused) {
  const auto why = [](AgentServerOptions options) {
    const auto server = AgentServer::Start(options, Example);
    EXPECT_EQ(server.status().code(), absl::StatusCode::kInvalidArgument);
    return MessageOf(server.status());
  };
  EXPECT_THAT(why({}), HasSubstr("--grpc-bind-address"));
  EXPECT_THAT(why({.addresses = {"0.0.0.0:0"}, .tls = {}}), HasSubstr("every client"));
  EXPECT_THAT(why({.addresses = {"[::]:0"}, .tls = {}}), HasSubstr("every client"));
  EXPECT_THAT(why({.addresses = {"nowhere"}, .tls = {}}), HasSubstr("no port"));
  EXPECT_THAT(why({.addresses = {"unix:/" + std::string(120, 'a')}, .tls = {}}),
              HasSubstr("too long"));
  EXPECT_THAT(why({.addresses = {"127.0.0.1:0"}, .tls = {"cert.pem", "", ""}}),
              HasSubstr("belong together"));
}

TEST_F(AgentServerTest, AfterStopNobodyAnswers) {
  const auto server = StartOn({socket()});
  const auto client = AgentClient::Create(socket());
  ASSERT_TRUE((*client)->Status({}, kTimeoutMs).ok());
  server->Stop(1000);
  const auto status = (*client)->Status({}, 2000);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(MessageOf(status.status()), HasSubstr("agent at unix:"));
}

TEST_F(AgentServerTest, SetServingIsHarmlessWhileTheServerStopsAndAfterwards) {
  for (int round = 0; round < 20; ++round) {
    const auto server = StartOn({"127.0.0.1:0"});
    std::atomic<bool> stopped{false};
    std::thread other([&] {
      for (bool serving = true; !stopped; serving = !serving) server->SetServing(serving);
    });
    server->Stop(1000);
    server->SetServing(true);
    stopped = true;
    other.join();
  }
}

TEST(AgentClient, AMissingCertificateFileIsNamed) {
  const auto client = AgentClient::Create("127.0.0.1:1", {"/no/cert", "/no/key", "/no/ca"});
  EXPECT_EQ(client.status().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(MessageOf(client.status()), HasSubstr("/no/"));
}

}  // namespace
}  // namespace yardmaster::rpc
