#include "pkg/kube/http_exchange.h"

#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/kube/api_error.h"

namespace yardmaster::kube {
namespace {

using testing::ElementsAre;
using PutResult = HttpExchange::PutResult;

HttpExchange::SteadyTime InMs(int ms) {
  return std::chrono::steady_clock::now() + std::chrono::milliseconds(ms);
}
constexpr int kLong = 60'000;

HttpExchange::Taken TakenOf(HttpExchange& exchange) {
  HttpExchange::Taken taken;
  EXPECT_TRUE(exchange.Take(InMs(kLong), {}, taken).ok());
  return taken;
}

TEST(HttpExchangeTest, HeadBytesAndEndPassThrough) {
  HttpExchange exchange(0, 100);
  exchange.PutHead({200, {{"a", "b"}}, ""});
  EXPECT_EQ(exchange.Put("abc", 3, {}), PutResult::kGoOn);
  exchange.End(absl::OkStatus());
  EXPECT_EQ(exchange.WaitForHead(InMs(kLong), {})->code, 200);
  const HttpExchange::Taken taken = TakenOf(exchange);
  EXPECT_EQ(taken.bytes, "abc");
  EXPECT_TRUE(taken.end->ok());
}

TEST(HttpExchangeTest, ASizeBeyondTheLimitIsRefusedHoweverAbsurd) {
  for (std::size_t size : {std::size_t{101}, SIZE_MAX, SIZE_MAX - 1}) {
    HttpExchange exchange(0, 100);
    EXPECT_EQ(exchange.Put("abc", size, {}), PutResult::kRefuse);
    const absl::Status end = *TakenOf(exchange).end;
    EXPECT_TRUE(absl::IsDataLoss(end) && WasTooLarge(end)) << end;
  }
  HttpExchange exchange(0, 100);
  const std::string sixty(60, 'x');
  EXPECT_EQ(exchange.Put(sixty.data(), sixty.size(), {}), PutResult::kGoOn);
  EXPECT_EQ(exchange.Put(sixty.data(), sixty.size(), {}), PutResult::kRefuse);
}

TEST(HttpExchangeTest, AStreamMayLastButItsSenderWaitsForTheReader) {
  HttpExchange exchange(10, 100);
  const std::string six(6, 'x');
  int resumed = 0;
  for (int round = 1; round <= 100; ++round) {
    EXPECT_EQ(exchange.Put(six.data(), six.size(), [&] { ++resumed; }), PutResult::kGoOn);
    EXPECT_EQ(exchange.Put(six.data(), six.size(), [&] { ++resumed; }), PutResult::kWait);
    EXPECT_EQ(resumed, round - 1);
    EXPECT_EQ(TakenOf(exchange).bytes.size(), 12u);
    EXPECT_EQ(resumed, round);
  }
}

TEST(HttpExchangeTest, AReaderNeverSeesBytesOfItsLastRoundAgain) {
  HttpExchange exchange(0, 100);
  HttpExchange::Taken taken;
  for (const char* piece : {"long enough", "short", "x"}) {
    EXPECT_EQ(exchange.Put(piece, std::strlen(piece), {}), PutResult::kGoOn);
    EXPECT_TRUE(exchange.Take(InMs(kLong), {}, taken).ok());
    EXPECT_EQ(taken.bytes, piece);
    EXPECT_FALSE(taken.end);
  }
}

TEST(HttpExchangeTest, LeavingLetsAWaitingSenderGoAndRefusesTheRest) {
  HttpExchange exchange(1, 100);
  bool resumed = false;
  EXPECT_EQ(exchange.Put("abc", 3, [&] { resumed = true; }), PutResult::kWait);
  exchange.Leave();
  EXPECT_TRUE(resumed);
  EXPECT_EQ(exchange.Put("abc", 3, {}), PutResult::kRefuse);
}

TEST(HttpExchangeTest, WaitingEndsByDeadlineStopOrError) {
  HttpExchange exchange(0, 100);
  EXPECT_TRUE(absl::IsDeadlineExceeded(exchange.WaitForHead(InMs(1), {}).status()));
  std::stop_source stop;
  stop.request_stop();
  HttpExchange::Taken taken;
  EXPECT_TRUE(absl::IsCancelled(exchange.Take(InMs(kLong), stop.get_token(), taken)));
  exchange.End(absl::UnavailableError("cut"));
  EXPECT_TRUE(absl::IsUnavailable(exchange.WaitForHead(InMs(kLong), {}).status()));
}

TEST(HttpExchangeTest, TwoThreadsHandOverEveryByteInOrder) {
  HttpExchange exchange(64, 1 << 20);
  constexpr int kBytes = 100'000;
  std::jthread sender([&] {
    Random random(1);
    std::mutex mutex;
    std::condition_variable room;
    bool free = true;
    exchange.PutHead({200, {}, ""});
    for (int sent = 0; sent < kBytes;) {
      std::string piece;
      for (auto n = 1 + random.Below(40); n > 0 && sent < kBytes; --n) {
        piece.push_back(static_cast<char>(sent++ % 251));
      }
      const PutResult result = exchange.Put(piece.data(), piece.size(), [&] {
        std::lock_guard lock(mutex);
        free = true;
        room.notify_all();
      });
      if (result != PutResult::kWait) continue;
      std::unique_lock lock(mutex);
      room.wait(lock, [&] { return free; });
      free = false;
    }
    exchange.End(absl::OkStatus());
  });
  int received = 0;
  for (;;) {
    const HttpExchange::Taken taken = TakenOf(exchange);
    for (char c : taken.bytes) ASSERT_EQ(c, static_cast<char>(received++ % 251));
    if (taken.end) break;
  }
  EXPECT_EQ(received, kBytes);
}

TEST(LineSplitterTest, LinesAreTheSameHoweverTheBytesAreCut) {
  const std::string text = "one\ntwo two\n\nthree\n";
  for (std::size_t step = 1; step <= text.size(); ++step) {
    LineSplitter splitter(100);
    std::vector<std::string> lines;
    for (std::size_t i = 0; i < text.size(); i += step) {
      auto pushed = splitter.Push(text.substr(i, step), [&](std::string_view line) {
        lines.emplace_back(line);
        return true;
      });
      ASSERT_TRUE(pushed.ok() && *pushed);
    }
    EXPECT_THAT(lines, ElementsAre("one", "two two", "", "three"));
    EXPECT_FALSE(splitter.InsideLine());
  }
}

TEST(LineSplitterTest, ALineTooLongIsDataLossAndAHalfLineIsKnown) {
  auto ignore = [](std::string_view) { return true; };
  LineSplitter splitter(5);
  EXPECT_TRUE(splitter.Push("12345\n123", ignore).ok());
  EXPECT_TRUE(splitter.InsideLine());
  EXPECT_TRUE(absl::IsDataLoss(splitter.Push("456", ignore).status()));
  LineSplitter fresh(5);
  EXPECT_TRUE(absl::IsDataLoss(fresh.Push("123456\n", ignore).status()));
}

TEST(LineSplitterTest, TheReaderCanEndIt) {
  LineSplitter splitter(100);
  int lines = 0;
  auto pushed = splitter.Push("a\nb\nc\n", [&](std::string_view) { return ++lines < 2; });
  ASSERT_TRUE(pushed.ok());
  EXPECT_FALSE(*pushed);
  EXPECT_EQ(lines, 2);
}

}  // namespace
}  // namespace yardmaster::kube
