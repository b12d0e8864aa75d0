#include "pkg/config/json_text.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/base/status.h"

namespace yardmaster::config {
namespace {

using nlohmann::json;

std::string ErrorOf(std::string_view text, int max_depth = kMaxJsonDepth) {
  const auto value = ParseJsonText(text, "t.json", max_depth);
  EXPECT_FALSE(value.ok()) << text;
  return value.ok() ? "(no error)" : MessageOf(value.status());
}

std::string Nested(int depth) { return std::string(depth, '[') + std::string(depth, ']'); }

json RandomValue(Random& random, int depth) {
  const auto kind = random.Below(depth > 4 ? 4 : 6);
  if (kind == 0) return nullptr;
  if (kind == 1) return random.Below(2) == 0;
  if (kind == 2) return static_cast<std::int64_t>(random.Below(1000)) - 500;
  if (kind == 3) return "text \"" + std::to_string(random.Below(100)) + "\n";
  json out = kind == 4 ? json::array() : json::object();
  const auto size = random.Below(5);
  for (std::uint64_t i = 0; i < size; ++i) {
    if (kind == 4) {
      out.push_back(RandomValue(random, depth + 1));
    } else {
      out["k" + std::to_string(i)] = RandomValue(random, depth + 1);
    }
  }
  return out;
}

TEST(JsonTextTest, ReadsWhatNlohmannReads) {
  Random random(7);
  for (int i = 0; i < 500; ++i) {
    const std::string text = RandomValue(random, 0).dump(i % 3 - 1);
    const auto value = ParseJsonText(text, "t.json");
    ASSERT_TRUE(value.ok() && value->has_value()) << text;
    EXPECT_EQ(**value, json::parse(text));
  }
}

TEST(JsonTextTest, SaysNothingOfTextsThatAreNotJson) {
  for (const char* text : {"", "{", "{a: 1}", "[1,]", "{\"a\": 1e999}", "{\"a\": NaN}", "1 2"}) {
    const auto value = ParseJsonText(text, "t.json");
    ASSERT_TRUE(value.ok()) << value.status();
    EXPECT_FALSE(value->has_value()) << text;
  }
}

TEST(JsonTextTest, AKeyGivenTwiceIsRefusedWithItsPath) {
  EXPECT_EQ(ErrorOf(R"({"levels": 3, "levels": 4})"),
            "t.json: levels: is there twice; keep one of them");
  EXPECT_EQ(ErrorOf(R"({"jobs": [{"id": "a"}, {"id": "b", "gpus": [1], "id": "c"}]})"),
            "t.json: jobs[1].id: is there twice; keep one of them");
}

TEST(JsonTextTest, DeepNestingIsRefusedAndWhatIsAtTheLimitIsRead) {
  EXPECT_TRUE(ParseJsonText(Nested(kMaxJsonDepth), "t.json").ok());
  EXPECT_THAT(ErrorOf(Nested(kMaxJsonDepth + 1)), testing::HasSubstr("deeper than 100 levels"));
  EXPECT_THAT(ErrorOf(R"({"spec": {"template": )" + Nested(1'000'000) + "}}"),
              testing::StartsWith("t.json: spec.template[0]"));
}

}  // namespace
}  // namespace yardmaster::config
