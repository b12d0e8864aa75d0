// The HTTP client over TLS, and what the kernel does for its connections.
#include <chrono>
#include <cstdio>
#include <fstream>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/status.h"
#include "pkg/kube/api_error.h"
#include "pkg/kube/http_transport.h"
#include "pkg/kube/testing/http_transport_fixture.h"
#include "pkg/kube/testing/test_certificates.h"

namespace yardmaster::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class HttpTransportTlsTest : public HttpTransportTest {
 protected:
  ClientConfig Config(const RawServer& server, const std::string& host = "127.0.0.1") const {
    ClientConfig config;
    config.server = StrCat("https://", host, ":", server.port());
    config.ca_data = certs_.ca_pem;
    return config;
  }
  RawServerTls Tls() const { return {certs_.server_cert_pem, certs_.server_key_pem, ""}; }

  const TestCertificates certs_ = MakeTestCertificates();
};

TEST_F(HttpTransportTlsTest, OnlyTheConfiguredAuthorityIsTrusted) {
  RawServer server(Tls(), Always(Answer(200, "{}")));
  EXPECT_TRUE(Connect(Config(server))->Unary(Get(), kLongMs, {}).ok());
  EXPECT_TRUE(Connect(Config(server, "localhost"))->Unary(Get(), kLongMs, {}).ok());
  ClientConfig wrong = Config(server);
  wrong.ca_data = MakeTestCertificates().ca_pem;
  const absl::Status status = Connect(wrong)->Unary(Get(), kLongMs, {}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(WasNeverSent(status)) << status;
  EXPECT_THAT(MessageOf(status), HasSubstr("SSL"));
  ClientConfig system = Config(server);
  system.ca_data.clear();
  EXPECT_FALSE(Connect(system)->Unary(Get(), kLongMs, {}).ok());
  ClientConfig insecure = Config(server);
  insecure.ca_data.clear();
  insecure.insecure_skip_tls_verify = true;
  EXPECT_TRUE(Connect(insecure)->Unary(Get(), kLongMs, {}).ok());
}

TEST_F(HttpTransportTlsTest, TheNameMustFitOrBeConfigured) {
  const TestCertificates certs = MakeTestCertificates("DNS:kubernetes.example");
  RawServer server({certs.server_cert_pem, certs.server_key_pem, ""}, Always(Answer(200, "{}")));
  ClientConfig config = Config(server);
  config.ca_data = certs.ca_pem;
  EXPECT_FALSE(Connect(config)->Unary(Get(), kLongMs, {}).ok());
  config.tls_server_name = "kubernetes.example";
  EXPECT_TRUE(Connect(config)->Unary(Get(), kLongMs, {}).ok());
}

TEST_F(HttpTransportTlsTest, AClientCertificateIsShownAndARotatedOneOnNewConnections) {
  RawServerTls tls = Tls();
  tls.client_ca_pem = certs_.ca_pem;
  RawServer server(tls, [](RawConnection& connection) {
    while (!connection.ReadRequest().empty()) {
      connection.Write(Answer(200, connection.PeerName()));
    }
  });
  EXPECT_FALSE(Connect(Config(server))->Unary(Get(), kLongMs, {}).ok());
  ClientConfig config = Config(server);
  config.client_cert_data = certs_.client_cert_pem;
  config.client_key_data = certs_.client_key_pem;
  EXPECT_EQ(Connect(config)->Unary(Get(), kLongMs, {})->body, "client");
  config.client_cert_data = certs_.server_cert_pem;
  config.client_key_data = certs_.server_key_pem;
  EXPECT_EQ(Connect(config)->Unary(Get(), kLongMs, {})->body, "server");
}

TEST_F(HttpTransportTlsTest, BadCertificatesAreErrorsBeforeAnyConnection) {
  RawServer server(Tls(), Always(Answer(200, "{}")));
  ClientConfig config = Config(server);
  config.ca_data = "garbage";
  const absl::Status status = Connect(config)->Unary(Get(), kLongMs, {}).status();
  EXPECT_THAT(MessageOf(status), HasSubstr("certificate-authority"));
  EXPECT_EQ(server.connections(), 0);
}

TEST_F(HttpTransportTlsTest, StreamsWorkOverTlsToo) {
  RawServer server(Tls(), Always(StrCat(kChunked, Chunk("a\nb\n"), "0\r\n\r\n")));
  ASSERT_TRUE(Connect(Config(server))->Stream(Get(), kLong, {}, Collect()).ok());
  EXPECT_THAT(lines_, ElementsAre("a", "b"));
}

// Whether the kernel probes a connection that some local process has to `port`: the timer column of
// /proc/net/tcp is 02 once everything sent is acknowledged.
bool PeerIsProbed(int port) {
  char peer[32];
  std::snprintf(peer, sizeof peer, "0100007F:%04X 01", port);
  for (int tries = 0; tries < 200; ++tries) {
    std::ifstream table("/proc/net/tcp");
    for (std::string line; std::getline(table, line);) {
      const std::size_t at = line.find(peer);
      if (at != std::string::npos && line.find(" 02:", at) != std::string::npos) return true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return false;
}

TEST_F(HttpTransportTest, AQuietStreamsPeerIsProbed) {
  RawServer server(SaysThenHangs(StrCat(kChunked, Chunk("a\n"))));
  bool probed = false;
  const auto on_line = [&](std::string_view) {
    probed = PeerIsProbed(server.port());
    return false;
  };
  ASSERT_TRUE(Connect(server)->Stream(Get(), kLong, {}, on_line).ok());
  EXPECT_TRUE(probed);
}

TEST_F(HttpTransportTlsTest, AQuietStreamsPeerIsProbed) {
  RawServer server(Tls(), SaysThenHangs(StrCat(kChunked, Chunk("a\n"))));
  bool probed = false;
  const auto on_line = [&](std::string_view) {
    probed = PeerIsProbed(server.port());
    return false;
  };
  ASSERT_TRUE(Connect(Config(server))->Stream(Get(), kLong, {}, on_line).ok());
  EXPECT_TRUE(probed);
}

}  // namespace
}  // namespace yardmaster::kube
