#include "pkg/api/quantity.h"

#include "gtest/gtest.h"

namespace yardmaster::api {
namespace {

TEST(QuantityTest, ReadsWhatKubernetesWritesAndRoundsUp) {
  const std::pair<const char*, std::int64_t> cases[] = {
      {"8", 8},      {"0", 0},        {"8000m", 8},   {"1500m", 2},      {"1k", 1000},
      {"1e3", 1000}, {"1E3", 1000},   {"2Ki", 2048},  {"1.5", 2},        {"64Gi", 68719476736},
      {"+3", 3},     {"1M", 1000000}, {"0.1Ki", 103}, {"100000000n", 1}, {".5", 1}};
  for (const auto& [text, value] : cases) {
    auto parsed = ParseQuantity(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, value) << text;
  }
}

TEST(QuantityTest, RefusesEverythingElse) {
  for (const char* text : {"", "x", "-1", "8 ", "1kk", "nan", "inf", "1e400", "9E9E", "Ki", "8Gb",
                           "--1", "1e", "99999999E"}) {
    EXPECT_FALSE(ParseQuantity(text).ok()) << text;
  }
}

}  // namespace
}  // namespace yardmaster::api
