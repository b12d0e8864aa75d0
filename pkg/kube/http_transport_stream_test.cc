// The HTTP client against servers that behave badly, over real sockets: streams of lines.
#include <atomic>
#include <chrono>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/status.h"
#include "pkg/kube/api_error.h"
#include "pkg/kube/http_transport.h"
#include "pkg/kube/testing/http_transport_fixture.h"

namespace yardmaster::kube {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
  // Some 64 MB, several times of what sockets keep. Long lines: the library spends a thread switch
  // on each chunk, which makes a chunk a kilobyte slow on a busy machine.
  constexpr int kLines = 1'000;
  std::atomic<int> written = 0;
  RawServer server([&](RawConnection& connection) {
    connection.ReadRequest();
    connection.Write(kChunked);
    std::string text(64'000, 'x');
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

}  // namespace
}  // namespace yardmaster::kube
