// The status server over mutual TLS. It stands here and not in pkg/rpc because certificates come
// from pkg/tls, a later layer.
#include "gmock/gmock.h"

#include "pkg/agent/testing/fake_sink.h"
#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/rpc/agent_server.h"
#include "pkg/rpc/testing/agent_client.h"
#include "pkg/tls/authority.h"

namespace yardmaster::agent {
namespace {

class MutualTlsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::int64_t now = RealClock().WallMs();
    for (const char* who : {"ours", "foreign"}) {
      const auto authority = tls::MakeAuthority({.common_name = who, .now_ms = now});
      ASSERT_TRUE(authority.ok());
      const auto leaf = tls::Issue(*authority, {.common_name = "agent",
                                                .ip_addresses = {"127.0.0.1"},
                                                .server = true,
                                                .client = true,
                                                .now_ms = now});
      ASSERT_TRUE(leaf.ok());
      folder_.Put(StrCat(who, ".ca"), authority->certificate_pem);
      folder_.Put(StrCat(who, ".crt"), leaf->certificate_pem);
      folder_.Put(StrCat(who, ".key"), leaf->key_pem);
    }
    auto server =
        rpc::AgentServer::Start({.addresses = {"127.0.0.1:0"}, .tls = Files("ours", "ours")}, [] {
          rpc::AgentStatus status;
          status.nodes = {"n1"};
          return status;
        });
    ASSERT_TRUE(server.ok()) << server.status();
    server_ = *std::move(server);
  }

  rpc::TlsFiles Files(const std::string& own, const std::string& trusted) const {
    return {StrCat(folder_.path(), "/", own, ".crt"), StrCat(folder_.path(), "/", own, ".key"),
            StrCat(folder_.path(), "/", trusted, ".ca")};
  }
  absl::StatusOr<rpc::AgentStatus> Ask(const rpc::TlsFiles& files) const {
    auto client = rpc::AgentClient::Create(StrCat("127.0.0.1:", server_->port(0)), files);
    if (!client.ok()) return client.status();
    return (*client)->Status({}, 5'000);
  }

  TempFolder folder_;
  std::unique_ptr<rpc::AgentServer> server_;
};

TEST_F(MutualTlsTest, BothSidesOfOneAuthorityUnderstandEachOther) {
  const auto status = Ask(Files("ours", "ours"));
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_THAT(status->nodes, ::testing::ElementsAre("n1"));
}

TEST_F(MutualTlsTest, AClientOfAForeignAuthorityIsRefused) {
  EXPECT_FALSE(Ask(Files("foreign", "ours")).ok());
}

TEST_F(MutualTlsTest, AServerOfAForeignAuthorityIsNotBelieved) {
  EXPECT_FALSE(Ask(Files("ours", "foreign")).ok());
}

TEST_F(MutualTlsTest, PlainTextIsRefused) { EXPECT_FALSE(Ask({}).ok()); }

}  // namespace
}  // namespace yardmaster::agent
