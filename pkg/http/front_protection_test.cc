// Who may come in, and that those who may are served while others try to be in the way.
#include <atomic>
#include <chrono>
#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/http/server.h"
#include "pkg/http/testing/raw_client.h"
#include "pkg/http/testing/tls_stream.h"
#include "pkg/tls/authority.h"

namespace yardmaster::http {
namespace {

using testing::HasSubstr;
using tls::kDayMs;
using tls::KeyPair;
using tls::MakeAuthority;

// Handshakes per second: no more than the burst comes through while a test lasts.
constexpr double kHardly = 0.001;

template <typename Condition>
bool Eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

class FrontProtectionTest : public testing::Test {
 protected:
  KeyPair Client(const std::string& name, int valid_days = 30) const {
    return *Issue(ca_, {.common_name = name,
                        .dns_names = {name + ".local"},
                        .client = true,
                        .now_ms = RealClock().WallMs(),
                        .valid_ms = valid_days * kDayMs});
  }
  TlsSettings Settings() const {
    const KeyPair server = *Issue(ca_, {.common_name = "front",
                                        .ip_addresses = {"127.0.0.1"},
                                        .server = true,
                                        .now_ms = RealClock().WallMs()});
    return {.certificate_pem = server.certificate_pem,
            .key_pem = server.key_pem,
            .client_ca_pem = ca_.certificate_pem};
  }
  void Start(ServerOptions options, bool with_tls = true) {
    options.trusts = with_tls ? [](const tls::CertificateNames&
                                       names) { return names.common_name == "kube-scheduler"; }
                              : std::function<bool(const tls::CertificateNames&)>();
    front_ = std::make_unique<Server>(
        std::move(options), [](Request, const Done& done) { done(TextResponse(200, "served")); });
    if (with_tls) {
      ASSERT_TRUE(front_->SetTls(Settings()).ok());
    }
    ASSERT_TRUE(front_->Start().ok());
  }
  std::unique_ptr<TlsStream> Connect(const KeyPair& client, int max_version = 0,
                                     ssl_session_st* resume = nullptr) const {
    TlsStreamOptions options;
    options.client = client;
    options.max_version = max_version;
    options.resume = resume;
    return std::make_unique<TlsStream>(front_->port(), options);
  }
  std::int64_t rejected(Rejection reason) const { return front_->stats().rejections(reason); }

