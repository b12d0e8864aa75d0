#include "pkg/http/handshake_limiter.h"

#include "gtest/gtest.h"

#include "pkg/base/strings.h"

namespace yardmaster::http {
namespace {

using Verdict = HandshakeLimiter::Verdict;

constexpr HandshakeRates kRates{10, 20, 100, 200};

int AdmittedOf(HandshakeLimiter& limiter, const std::string& address, int tries,
               std::int64_t now_ms) {
  int admitted = 0;
  for (int i = 0; i < tries; ++i)
    admitted += limiter.Admit(address, now_ms) != Verdict::kRefused ? 1 : 0;
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
  ASSERT_EQ(limiter.Admit("scheduler", 0), Verdict::kAdmitted);
  limiter.Know("scheduler", 0);
  int admitted = 0;
  for (int i = 0; i < 50'000; ++i) admitted += AdmittedOf(limiter, StrCat("bot-", i), 1, 0);
  EXPECT_EQ(admitted, 199);
  EXPECT_EQ(limiter.Admit("stranger", 0), Verdict::kRefused);
  EXPECT_EQ(limiter.Admit("scheduler", 0), Verdict::kKnown);
  EXPECT_EQ(limiter.Admit("stranger", 50), Verdict::kAdmitted);
  // What is known is forgotten in time.
  for (int i = 0; i < 1000; ++i) limiter.Admit(StrCat("later-", i), 700'000);
  EXPECT_EQ(limiter.Admit("scheduler", 700'000), Verdict::kRefused);
}

}  // namespace
}  // namespace yardmaster::http
