#include "pkg/capacity/money.h"

#include "gtest/gtest.h"

#include "pkg/base/random.h"

namespace yardmaster::capacity {
namespace {

TEST(MoneyTest, AmountsAreReadExactly) {
  EXPECT_EQ(ParseMoney("12.50 USD").value(), (Money{12'500'000, "USD"}));
  EXPECT_EQ(ParseMoney("0 EUR").value(), (Money{0, "EUR"}));
  EXPECT_EQ(ParseMoney("0.000001 CNY").value().micros, 1);
  EXPECT_EQ(ParseMoney("1000000000 JPY").value().micros, kMaxMicros);
}

TEST(MoneyTest, WhatIsNoAmountIsRefused) {
  for (const char* text : {"",
                           " ",
                           "12.50",
                           "USD",
                           "12.50USD",
                           "12.50 usd",
                           "12.50 DOLLAR",
                           "-1 USD",
                           "+1 USD",
                           ". USD",
                           "1. USD",
                           ".5 USD",
                           "1.2.3 USD",
                           "1e3 USD",
                           "1  USD",
                           "1 USD ",
                           " 1 USD",
                           "0.0000001 USD",
                           "1000000000.000001 USD",
                           "99999999999999999999 USD",
                           "NaN USD"}) {
    EXPECT_FALSE(ParseMoney(text).ok()) << text;
  }
}

TEST(MoneyTest, EveryAmountSurvivesARoundTrip) {
  Random random(7);
  for (int i = 0; i < 10'000; ++i) {
    const auto bound = std::uint64_t{1} << random.Below(50);
    const Money money{std::min<Micros>(static_cast<Micros>(random.Below(bound)), kMaxMicros),
                      "USD"};
    EXPECT_EQ(ParseMoney(FormatMoney(money)).value(), money) << FormatMoney(money);
  }
  EXPECT_EQ(FormatMoney({12'500'000, "USD"}), "12.50 USD");
  EXPECT_EQ(FormatMoney({1, "USD"}), "0.000001 USD");
}

}  // namespace
}  // namespace yardmaster::capacity
