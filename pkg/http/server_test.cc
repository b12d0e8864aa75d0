// The server over real sockets: what clients get.
#include "pkg/http/server.h"

#include <atomic>
#include <chrono>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/http/testing/raw_client.h"
#include "pkg/http/testing/server_fixture.h"

namespace yardmaster::http {
namespace {

using testing::HasSubstr;

TEST_F(ServerTest, ServesManyRequestsOnOneConnection) {
  Start(Options());
  RawClient client(port());
  for (int i = 0; i < 50; ++i) {
    const auto response = client.Call("GET", StrCat("/n", i));
    ASSERT_TRUE(response);
    EXPECT_EQ(response->status, 200);
    EXPECT_EQ(response->body, StrCat("/n", i));
  }
  EXPECT_EQ(server_->stats().accepted_connections, 1);
  EXPECT_EQ(server_->stats().requests, 50);
}

TEST_F(ServerTest, HeadHasNoBodyAndTheConnectionGoesOn) {
  Start(Options());
  RawClient client(port());
  const auto head = client.Call("HEAD", "/12345");
  ASSERT_TRUE(head);
  EXPECT_EQ(head->Header("Content-Length"), "6");
  EXPECT_EQ(client.Call("GET", "/x")->body, "/x");
}

TEST_F(ServerTest, CarriesBodiesUpToTheLimitBothWays) {
  Start(Options());
  RawClient client(port());
  std::string body(8 * 1024 * 1024, 'b');
  for (std::size_t i = 0; i < body.size(); i += 997) body[i] = static_cast<char>('a' + i % 26);
  const auto response = client.Call("POST", "/", body);
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 200);
  EXPECT_TRUE(response->body == body);

  std::string chunks;
  for (std::size_t at = 0; at < body.size(); at += 0x10000) {
    chunks += "10000\r\n" + body.substr(at, 0x10000) + "\r\n";
  }
  client.Send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks +
              "0\r\n\r\n");
  const auto second = client.ReadResponse();
  ASSERT_TRUE(second);
  EXPECT_TRUE(second->body == body);
}

TEST_F(ServerTest, AClientSeesWhyItsLargeBodyIsRefused) {
  Start(Options());
  const std::string body(24 * 1024 * 1024, 'b');
  RawClient sized(port());
  const auto response = sized.Call("POST", "/", body);
  ASSERT_TRUE(response) << "a reset instead of an answer";
  EXPECT_EQ(response->status, 413);

  RawClient chunked(port());
  chunked.Send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
  std::string chunk = "100000\r\n" + std::string(0x100000, 'b') + "\r\n";
  for (int i = 0; i < 20; ++i) chunked.Send(chunk);
  const auto second = chunked.ReadResponse();
  ASSERT_TRUE(second);
  EXPECT_EQ(second->status, 413);
  EXPECT_EQ(rejected(Rejection::kTooLarge), 2);
}

TEST_F(ServerTest, AnswersAndClosesCleanlyAfterAMalformedRequest) {
  Start(Options());
  const std::string chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const std::vector<std::pair<std::string, int>> cases = {
      {chunked + "-1\r\n", 400},
      {chunked + "-2\r\n", 400},
      {chunked + "-3\r\n", 400},
      {chunked + "7fffffff\r\n", 413},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: -1\r\n\r\n", 400},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9223372036854775808\r\n\r\n", 413},
      {"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n",
       400},
      {"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: xchunked\r\n\r\n", 501},
      {"GET / HTTP/1.1\r\n\r\n", 400},
      {"GET / HTTP/9.9\r\nHost: a\r\n\r\n", 505},
      {"GET / XXXX/1.1\r\nHost: a\r\n\r\n", 400},
      {"TRACE / HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer secret\r\n\r\n", 405},
  };
  for (const auto& [bytes, status] : cases) {
    RawClient client(port());
    client.Send(bytes);
    const auto response = client.ReadResponse();
    ASSERT_TRUE(response) << bytes;
    EXPECT_EQ(response->status, status) << bytes;
    EXPECT_EQ(response->Header("Connection"), "close") << bytes;
    EXPECT_THAT(response->body, testing::Not(HasSubstr("secret")));
    EXPECT_TRUE(client.AtCleanEnd()) << bytes;
  }
  EXPECT_TRUE(AllClosed());
}

TEST_F(ServerTest, AnswersPipelinedRequestsInOrderFromManyThreads) {
  std::mutex mutex;
  std::vector<std::jthread> threads;
  Start(Options(), [&](Request request, Done done) {
    const std::lock_guard lock(mutex);
    threads.emplace_back([request = std::move(request), done = std::move(done)] {
      // The earlier the request, the longer it takes.
      const int n = ParseNumber<int>(request.path().substr(2)).value_or(0);
      std::this_thread::sleep_for(std::chrono::milliseconds(10 - n));
      done(TextResponse(200, request.target));
    });
  });
  RawClient client(port());
  std::string bytes;
  for (int i = 0; i < 10; ++i) bytes += StrCat("GET /n", i, " HTTP/1.1\r\nHost: a\r\n\r\n");
  client.Send(bytes);
  for (int i = 0; i < 10; ++i) {
    const auto response = client.ReadResponse();
    ASSERT_TRUE(response);
    EXPECT_EQ(response->body, StrCat("/n", i));
  }
}

