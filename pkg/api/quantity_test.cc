#include "pkg/api/quantity.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

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

TEST(QuantityTest, OneAmountReadsAlikeInEverySpelling) {
  for (const char* text : {"1.5", "1500m", "1500000u", "1500000000n", "1.5e0", "15E-1", "+1.5"}) {
    EXPECT_EQ(*ParseQuantity(text, 1000), 1500) << text;
  }
  for (const char* text : {"1Gi", "1024Mi", "1048576Ki", "1073741824", "1073741824e0"}) {
    EXPECT_EQ(*ParseQuantity(text), 1LL << 30) << text;
  }
}

TEST(QuantityTest, NoAmountAboveNothingReadsAsNothing) {
  for (const char* text : {"1n", "1u", "1m", "0.001", "1e-9", "999999999n"}) {
    EXPECT_EQ(*ParseQuantity(text), 1) << text;
  }
  EXPECT_EQ(*ParseQuantity("0m"), 0);
}

TEST(QuantityTest, TheLargestAmountsOfKubernetesReadAs2To53) {
  for (const char* text : {"9007199254740992", "9007199254740993", "8Pi", "9E", "8Ei", "7.9Ei"}) {
    EXPECT_EQ(*ParseQuantity(text), 1LL << 53) << text;
  }
  EXPECT_EQ(*ParseQuantity("9007199254740991"), (1LL << 53) - 1);
  EXPECT_EQ(*ParseQuantity("9007199254740992", 1000), 1LL << 53);
  EXPECT_FALSE(ParseQuantity("9.3E").ok());
}

TEST(QuantityTest, AFieldIsTextOrANumberAndAWrongOneIsNamed) {
  const nlohmann::json object = {{"text", "500m"},  {"number", 1.5},
                                 {"null", nullptr}, {"word", "many"},
                                 {"truth", true},   {"list", nlohmann::json::array()},
                                 {"debt", -1},      {"enormous", 1e30}};
  FieldErrors errors;
  FieldReader in(&object, "limits", UnknownFields::kReject, &errors);
  EXPECT_EQ(ReadQuantity(in, "text", 1000), 500);
  EXPECT_EQ(ReadQuantity(in, "number"), 2);
  EXPECT_EQ(ReadQuantity(in, "null"), 0);
  EXPECT_EQ(ReadQuantity(in, "missing"), 0);
  EXPECT_TRUE(errors.empty()) << errors.status();
  for (const char* key : {"word", "truth", "list", "debt", "enormous"}) {
    const std::size_t before = errors.lines().size();
    EXPECT_EQ(ReadQuantity(in, key), 0) << key;
    ASSERT_EQ(errors.lines().size(), before + 1) << key;
    EXPECT_EQ(errors.lines().back().rfind(std::string("limits.") + key + ": expected a quantity"),
              0u);
  }
}

}  // namespace
}  // namespace yardmaster::api
