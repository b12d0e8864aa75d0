#include "pkg/http/handshake_queue.h"

#include <vector>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/http/connection.h"

namespace yardmaster::http {
namespace {

using Verdict = HandshakeLimiter::Verdict;

constexpr HandshakeRates kRates{10, 20, 100, 50};

class HandshakeQueueTest : public testing::Test {
 protected:
  Connection* Add(const std::string& address, std::int64_t now_ms = 0) {
    alive_.push_back(std::make_shared<Connection>(nullptr, nullptr));
    queue_.Add(address, alive_.back(), {}, now_ms);
    return alive_.back().get();
  }
  // How many begin now.
  int Begin(std::int64_t now_ms) {
    int begun = 0;
    while (const auto turn = queue_.Next(now_ms)) begun += turn->verdict != Verdict::kRefused;
    return begun;
  }

  HandshakeQueue queue_{kRates, 1000, 5'000};
  std::vector<std::shared_ptr<Connection>> alive_;
};

TEST_F(HandshakeQueueTest, WhatIsBeyondTheRatesWaitsAndIsNotTurnedAway) {
  for (int i = 0; i < 100; ++i) Add(StrCat("bot-", i));
  EXPECT_EQ(Begin(0), 50);
  EXPECT_EQ(Begin(100), 10);
  EXPECT_EQ(Begin(1'000), 40);
  EXPECT_EQ(queue_.size(), 0u);
}

TEST_F(HandshakeQueueTest, AnAddressWaitsForOneHandshakeOfEachOther) {
  for (int i = 0; i < 1000; ++i) Add(StrCat("bot-", i % 5));
  EXPECT_EQ(Begin(0), 50);
  const Connection* good = Add("good");
  int before = 0;
  for (std::int64_t now_ms = 10;; now_ms += 10) {
    const auto turn = queue_.Next(now_ms);
    if (!turn) continue;
    if (turn->connection.get() == good) break;
    ASSERT_LE(++before, 5);
  }
}

TEST_F(HandshakeQueueTest, AKnownAddressDoesNotWaitForTheOthers) {
  queue_.Know("scheduler", 0);
  for (int i = 0; i < 100; ++i) Add(StrCat("bot-", i));
  EXPECT_EQ(Begin(0), 50);
  const Connection* good = Add("scheduler");
  const auto turn = queue_.Next(0);
  ASSERT_TRUE(turn.has_value());
  EXPECT_EQ(turn->connection.get(), good);
  EXPECT_EQ(turn->verdict, Verdict::kKnown);
}

TEST_F(HandshakeQueueTest, WhatHasWaitedTooLongIsGivenUpWithoutCostingOthers) {
  for (int i = 0; i < 200; ++i) Add("bot");
  EXPECT_EQ(Begin(0), 20);
  int refused = 0;
  while (const auto turn = queue_.Next(5'000)) refused += turn->verdict == Verdict::kRefused;
  EXPECT_EQ(refused, 180);
  Add("good", 5'000);
  EXPECT_EQ(Begin(5'000), 1);
}

TEST_F(HandshakeQueueTest, ConnectionsThatAreGoneTakeNoTurnAndNoMemory) {
  for (int i = 0; i < 10'000; ++i) {
    Add(StrCat("bot-", i % 7));
    if (i >= 50) alive_.pop_back();
    ASSERT_LE(queue_.size(), 2'001u);
  }
  EXPECT_EQ(Begin(0), 50);
  EXPECT_EQ(queue_.size(), 0u);
}

}  // namespace
}  // namespace yardmaster::http