  const KeyPair ca_ = *MakeAuthority({.common_name = "ca", .now_ms = RealClock().WallMs()});
  std::unique_ptr<Server> front_;
};

TEST_F(FrontProtectionTest, AVerifiedClientOfAnotherNameIsToldSoBeforeItsBodyIsRead) {
  Start({});
  RawClient good(Connect(Client("kube-scheduler")));
  EXPECT_EQ(good.Call("POST", "/", "x")->body, "served");
  RawClient other(Connect(Client("somebody")));
  ASSERT_TRUE(other.Send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 8000000\r\n\r\n"));
  const auto answer = other.ReadResponse();
  ASSERT_TRUE(answer.has_value());
  EXPECT_EQ(answer->status, 403);
  EXPECT_TRUE(other.AtCleanEnd());
  EXPECT_EQ(rejected(Rejection::kNotTrusted), 1);
  EXPECT_EQ(front_->stats().requests, 1);
}

TEST_F(FrontProtectionTest, SessionsAreResumedAndTheClientsNamesAreKnownThen) {
  Start({});
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    auto stream = Connect(Client("kube-scheduler"), version);
    const TlsStream& first = *stream;
    RawClient client(std::move(stream));
    ASSERT_EQ(client.Call("GET", "/")->body, "served");
    ssl_session_st* session = first.TakeSession();
    auto again = Connect(Client("kube-scheduler"), version, session);
    EXPECT_TRUE(again->resumed()) << version;
    RawClient resumed(std::move(again));
    EXPECT_EQ(resumed.Call("GET", "/")->body, "served");
    TlsStream::FreeSession(session);
  }
}

TEST_F(FrontProtectionTest, AResumedSessionDoesNotOutliveTheAuthorityOfItsCertificate) {
  Start({});
  auto stream = Connect(Client("kube-scheduler"));
  const TlsStream& first = *stream;
  RawClient client(std::move(stream));
  ASSERT_EQ(client.Call("GET", "/")->body, "served");
  ssl_session_st* session = first.TakeSession();
  TlsSettings settings = Settings();
  settings.client_ca_pem =
      MakeAuthority({.common_name = "ca", .now_ms = RealClock().WallMs()})->certificate_pem;
  ASSERT_TRUE(front_->SetTls(settings).ok());
  auto again = Connect(Client("kube-scheduler"), 0, session);
  EXPECT_FALSE(again->resumed());
  RawClient refused(std::move(again));
  EXPECT_FALSE(refused.Call("GET", "/").has_value());
  TlsStream::FreeSession(session);
}

// Connections that say nothing, or begin to and stop.
std::vector<std::unique_ptr<SocketStream>> Sleepers(int port, int count, int addresses,
                                                    std::string_view say) {
  std::vector<std::unique_ptr<SocketStream>> out;
  for (int i = 0; i < count; ++i) {
    const std::string address =
        StrCat("127.0.", 1 + i % addresses / 250, ".", 1 + i % addresses % 250);
    out.push_back(std::make_unique<SocketStream>(port, "127.0.0.1", 10'000, address));
    if (!say.empty()) out.back()->Send(say);
  }
  return out;
}

TEST_F(FrontProtectionTest, ManySlowClientsCostAGoodOneNothing) {
  ServerOptions options;
  options.limits.connections = 64;
  options.limits.reserved_connections = 8;
  options.limits.handshakes = {1e6, 1e6, 1e6, 1e6};
  Start(options);
  RawClient before(Connect(Client("kube-scheduler")));
  ASSERT_EQ(before.Call("GET", "/")->body, "served");
  const auto slow = Sleepers(front_->port(), 500, 100, "\x16\x03\x01");
  for (int i = 0; i < 20; ++i) EXPECT_EQ(before.Call("GET", "/")->body, "served");
  RawClient fresh(Connect(Client("kube-scheduler")));
  EXPECT_EQ(fresh.Call("GET", "/")->body, "served");
  EXPECT_TRUE(Eventually([this] { return front_->stats().open_connections <= 64; }));
  EXPECT_GT(rejected(Rejection::kEvicted), 400);
}

TEST_F(FrontProtectionTest, OneAddressCannotTakeEveryPlaceNorEveryHandshake) {
  ServerOptions options;
  options.limits.handshakes = {kHardly, 50, 1e6, 1e6};
  options.deadlines.handshake_ms = 500;  // what waits longer for its turn is given up
  Start(options);
  const auto flood = Sleepers(front_->port(), 200, 1, ClientHello());
  EXPECT_TRUE(Eventually([this] { return rejected(Rejection::kHandshakeRate) >= 149; }));
  RawClient good(Connect(Client("kube-scheduler")));  // from 127.0.0.1
  const auto answer = good.Call("GET", "/");
  ASSERT_TRUE(answer) << "the good client was turned away";
  EXPECT_EQ(answer->body, "served");
}

TEST_F(FrontProtectionTest, AFloodOfHandshakesFromManyAddressesLetsAKnownClientBackIn) {
  ServerOptions options;
  options.limits.handshakes = {1e6, 1e6, kHardly, 50};
  options.deadlines.handshake_ms = 2'000;
  Start(options);
  {
    RawClient known(Connect(Client("kube-scheduler")));
    ASSERT_EQ(known.Call("GET", "/")->body, "served");
  }
  const auto flood = Sleepers(front_->port(), 200, 200, ClientHello());
  EXPECT_TRUE(Eventually([this] { return rejected(Rejection::kHandshakeRate) >= 140; }));
  RawClient back(Connect(Client("kube-scheduler")));
  EXPECT_EQ(back.Call("GET", "/")->body, "served");
}

TEST_F(FrontProtectionTest, AKnownClientsHandshakeDoesNotStandInLineBehindAFlood) {
  ServerOptions options;
  options.limits.connections = 4096;
  options.limits.handshakes = {1e6, 1e6, 1e6, 1e6};
  Start(options);
  const KeyPair certificate = Client("kube-scheduler");
  {
    RawClient known(Connect(certificate));
    ASSERT_EQ(known.Call("GET", "/")->body, "served");
  }
  const auto connect_from = [&](const std::string& source) {
    TlsStreamOptions from;
    from.client = certificate;
    from.source = source;
    RawClient client(std::make_unique<TlsStream>(front_->port(), from));
    const auto answer = client.Call("GET", "/");
    // On a machine with no time at all the other one may wait in vain.
    EXPECT_TRUE(source != "127.0.0.1" || (answer && answer->body == "served"));
    return std::chrono::steady_clock::now();
  };
  // Each takes its share of a millisecond, one after the other.
  const auto flood = Sleepers(front_->port(), 1'000, 200, ClientHello());
  std::chrono::steady_clock::time_point stranger;
  std::thread waits([&] { stranger = connect_from("127.9.9.9"); });
  const auto known = connect_from("127.0.0.1");
  waits.join();
  EXPECT_LT(known, stranger);
}

// As a scan or a broken client does it: each opens another when it is closed on.
TEST_F(FrontProtectionTest, HalfOpenHandshakesFailNoNewConnectionOfAGoodClient) {
  for (const std::string& say : {std::string(), std::string("\x16\x03\x01"), ClientHello()}) {
    Start({});
    auto half_open = Sleepers(front_->port(), 1'000, 200, say);
    std::atomic<bool> done = false;
    std::thread again([&] {
      for (int i = 0; !done; ++i) {
        // Two hundred a second, as deadlines and evictions close them.
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        auto one = Sleepers(front_->port(), 1, 1, say);
        half_open[static_cast<std::size_t>(i) % half_open.size()] = std::move(one.front());
      }
    });
    const KeyPair certificate = Client("kube-scheduler");
    int failed = 0;
    for (int call = 0; call < 150; ++call) {
      RawClient good(Connect(certificate));
      const auto answer = good.Call("GET", "/");
      failed += !answer || answer->body != "served";
    }
    done = true;
    again.join();
    EXPECT_EQ(failed, 0) << "half-open after " << say.size() << " bytes";
    front_->Stop();
  }
}

// Health and metrics: no certificate tells clients apart.
TEST_F(FrontProtectionTest, APlainPortThatIsFullStillAnswersAProbe) {
  ServerOptions options;
  options.limits.connections = 64;
  for (const int addresses : {1, 200}) {
    for (const std::string_view say : {"", "GET / HTTP/1.1\r\nHos"}) {
      Start(options, /*with_tls=*/false);
      const auto sleepers = Sleepers(front_->port(), 300, addresses, say);
      for (int probe = 0; probe < 5; ++probe) {
        RawClient kubelet(front_->port());
        const auto answer = kubelet.Call("GET", "/healthz", "", "Connection: close\r\n");
        ASSERT_TRUE(answer.has_value()) << addresses << " addresses: " << say;
        EXPECT_EQ(answer->status, 200);
      }
    }
  }
}

}  // namespace
}  // namespace yardmaster::http
