// The HTTP client against servers that behave badly, each in one way, over real sockets: single
// requests.
#include "pkg/kube/http_transport.h"

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/kube/api_error.h"
#include "pkg/kube/testing/http_transport_fixture.h"

namespace yardmaster::kube {
namespace {

using testing::HasSubstr;

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
  const int before = server.connections();  // the first may have come too late for one
  std::stop_source stop;
  std::jthread stopper([&] {
    while (server.connections() == before) std::this_thread::yield();
    stop.request_stop();
  });
  const auto started = std::chrono::steady_clock::now();
  EXPECT_TRUE(absl::IsCancelled(transport->Unary(Get(), kLongMs, stop.get_token()).status()));
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
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

}  // namespace
}  // namespace yardmaster::kube
