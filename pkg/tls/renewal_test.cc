#include "pkg/tls/renewal.h"

#include "gtest/gtest.h"

#include "pkg/tls/authority.h"

namespace yardmaster::tls {
namespace {

constexpr std::int64_t kMade = 1'700'000'000'000;
constexpr std::int64_t kYearMs = 365 * kDayMs;
constexpr std::int64_t kLife = 90 * kDayMs;

Certificate MadeFor(std::int64_t life_ms, std::int64_t made_ms = kMade) {
  Certificate certificate;
  certificate.names.common_name = "x";
  certificate.not_before_ms = made_ms - kClockSkewMs;
  certificate.not_after_ms = made_ms + life_ms;
  return certificate;
}

Renewal At(std::int64_t now_ms, const Certificate& certificate,
           const Certificate& authority = MadeFor(20 * kYearMs)) {
  return DecideRenewal(certificate, authority, kLife, now_ms);
}

TEST(Renewal, ACertificateIsRenewedAfterTwoThirdsOfItsLife) {
  EXPECT_EQ(At(kMade, MadeFor(kLife)), Renewal::kKeep);
  EXPECT_EQ(At(kMade + 60 * kDayMs - 1, MadeFor(kLife)), Renewal::kKeep);
  EXPECT_EQ(At(kMade + 60 * kDayMs, MadeFor(kLife)), Renewal::kRenew);
  EXPECT_EQ(At(kMade + 500 * kDayMs, MadeFor(kLife)), Renewal::kRenew) << "it has long ended";
}

TEST(Renewal, ALongerLifeThanTheOneAskedForCountsAsTheOneAskedFor) {
  EXPECT_EQ(At(kMade + 60 * kDayMs - 1, MadeFor(10 * kYearMs)), Renewal::kKeep);
  EXPECT_EQ(At(kMade + 60 * kDayMs, MadeFor(10 * kYearMs)), Renewal::kRenew);
  EXPECT_EQ(At(kMade + 60 * kDayMs, MadeFor(10 * kYearMs), MadeFor(10 * kYearMs)), Renewal::kRenew)
      << "it ends with the authority and is shortened";
}

TEST(Renewal, AShorterLifeThanTheOneAskedForCountsAsItIs) {
  Certificate certificate = MadeFor(30 * kDayMs);
  certificate.not_before_ms = kMade;
  EXPECT_EQ(At(kMade + 20 * kDayMs - 1, certificate), Renewal::kKeep);
  EXPECT_EQ(At(kMade + 20 * kDayMs, certificate), Renewal::kRenew);
}

TEST(Renewal, OneThatANewOneWouldNotOutliveIsLeftAlone) {
  const Certificate authority = MadeFor(kLife);
  EXPECT_EQ(At(kMade + 60 * kDayMs - 1, MadeFor(kLife), authority), Renewal::kKeep);
  EXPECT_EQ(At(kMade + 60 * kDayMs, MadeFor(kLife), authority), Renewal::kAuthorityEnds);
  EXPECT_EQ(At(kMade + 61 * kDayMs, MadeFor(10 * kYearMs), MadeFor(61 * kDayMs)),
            Renewal::kAuthorityEnds)
      << "the authority has ended";
}

}  // namespace
}  // namespace yardmaster::tls
