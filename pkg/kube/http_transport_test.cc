// The HTTP client against servers that behave badly, each in one way, over real sockets.
#include "pkg/kube/http_transport.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "pkg/kube/api_error.h"
#include "pkg/kube/testing/raw_server.h"
#include "pkg/kube/testing/test_certificates.h"

namespace yardmaster::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kLongMs = 20'000;
constexpr StreamDeadlines kLong{kLongMs, kLongMs};
constexpr std::string_view kChunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

std::string Answer(int code, std::string_view body, std::string_view headers = "") {
  return StrCat("HTTP/1.1 ", code, " Whatever\r\nContent-Length: ", body.size(), "\r\n", headers,
                "\r\n", body);
}
std::string Chunk(std::string_view data) {
  constexpr std::string_view kHex = "0123456789abcdef";
  std::string size;
  for (std::size_t n = data.size(); n > 0; n /= 16) size.insert(size.begin(), kHex[n % 16]);
  return StrCat(size, "\r\n", data, "\r\n");
}

class HttpTransportTest : public testing::Test {
 protected:
  static void SetUpTestSuite() { PrepareProcessForHttp(); }

  std::unique_ptr<Transport> Connect(ClientConfig config) {
    auto credentials = std::make_shared<Credentials>(config, clock_);
    auto transport = MakeHttpTransport(config, credentials);
    EXPECT_TRUE(transport.ok()) << transport.status();
    return *std::move(transport);
  }
  std::unique_ptr<Transport> Connect(const RawServer& server) {
    ClientConfig config;
    config.server = StrCat("http://127.0.0.1:", server.port());
    return Connect(config);
  }
  static HttpRequest Get(const std::string& target = "/") { return {"GET", target, {}, ""}; }
  // A server that answers every request with `answer`.
  static RawServer::Handler Always(std::string answer) {
    return [answer](RawConnection& connection) {
      while (!connection.ReadRequest().empty()) connection.Write(answer);
    };
  }
  // A server that reads a request, says `text`, and keeps the connection open.
  static RawServer::Handler SaysThenHangs(std::string text) {
    return [text](RawConnection& connection) {
      connection.ReadRequest();
      connection.Write(text);
      connection.Read();
    };
  }
  Transport::OnLine Collect() {
    return [this](std::string_view line) {
      lines_.emplace_back(line);
      return true;
    };
  }

  FakeClock clock_;
  std::vector<std::string> lines_;
};

TEST_F(HttpTransportTest, RequestsArriveAsBuiltAndConnectionsAreReused) {
  std::mutex mutex;
  std::vector<std::string> requests;
  RawServer server([&](RawConnection& connection) {
    for (;;) {
      const std::string request = connection.ReadRequest();
      if (request.empty()) return;
      {
        std::lock_guard lock(mutex);
        requests.push_back(request);
      }
      connection.Write(Answer(201, "{\"a\":1}", "X-Some: Thing\r\n"));
    }
  });
  auto transport = Connect(server);
  const HttpRequest request{"PATCH",
                            "/api/v1/x?labelSelector=a%20in%20%28b%29&limit=7",
                            {{"Content-Type", "application/json-patch+json"},
                             {"Authorization", "Bearer t"},
                             {"User-Agent", "me"}},
                            "[{}]"};
  for (int i = 0; i < 20; ++i) {
    const auto response = transport->Unary(request, kLongMs, {});
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->code, 201);
    EXPECT_EQ(response->body, "{\"a\":1}");
    EXPECT_EQ(response->Header("x-some"), "Thing");
  }
  // The library puts a connection back a moment after the answer is there: now and then too late
  // for the next request.
  EXPECT_LT(server.connections(), 10);
  std::lock_guard lock(mutex);
  EXPECT_THAT(requests[0], testing::StartsWith(
                               "PATCH /api/v1/x?labelSelector=a%20in%20%28b%29&limit=7 HTTP/1.1"));
  EXPECT_THAT(requests[0], HasSubstr("Content-Type:application/json-patch+json\r\n"));
  EXPECT_THAT(requests[0], HasSubstr("Authorization:Bearer t\r\n"));
  EXPECT_THAT(requests[0], testing::EndsWith("\r\n\r\n[{}]"));
}

