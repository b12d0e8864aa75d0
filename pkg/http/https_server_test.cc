// The HTTPS front with real certificates and real sockets.
#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <openssl/ssl.h>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/clock.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/http/server.h"
#include "pkg/http/testing/tls_stream.h"
#include "pkg/tls/authority.h"

namespace yardmaster::http {
namespace {

using testing::HasSubstr;
using tls::CertificateRequest;
using tls::Issue;
using tls::kDayMs;
using tls::KeyPair;
using tls::MakeAuthority;

template <typename Condition>
bool Eventually(Condition condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

void Echo(Request request, const Done& done) {
  done(TextResponse(200, request.body.empty() ? request.target : request.body));
}

// "user|group,group|dns,dns" or "nobody".
void WhoAmI(const Request& request, const Done& done) {
  const auto& who = request.peer_identity;
  if (who == nullptr) return done(TextResponse(200, "nobody"));
  done(TextResponse(200, StrCat(who->common_name, "|", Join(who->organizations, ","), "|",
                                Join(who->dns_names, ","))));
}

class HttpsServerTest : public testing::Test {
 protected:
  static KeyPair Authority(const std::string& name) {
    return *MakeAuthority({.common_name = name, .now_ms = RealClock().WallMs()});
  }
  static KeyPair ServerPair(const KeyPair& authority, const std::string& name) {
    return *Issue(authority, {.common_name = name,
                              .dns_names = {"localhost"},
                              .ip_addresses = {"127.0.0.1"},
                              .server = true,
                              .now_ms = RealClock().WallMs()});
  }
  static KeyPair Client(const KeyPair& authority, const std::string& name,
                        std::int64_t issued_days_ago = 0) {
    return *Issue(authority, {.common_name = name,
                              .organizations = {"system:schedulers"},
                              .dns_names = {"scheduler.local"},
                              .client = true,
                              .now_ms = RealClock().WallMs() - issued_days_ago * kDayMs,
                              .valid_ms = 30 * kDayMs});
  }
  TlsSettings Settings() const { return {server_.certificate_pem, server_.key_pem}; }
  TlsSettings SettingsForClients() const {
    return {server_.certificate_pem, server_.key_pem, client_ca_.certificate_pem};
  }
  void Start(const TlsSettings& settings, Handler handler = Echo, ServerOptions options = {}) {
    options.bind_address = "127.0.0.1";
    front_ = std::make_unique<Server>(std::move(options), std::move(handler));
    ASSERT_TRUE(front_->SetTls(settings).ok());
    ASSERT_TRUE(front_->Start().ok());
  }
  std::unique_ptr<TlsStream> Connect(KeyPair client = {}, int max_version = 0) const {
    return std::make_unique<TlsStream>(front_->port(),
                                       TlsStreamOptions{.server_ca_pem = server_ca_.certificate_pem,
                                                        .client = std::move(client),
                                                        .max_version = max_version,
                                                        .alpn = ""});
  }
  // What WhoAmI answers over a new connection, "refused" when there is no answer.
  std::string Ask(const KeyPair& client, int max_version = 0) const {
    RawClient raw(Connect(client, max_version));
    const auto response = raw.Call("GET", "/");
    return response ? response->body : "refused";
  }
  bool AllClosed() const {
    return Eventually([this] { return front_->stats().open_connections == 0; });
  }

  const KeyPair server_ca_ = Authority("server-ca");
  const KeyPair client_ca_ = Authority("client-ca");
  const KeyPair server_ = ServerPair(server_ca_, "front-1");
  std::unique_ptr<Server> front_;
};

TEST_F(HttpsServerTest, SpeaksTls12And13AndNothingOlder) {
  Start(Settings());
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    auto stream = Connect({}, version);
    ASSERT_TRUE(stream->connected());
    EXPECT_EQ(stream->version(), version);
    RawClient client(std::move(stream));
    EXPECT_EQ(client.Call("GET", "/a")->body, "/a");
    EXPECT_EQ(client.Call("GET", "/b", "", "Connection: close\r\n")->body, "/b");
    EXPECT_TRUE(client.AtCleanEnd()) << "close_notify is missing";
  }
  EXPECT_FALSE(Connect({}, TLS1_1_VERSION)->connected());
  EXPECT_TRUE(
      Eventually([this] { return front_->stats().rejections(Rejection::kHandshakeFailed) == 1; }));
}

TEST_F(HttpsServerTest, ClientCertificatesLetOnlyTheRightOnesIn) {
  Start(SettingsForClients(), WhoAmI);
  const KeyPair other_ca = Authority("client-ca");
  for (const int version : {TLS1_2_VERSION, TLS1_3_VERSION}) {
    EXPECT_EQ(Ask(Client(client_ca_, "kube-scheduler"), version),
              "kube-scheduler|system:schedulers|scheduler.local");
    EXPECT_EQ(Ask({}, version), "refused");
    EXPECT_EQ(Ask(Client(other_ca, "intruder"), version), "refused");
    EXPECT_EQ(Ask(Client(client_ca_, "expired", 40), version), "refused");
    EXPECT_EQ(Ask(Client(client_ca_, "too-early", -5), version), "refused");
    EXPECT_EQ(Ask(ServerPair(client_ca_, "no-client-usage"), version), "refused");
  }
  EXPECT_TRUE(
      Eventually([this] { return front_->stats().rejections(Rejection::kHandshakeFailed) == 10; }));
}

TEST_F(HttpsServerTest, NewCertificatesServeTheNextConnectionAndBadOnesAreRefused) {
  Start(Settings());
  auto old_stream = Connect();
  EXPECT_EQ(old_stream->server_common_name(), "front-1");
  RawClient old_client(std::move(old_stream));

  const KeyPair next = ServerPair(server_ca_, "front-2");
  TlsSettings settings = Settings();
  settings.certificate_pem = next.certificate_pem;
  EXPECT_THAT(MessageOf(front_->SetTls(settings)), HasSubstr("key_pem: does not belong"));
  EXPECT_EQ(Connect()->server_common_name(), "front-1") << "the last good one stays";
  settings.key_pem = next.key_pem;
  ASSERT_TRUE(front_->SetTls(settings).ok());
  EXPECT_EQ(Connect()->server_common_name(), "front-2");
  EXPECT_EQ(old_client.Call("GET", "/old")->body, "/old") << "open connections go on";
}

TEST_F(HttpsServerTest, SettingsThatCannotServeAreRefusedWithTheReason) {
  Server server({}, Echo);
  const auto message = [&](auto change) {
    TlsSettings settings = SettingsForClients();
    change(settings);
    return MessageOf(server.SetTls(settings));
  };
  EXPECT_EQ(message([](auto&) {}), "");
  EXPECT_THAT(message([](auto& s) { s.certificate_pem = ""; }), HasSubstr("certificate_pem: "));
  EXPECT_THAT(message([](auto& s) { s.key_pem = "x"; }), HasSubstr("key_pem: "));
  EXPECT_THAT(message([](auto& s) { s.client_ca_pem = "x"; }), HasSubstr("client_ca_pem: "));
  const KeyPair expired = *Issue(server_ca_, {.common_name = "x",
                                              .server = true,
                                              .now_ms = RealClock().WallMs() - 9 * kDayMs,
                                              .valid_ms = kDayMs});
  EXPECT_THAT(message([&](auto& s) {
                s.certificate_pem = expired.certificate_pem;
                s.key_pem = expired.key_pem;
              }),
              HasSubstr("has expired"));
  EXPECT_THAT(message([](auto& s) {
                s.key_pem =
                    "-----BEGIN ENCRYPTED PRIVATE KEY-----\n"
                    "MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAgAAAAAAAAAAAICCAAw\n"
                    "-----END ENCRYPTED PRIVATE KEY-----\n";
              }),
              HasSubstr("without a passphrase"));
}

TEST_F(HttpsServerTest, HalfOpenHandshakesLeaveNothingBehind) {
  Start(Settings());
  auto first = std::make_unique<RawClient>(Connect());
  EXPECT_EQ(first->Call("GET", "/")->status, 200);
  const int before = CountOpenFiles() - 2;  // both ends of the first connection
  first.reset();
  const std::string hello = ClientHello();
  for (int i = 0; i < 200; ++i) {
    SocketStream stream(front_->port());
    if (i % 4 == 1) stream.Send(hello.substr(0, hello.size() / 2));
    if (i % 4 == 2) stream.Send(hello);
    if (i % 4 == 3) stream.Send("GET / HTTP/1.1\r\nHost: plain\r\n\r\n");
    if (i % 8 < 4) stream.ResetOnClose();
  }
  EXPECT_TRUE(Eventually([this] { return front_->stats().accepted_connections == 201; }));
  EXPECT_TRUE(AllClosed());
  EXPECT_TRUE(Eventually([&] { return CountOpenFiles() == before; })) << CountOpenFiles();
  EXPECT_EQ(RawClient(Connect()).Call("GET", "/")->status, 200);
}

TEST_F(HttpsServerTest, SilentHandshakesEndAtTheirDeadline) {
  ServerOptions options;
  options.deadlines.handshake_ms = 1'000;
  Start(Settings(), Echo, options);
  std::vector<std::unique_ptr<SocketStream>> silent;
  for (int i = 0; i < 100; ++i) {
    silent.push_back(std::make_unique<SocketStream>(front_->port()));
    if (i % 2 == 0) silent.back()->Send(ClientHello().substr(0, 100));
  }
  EXPECT_EQ(RawClient(Connect()).Call("GET", "/")->status, 200) << "others are served";
  EXPECT_TRUE(Eventually(
      [this] { return front_->stats().rejections(Rejection::kHandshakeTimeout) >= 100; }));
  EXPECT_TRUE(AllClosed());
}

TEST_F(HttpsServerTest, AttacksAfterTheHandshakeAreAnsweredAndClosedCleanly) {
  Start(Settings());
  const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const auto& [bytes, status] : std::vector<std::pair<std::string, int>>{
           {chunked + "-1\r\n", 400},
           {chunked + "-2\r\n", 400},
           {"GET / HTTP/1.1\r\n\r\n", 400},
           {"GET /" + std::string(100'000, 'x'), 431},
           {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999\r\n\r\n" +
                std::string(1'000'000, 'b'),
            413}}) {
    RawClient client(Connect());
    client.Send(bytes);
    const auto response = client.ReadResponse();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, status);
    EXPECT_TRUE(client.AtCleanEnd()) << status;
  }
}

TEST_F(HttpsServerTest, CarriesLargeBodiesAndPipelinedRequests) {
  Start(Settings());
  RawClient client(Connect());
  std::string body(8 * 1024 * 1024, 'b');
  for (std::size_t i = 0; i < body.size(); i += 997) body[i] = static_cast<char>('a' + i % 26);
  const auto large = client.Call("POST", "/", body);
  ASSERT_TRUE(large);
  EXPECT_TRUE(large->body == body);
  std::string many;
  for (int i = 0; i < 50; ++i) many += StrCat("GET /n", i, " HTTP/1.1\r\nHost: a\r\n\r\n");
  client.Send(many);
  for (int i = 0; i < 50; ++i) EXPECT_EQ(client.ReadResponse()->body, StrCat("/n", i));
}

TEST_F(HttpsServerTest, ManyTinyRecordsAndKeyUpdatesAreRead) {
  Start(Settings());
  auto stream = Connect();
  TlsStream& tls = *stream;
  RawClient client(std::move(stream));
  for (const char c : std::string("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 500\r\n\r\n")) {
    client.Send(std::string(1, c));
  }
  for (int i = 0; i < 500; ++i) {
    if (i % 10 == 0) {
      EXPECT_TRUE(tls.UpdateKeys());
    }
    client.Send("b");
  }
  const auto response = client.ReadResponse();
  ASSERT_TRUE(response);
  EXPECT_EQ(response->body, std::string(500, 'b'));
}

TEST_F(HttpsServerTest, RefusesRenegotiation) {
  Start(Settings());
  auto stream = Connect({}, TLS1_2_VERSION);
  TlsStream& tls = *stream;
  RawClient client(std::move(stream));
  EXPECT_EQ(client.Call("GET", "/")->status, 200);
  EXPECT_FALSE(tls.Renegotiate());
}

TEST_F(HttpsServerTest, ChoosesHttp11ForClientsThatOfferItAndIgnoresTheRest) {
  Start(Settings());
  const auto chosen = [this](const std::string& offer) {
    TlsStream stream(front_->port(), {.server_ca_pem = server_ca_.certificate_pem,
                                      .client = {},
                                      .max_version = 0,
                                      .alpn = offer});
    EXPECT_TRUE(stream.connected());
    return stream.alpn();
  };
  EXPECT_EQ(chosen("\x02h2\x08http/1.1"), "http/1.1");
  EXPECT_EQ(chosen("\x02h2"), "");
}

TEST_F(HttpsServerTest, DrainSaysGoodbyeToIdleClientsAndAnswersTheOthers) {
  ServerOptions options;
  options.deadlines.drain_idle_ms = 20;
  std::promise<void> release;
  const std::shared_future<void> released = release.get_future().share();
  Start(
      Settings(),
      [released](const Request& request, const Done& done) {
        if (request.path() == "/slow") released.wait();
        done(TextResponse(200, "done"));
      },
      options);
  RawClient idle(Connect());
  EXPECT_EQ(idle.Call("GET", "/")->status, 200);
  RawClient busy(Connect());
  busy.Send("GET /slow HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(Eventually([this] { return front_->stats().requests == 2; }));
  EXPECT_FALSE(front_->Drain(10).ok());
  EXPECT_TRUE(idle.AtCleanEnd());
  release.set_value();
  EXPECT_EQ(busy.ReadResponse()->body, "done");
  EXPECT_TRUE(busy.AtCleanEnd());
}

TEST_F(HttpsServerTest, ServesManyClientsWhileCertificatesChangeAndStops) {
  Start(SettingsForClients(), Echo);
  const KeyPair client = Client(client_ca_, "load");
  const KeyPair next = ServerPair(server_ca_, "front-2");
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        RawClient raw(Connect(client));
        for (int k = 0; k < 5; ++k) {
          const std::string body = StrCat(t, ".", i, ".", k) + std::string(k * 9000, 'x');
          const auto response = raw.Call("POST", "/", body);
          if (!response || response->body != body) ++wrong;
        }
      }
    });
  }
  for (int i = 0; i < 20; ++i) {
    TlsSettings settings = SettingsForClients();
    if (i % 2 == 0) {
      settings.certificate_pem = next.certificate_pem;
      settings.key_pem = next.key_pem;
    }
    EXPECT_TRUE(front_->SetTls(settings).ok());
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  RawClient open(Connect(client));
  EXPECT_EQ(open.Call("GET", "/")->status, 200);
  front_->Stop();
  EXPECT_EQ(front_->stats().open_connections, 0);
}

}  // namespace
}  // namespace yardmaster::http