TEST_F(ServerTest, AnAbsentAnswerIsReplacedAndADroppedOneClosesTheConnection) {
  std::mutex mutex;
  std::vector<Done> held;
  Start(ShortDeadlines(), [&](const Request& request, Done done) {
    if (request.path() == "/drop") return;
    std::lock_guard lock(mutex);
    held.push_back(std::move(done));
  });
  RawClient waiting(port());
  const auto response = waiting.Call("GET", "/hold");
  ASSERT_TRUE(response);
  EXPECT_EQ(response->status, 503);
  RawClient dropped(port());
  const auto start = SteadyClock::now();
  EXPECT_FALSE(dropped.Call("GET", "/drop"));
  EXPECT_TRUE(dropped.AtCleanEnd());
  EXPECT_LT(MsSince(start), 450) << "closed at once, not at a deadline";
  EXPECT_EQ(rejected(Rejection::kHandlerTimeout), 1);
  EXPECT_EQ(rejected(Rejection::kHandlerDropped), 1);
  // Late answers go nowhere, during the server's life and after it.
  held[0](TextResponse(200, "late"));
  RawClient last(port());
  last.Send("GET /hold HTTP/1.1\r\nHost: a\r\n\r\n");
  ASSERT_TRUE(Eventually([&] {
    std::lock_guard lock(mutex);
    return held.size() == 2;
  }));
  server_.reset();
  held[1](TextResponse(200, "too late"));
}

TEST_F(ServerTest, AThrowingHandlerCostsOneAnswer) {
  Start(Options(), [](const Request&, const Done&) { throw std::string("oops"); });
  RawClient client(port());
  EXPECT_EQ(client.Call("GET", "/")->status, 500);
  EXPECT_EQ(client.Call("GET", "/")->status, 500);
}

TEST_F(ServerTest, ServesManyClientsAtOnce) {
  Start(Options());
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      RawClient client(port());
      for (int i = 0; i < 100; ++i) {
        const std::string body = StrCat("client ", t, " call ", i) + std::string(i * 50, 'x');
        const auto response = client.Call("POST", "/", body);
        if (!response || response->body != body) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(server_->stats().requests, 800);
}

TEST_F(ServerTest, OldClientsAreServed) {
  Start(Options());
  RawClient client(port());
  client.Send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  EXPECT_EQ(client.ReadResponse()->Header("Connection"), "keep-alive");
  client.Send("GET /b HTTP/1.0\r\n\r\n");
  EXPECT_EQ(client.ReadResponse()->Header("Connection"), "close");
  EXPECT_TRUE(client.AtCleanEnd());
}

TEST_F(ServerTest, AHalfClosedClientGetsItsAnswer) {
  Start(Options());
  auto stream = std::make_unique<SocketStream>(port());
  SocketStream& socket = *stream;
  RawClient client(std::move(stream));
  client.Send("GET /a HTTP/1.1\r\nHost: a\r\n\r\n");
  socket.HalfClose();
  EXPECT_EQ(client.ReadResponse()->body, "/a");
  EXPECT_TRUE(client.AtCleanEnd());
}

bool HasIpv6() {
  ServerOptions options;
  options.bind_address = "::1";
  Server server(options, [](Request, const Done& done) { done(TextResponse(200, "")); });
  return server.Start().ok();
}

TEST_F(ServerTest, ListensOnIpv6OrSaysThatItCannot) {
  for (const char* address : {"::", ""}) {
    ServerOptions options = Options();
    options.bind_address = address;
    Server server(options, [&](Request request, const Done& done) {
      done(TextResponse(200, request.remote));
    });
    const absl::Status status = server.Start();
    if (!status.ok()) {
      EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable) << status;
      EXPECT_STREQ(address, "::") << "without IPv6 it listens on IPv4";
      continue;
    }
    RawClient over_v4(server.port());
    EXPECT_THAT(over_v4.Call("GET", "/")->body, testing::StartsWith("127.0.0.1:"));
    if (!HasIpv6()) continue;
    RawClient over_v6(std::make_unique<SocketStream>(server.port(), "::1"));
    EXPECT_THAT(over_v6.Call("GET", "/")->body, testing::StartsWith("[::1]:"));
  }
}

TEST_F(ServerTest, StartSaysWhatIsWrong) {
  Start(Options());
  ServerOptions taken = Options();
  taken.port = port();
  Server second(taken, Echo);
  const absl::Status status = second.Start();
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_THAT(std::string(status.message()), HasSubstr(StrCat("127.0.0.1 port ", port())));

  ServerOptions named = Options();
  named.bind_address = "localhost";
  EXPECT_EQ(Server(named, Echo).Start().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(server_->Start().code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(server_->SetTls({}).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(ServerTest, AServerThatDoesNotRunIsDrained) {
  Server server(Options(), Echo);
  EXPECT_TRUE(server.Drain(1).ok());
  ASSERT_TRUE(server.Start().ok());
  server.Stop();
  EXPECT_TRUE(server.Drain(1).ok());
}

}  // namespace
}  // namespace yardmaster::http