TEST_F(HttpTransportTest, AServerPathIsPutBeforeEveryTarget) {
  std::atomic<bool> right = false;
  RawServer server([&](RawConnection& connection) {
    right = connection.ReadRequest().starts_with("GET /k8s/c-1/api/v1/pods?limit=1 ");
    connection.Write(Answer(200, "{}"));
  });
  ClientConfig config;
  config.server = StrCat("http://127.0.0.1:", server.port(), "/k8s/c-1");
  EXPECT_TRUE(Connect(config)->Unary(Get("/api/v1/pods?limit=1"), kLongMs, {}).ok());
  EXPECT_TRUE(right);
}

TEST_F(HttpTransportTest, ChunkedAndUnboundedBodiesAreRead) {
  RawServer chunked(Always(StrCat(kChunked, Chunk("hello "), Chunk("world"), "0\r\n\r\n")));
  EXPECT_EQ(Connect(chunked)->Unary(Get(), kLongMs, {})->body, "hello world");
  RawServer unbounded([](RawConnection& connection) {
    connection.ReadRequest();
    connection.Write("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nto the end");
  });
  EXPECT_EQ(Connect(unbounded)->Unary(Get(), kLongMs, {})->body, "to the end");
  const std::string large(5'000'000, 'x');
  RawServer big(Always(Answer(200, large)));
  EXPECT_EQ(Connect(big)->Unary(Get(), kLongMs, {})->body, large);
}

