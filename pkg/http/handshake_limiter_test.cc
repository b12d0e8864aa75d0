#include "pkg/http/handshake_limiter.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::http {
namespace {

constexpr HandshakeRates kRates{10, 20, 100, 200};

int AdmittedOf(HandshakeLimiter& limiter, const std::string& address, int tries,
               std::int64_t now_ms) {
  int admitted = 0;
  for (int i = 0; i < tries; ++i) admitted += limiter.Admit(address, now_ms) ? 1 : 0;
  return admitted;
}

TEST(HandshakeLimiterTest, AnAddressHasABurstAndThenItsRate) {
  HandshakeLimiter limiter(kRates);
  EXPECT_EQ(AdmittedOf(limiter, "a", 100, 1000), 20);
  EXPECT_EQ(AdmittedOf(limiter, "a", 100, 1500), 5);
  EXPECT_EQ(AdmittedOf(limiter, "b", 100, 1500), 20);
  EXPECT_EQ(AdmittedOf(limiter, "a", 100, 600'000), 20);
}

TEST(HandshakeLimiterTest, AFloodFromManyAddressesIsBoundedAndKnownOnesStillComeIn) {
  HandshakeLimiter limiter(kRates);
  ASSERT_TRUE(limiter.Admit("scheduler", 0));
  limiter.Know("scheduler", 0);
  int admitted = 0;
  for (int i = 0; i < 50'000; ++i) admitted += limiter.Admit(StrCat("bot-", i), 0) ? 1 : 0;
  EXPECT_EQ(admitted, 199);
  EXPECT_FALSE(limiter.Admit("stranger", 0));
  EXPECT_TRUE(limiter.Admit("scheduler", 0));
  EXPECT_TRUE(limiter.Admit("stranger", 50));
  // What is known is forgotten in time.
  for (int i = 0; i < 1000; ++i) limiter.Admit(StrCat("later-", i), 700'000);
  EXPECT_FALSE(limiter.Admit("scheduler", 700'000));
}

}  // namespace
}  // namespace yardmaster::http