TEST_F(HttpTransportTest, ChunksOfNegativeSizeAreErrorsAndNotCrashes) {
  for (const char* size : {"-1", "-2"}) {
    RawServer server(SaysThenHangs(StrCat(kChunked, size, "\r\nxxxxxxxxxxxxxxxx\r\n0\r\n\r\n")));
    auto transport = Connect(server);
    EXPECT_FALSE(transport->Unary(Get(), 2'000, {}).ok()) << size;
    EXPECT_FALSE(transport->Stream(Get(), {2'000, 2'000}, {}, Collect()).ok()) << size;
  }
  EXPECT_THAT(lines_, testing::IsEmpty());
}

TEST_F(HttpTransportTest, ChunksThatNeverComeEndWithTheDeadline) {
  for (const char* size : {"-3", "7fffffff", "10"}) {
    RawServer server(SaysThenHangs(StrCat(kChunked, size, "\r\nxx")));
    const auto response = Connect(server)->Unary(Get(), 200, {});
    EXPECT_TRUE(absl::IsDeadlineExceeded(response.status())) << size << " " << response.status();
  }
}

TEST_F(HttpTransportTest, NonsenseIsAnError) {
  for (const char* answer : {"", "hello\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
                             "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nxx",
                             "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"}) {
    RawServer server([answer](RawConnection& connection) {
      connection.ReadRequest();
      connection.Write(answer);
    });
    const auto response = Connect(server)->Unary(Get(), kLongMs, {});
    EXPECT_TRUE(absl::IsUnavailable(response.status())) << answer << " " << response.status();
    EXPECT_FALSE(WasNeverSent(response.status())) << answer;
  }
}

TEST_F(HttpTransportTest, ARedirectIsNotFollowedAndTheTokenStaysHere) {
  RawServer thief(Always(Answer(200, "{}")));
  RawServer server(
      Always(Answer(302, "", StrCat("Location: http://127.0.0.1:", thief.port(), "/steal\r\n"))));
  HttpRequest request = Get();
  request.headers.emplace_back("Authorization", "Bearer secret");
  auto transport = Connect(server);
  const auto response = transport->Unary(request, kLongMs, {});
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->code, 302);
  const auto stream = transport->Stream(request, kLong, {}, Collect());
  ASSERT_TRUE(stream.ok()) << stream.status();
  EXPECT_EQ(stream->code, 302);
  EXPECT_EQ(thief.connections(), 0);
}

TEST_F(HttpTransportTest, ARefusedConnectionWasNeverSent) {
  ClientConfig config;
  {
    RawServer server(Always(""));
    config.server = StrCat("http://127.0.0.1:", server.port());
  }
  const absl::Status status = Connect(config)->Unary(Get(), kLongMs, {}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_TRUE(WasNeverSent(status)) << status;
}

TEST_F(HttpTransportTest, ASilentServerEndsWithTheDeadlineAndAStopAtOnce) {
  RawServer server(SaysThenHangs(""));
  auto transport = Connect(server);
  EXPECT_TRUE(absl::IsDeadlineExceeded(transport->Unary(Get(), 100, {}).status()));
  std::stop_source stop;
  std::jthread stopper([&] {
    while (server.connections() < 2) std::this_thread::yield();
    stop.request_stop();
  });
  const auto started = std::chrono::steady_clock::now();
  EXPECT_TRUE(absl::IsCancelled(transport->Unary(Get(), kLongMs, stop.get_token()).status()));
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
}

TEST_F(HttpTransportTest, AStreamGivesLinesAsTheyComeWhateverTheChunks) {
  RawServer server(Always(
      StrCat(kChunked, Chunk("{\"a\":1}\n{\"b\""), Chunk(":2}\n"), Chunk("{}\n"), "0\r\n\r\n")));
  const auto response = Connect(server)->Stream(Get(), kLong, {}, Collect());
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->code, 200);
  EXPECT_THAT(lines_, ElementsAre("{\"a\":1}", "{\"b\":2}", "{}"));
}

TEST_F(HttpTransportTest, AStreamCutWithinALineGivesTheLinesBefore) {
  RawServer cut([](RawConnection& connection) {
    connection.ReadRequest();
    connection.Write(StrCat(kChunked, Chunk("whole\nhal")));
  });
  EXPECT_TRUE(absl::IsUnavailable(Connect(cut)->Stream(Get(), kLong, {}, Collect()).status()));
  RawServer ended(Always(StrCat(kChunked, Chunk("whole\nhal"), "0\r\n\r\n")));
  EXPECT_THAT(MessageOf(Connect(ended)->Stream(Get(), kLong, {}, Collect()).status()),
              HasSubstr("within a line"));
  EXPECT_THAT(lines_, ElementsAre("whole", "whole"));
}

TEST_F(HttpTransportTest, AStreamMayLastLongerThanItsIdleTimeButNotBeIdleThatLong) {
  RawServer server([](RawConnection& connection) {
    connection.ReadRequest();
    connection.Write(kChunked);
    for (int i = 0; i < 12; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      connection.Write(Chunk(StrCat(i, "\n")));
    }
    connection.Read();
  });
  const auto response = Connect(server)->Stream(Get(), {kLongMs, 400}, {}, Collect());
  EXPECT_TRUE(absl::IsDeadlineExceeded(response.status())) << response.status();
  EXPECT_EQ(lines_.size(), 12u);
}

TEST_F(HttpTransportTest, AStreamEndsAtItsTotalDeadlineHoweverBusy) {
  RawServer server([](RawConnection& connection) {
    connection.ReadRequest();
    connection.Write(kChunked);
    while (connection.Write(Chunk("tick\n"))) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  });
  const auto response = Connect(server)->Stream(Get(), {300, kLongMs}, {}, Collect());
  EXPECT_TRUE(absl::IsDeadlineExceeded(response.status())) << response.status();
  EXPECT_GE(lines_.size(), 1u);
}

TEST_F(HttpTransportTest, AStoppedStreamReturnsAtOnceAndTheReaderCanEndIt) {
  RawServer server(SaysThenHangs(StrCat(kChunked, Chunk("a\nb\n"))));
  auto transport = Connect(server);
  std::stop_source stop;
  const auto stopped = transport->Stream(Get(), kLong, stop.get_token(), [&](std::string_view) {
    stop.request_stop();
    return true;
  });
  EXPECT_TRUE(absl::IsCancelled(stopped.status()));
  EXPECT_TRUE(transport->Stream(Get(), kLong, {}, [](std::string_view) { return false; }).ok());
}

TEST_F(HttpTransportTest, AnEndlessLineIsDataLoss) {
  RawServer server([](RawConnection& connection) {
    connection.ReadRequest();
    connection.Write(kChunked);
    const std::string piece = Chunk(std::string(1 << 20, 'x'));
    while (connection.Write(piece)) {
    }
  });
  const auto response = Connect(server)->Stream(Get(), kLong, {}, Collect());
  EXPECT_TRUE(absl::IsDataLoss(response.status())) << response.status();
}

TEST_F(HttpTransportTest, ASlowReaderSlowsTheServerInsteadOfFillingMemory) {
  constexpr int kLines = 64'000;
  std::atomic<int> written = 0;
  RawServer server([&](RawConnection& connection) {
    connection.ReadRequest();
    connection.Write(kChunked);
    std::string text(1000, 'x');
    text.back() = '\n';
    const std::string line = Chunk(text);
    for (int i = 0; i < kLines && connection.Write(line); ++i) ++written;
    connection.Write("0\r\n\r\n");
    connection.Read();
  });
  int read = 0;
  int written_while_blocked = 0;
  const auto response = Connect(server)->Stream(Get(), kLong, {}, [&](std::string_view) {
    if (++read > 1) return true;
    int before = -1;
    while (before != written) {  // until the server stands still
      before = written;
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
    written_while_blocked = before;
    return true;
  });
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(read, kLines);
  EXPECT_LT(written_while_blocked, kLines / 2);
}

TEST_F(HttpTransportTest, RefusedStreamsComeBackWithTheirBodies) {
  RawServer server(Always(Answer(410, "{\"code\":410}", "Retry-After: 3\r\n")));
  const auto response = Connect(server)->Stream(Get(), kLong, {}, Collect());
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->code, 410);
  EXPECT_EQ(response->body, "{\"code\":410}");
  EXPECT_EQ(response->Header("retry-after"), "3");
  EXPECT_THAT(lines_, testing::IsEmpty());
}

TEST_F(HttpTransportTest, AConnectionTheServerHasClosedIsNotedOrReplaced) {
  // Each connection serves one request and is then closed without a word.
  RawServer server([](RawConnection& connection) {
    if (!connection.ReadRequest().empty()) connection.Write(Answer(200, "{}"));
  });
  auto transport = Connect(server);
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(transport->Unary(Get(), kLongMs, {}).ok());
  }
  for (int i = 0; i < 10; ++i) {
    const auto response = transport->Unary({"POST", "/", {}, "{}"}, kLongMs, {});
    EXPECT_TRUE(response.ok() || absl::IsUnavailable(response.status())) << response.status();
  }
}

TEST_F(HttpTransportTest, DroppedConnectionsAreNotUsedAgain) {
  RawServer server(Always(Answer(200, "{}")));
  auto transport = Connect(server);
  EXPECT_TRUE(transport->Unary(Get(), kLongMs, {}).ok());
  transport->DropConnections();
  EXPECT_TRUE(transport->Unary(Get(), kLongMs, {}).ok());
  EXPECT_EQ(server.connections(), 2);
}

TEST_F(HttpTransportTest, ManyCallsAtOnceAllEnd) {
  RawServer server(Always(Answer(200, "{}")));
  auto transport = Connect(server);
  std::atomic<int> good = 0;
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 16; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 25; ++i) good += transport->Unary(Get(), kLongMs, {}).ok();
      });
    }
  }
  EXPECT_EQ(good, 400);
}

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
