#include "pkg/config/yaml.h"

#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/base/random.h"
#include "pkg/base/strings.h"

namespace yardmaster::config {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::StartsWith;

json MustParse(std::string_view text) {
  absl::StatusOr<json> value = ParseYaml(text, "t.yaml");
  EXPECT_TRUE(value.ok()) << value.status() << "\n" << text;
  return value.ok() ? *value : json("(broken)");
}

std::string ErrorOf(std::string_view text, const YamlLimits& limits = {}) {
  absl::StatusOr<json> value = ParseYaml(text, "t.yaml", limits);
  EXPECT_FALSE(value.ok()) << text << " gave " << value->dump();
  if (value.ok()) return "(no error)";
  EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  return MessageOf(value.status());
}

TEST(YamlTest, PlainScalarsAreTypedAndQuotedOnesStayStrings) {
  EXPECT_EQ(MustParse("[1, -7, 0x1F, 0o17, 0644, 089, +3]"), json::parse("[1,-7,31,15,420,89,3]"));
  EXPECT_EQ(MustParse("[1.5, -.5, 2., 1e3, 1E-2]"), json::parse("[1.5,-0.5,2.0,1000.0,0.01]"));
  EXPECT_EQ(MustParse("[true, False, null, ~, '', \"\", NULL]"),
            json::parse(R"([true,false,null,null,"","",null])"));
  EXPECT_EQ(
      MustParse(R"(["1", 'true', yes, on, 1_000, 12:30:00, 1.2.3, -, 0x, 2001-01-01])"
                ""),
      json::parse(R"(["1","true","yes","on","1_000","12:30:00","1.2.3","-","0x","2001-01-01"])"));
  EXPECT_EQ(MustParse("a:\nb: x"), json::parse(R"({"a":null,"b":"x"})"));
  EXPECT_EQ(MustParse("a: |\n  1\n"), json::parse(R"({"a":"1\n"})"));
}

TEST(YamlTest, IntegersKeepAllSixtyFourBits) {
  EXPECT_EQ(MustParse("[18446744073709551615, -9223372036854775808]").dump(),
            "[18446744073709551615,-9223372036854775808]");
}

TEST(YamlTest, KeysAreStringsWhateverTheyLookLike) {
  EXPECT_EQ(MustParse("{1: a, true: b, \"x y\": c}"),
            json::parse(R"({"1":"a","true":"b","x y":"c"})"));
}

TEST(YamlTest, CoreTagsAreObeyedAndOthersRefused) {
  EXPECT_EQ(MustParse("[!!str 1, !!int 3, !!float 2]"), json::parse(R"(["1",3,2])"));
  EXPECT_THAT(ErrorOf("a: !!int x"), StartsWith("t.yaml:1:4: \"x\" is not a valid !!int"));
  EXPECT_THAT(ErrorOf("a: !mine x"), StartsWith("t.yaml:1:4: the tag !mine"));
  EXPECT_THAT(ErrorOf("a: !mine {b: c}"), StartsWith("t.yaml:1:4: the tag !mine"));
}

TEST(YamlTest, AnchorsAliasesAndMergeKeysWork) {
  const json value = MustParse(
      "base: &b {image: x, cpu: 1}\n"
      "one:\n  cpu: 2\n  <<: *b\n"
      "two:\n  <<: [*b, {cpu: 9, disk: 3}]\n"
      "three: *b\n"
      "name: &n foo\n"
      "*n : bar\n");
  EXPECT_EQ(value["one"], json::parse(R"({"image":"x","cpu":2})"));
  EXPECT_EQ(value["two"], json::parse(R"({"image":"x","cpu":1,"disk":3})"));
  EXPECT_EQ(value["three"], value["base"]);
  EXPECT_EQ(value["foo"], "bar");
  EXPECT_EQ(MustParse("\"<<\": 1"), json::parse(R"({"<<":1})"));
}

TEST(YamlTest, AMergeKeyTakesMappingsOnly) {
  EXPECT_THAT(ErrorOf("a: 1\n<<: null\n"), StartsWith("t.yaml:2:5: the merge key <<"));
  EXPECT_THAT(ErrorOf("a: 1\n<<:\nb: 2\n"), HasSubstr("the merge key <<"));
  EXPECT_THAT(ErrorOf("base: &b ~\nc: {<<: *b}\n"), HasSubstr("the merge key <<"));
  EXPECT_THAT(ErrorOf("<<: [{a: 1}, null]\n"), HasSubstr("the merge key <<"));
  EXPECT_THAT(ErrorOf("<<: x\n"), StartsWith("t.yaml:1:5: the merge key <<"));
  EXPECT_EQ(MustParse("<<: []\na: 1\n"), json::parse(R"({"a":1})"));
}

TEST(YamlTest, DocumentsComeInOrderWithTheirLines) {
  auto documents = ParseYamlDocuments("# head\n---\na: 1\n---\n---\n# nothing\n---\nb: 2\n", "t");
  ASSERT_TRUE(documents.ok()) << documents.status();
  ASSERT_EQ(documents->size(), 2u);
  EXPECT_EQ((*documents)[0].value, json::parse(R"({"a":1})"));
  EXPECT_EQ((*documents)[1].value, json::parse(R"({"b":2})"));
  EXPECT_LT((*documents)[0].line, (*documents)[1].line);
}

TEST(YamlTest, ParseYamlWantsExactlyOneDocument) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("nothing in it"));
  EXPECT_THAT(ErrorOf("# only a comment\n"), HasSubstr("nothing in it"));
  EXPECT_THAT(ErrorOf("a: 1\n---\nb: 2\n"), HasSubstr("a second document"));
}

TEST(YamlTest, JsonTextIsReadWithItsOwnEscapes) {
  EXPECT_EQ(MustParse(R"({"a":"\ud83d\ude00\/","b":[1,2.5,{}]})"),
            json::parse(R"({"a":"\ud83d\ude00\/","b":[1,2.5,{}]})"));
  EXPECT_EQ(MustParse("{a: b}"), json::parse(R"({"a":"b"})"));
  EXPECT_THAT(ErrorOf(R"({"a":1,"a":2})"), HasSubstr("\"a\" is there twice"));
}

TEST(YamlTest, ErrorsCarryLineAndColumn) {
  EXPECT_THAT(ErrorOf("a: 1\nb: [1, 2\n"), StartsWith("t.yaml:"));
  EXPECT_THAT(ErrorOf("a: 1\nb:\n  c: 1\n  c: 2\n"), StartsWith("t.yaml:4:3: the key \"c\""));
  EXPECT_THAT(ErrorOf("a: 1\nb: .inf\n"), StartsWith("t.yaml:2:4: .inf"));
  EXPECT_THAT(ErrorOf("a: 1e999\n"), StartsWith("t.yaml:1:4: the number 1e999"));
  EXPECT_THAT(ErrorOf("a: {[x]: 1}\n"), StartsWith("t.yaml:1:5: a mapping key"));
  EXPECT_THAT(ErrorOf("? \n: 1\n"), HasSubstr("a mapping key"));
  EXPECT_THAT(ErrorOf("a: *nobody\n"), StartsWith("t.yaml:1:"));
  EXPECT_THAT(ErrorOf("a: &a [*a]\n"), StartsWith("t.yaml:1:8: an alias stands inside"));
  EXPECT_THAT(ErrorOf("a: b\n\tc: d\n"), StartsWith("t.yaml:2:"));
}

TEST(YamlTest, ATextNoValueCanBeginWithEndsInAnErrorAndNotInALoop) {
  EXPECT_THAT(ErrorOf(",a: b"), StartsWith("t.yaml:1:1: no YAML value"));
  EXPECT_THAT(ErrorOf("a: 1\n--- ]"), StartsWith("t.yaml:2:"));
}

TEST(YamlTest, TextThatIsNoPrintableUtf8IsRefusedAndNeverCutShort) {
  EXPECT_THAT(ErrorOf(std::string("a: 1\nb: \x04\nc: 2\n")), StartsWith("t.yaml:2:4:"));
  EXPECT_THAT(ErrorOf(std::string("a: \xff\n")), StartsWith("t.yaml:1:4:"));
  EXPECT_THAT(ErrorOf(std::string("a: \xed\xa0\x80\n")), StartsWith("t.yaml:1:4:"));
  EXPECT_THAT(ErrorOf(std::string("a\0b", 3)), StartsWith("t.yaml:1:2:"));
}

TEST(YamlTest, LimitsHoldAgainstDeepLargeAndExplodingTexts) {
  YamlLimits limits;
  limits.max_bytes = 100'000;
  limits.max_depth = 10;
  limits.max_values = 1000;
  EXPECT_THAT(ErrorOf(std::string(11, '['), limits), HasSubstr("deeper than 10"));
  EXPECT_THAT(ErrorOf(std::string(11, '[') + std::string(11, ']'), limits),
              HasSubstr("deeper than 10"));
  EXPECT_THAT(ErrorOf(std::string(90'000, '['), limits), HasSubstr("deeper than 10"));
  EXPECT_THAT(ErrorOf(std::string(100'001, ' '), limits), HasSubstr("limit of 100000"));
  std::string many = "a: [0";
  for (int i = 0; i < 1000; ++i) many += ", 0";
  EXPECT_THAT(ErrorOf(many + "]", limits), HasSubstr("more than 1000 values"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 8; ++i) {
    bomb += StrCat("a", i, ": &a", i, " [*a", i - 1, ", *a", i - 1, ", *a", i - 1, ", *a", i - 1,
                   ", *a", i - 1, "]\n");
  }
  EXPECT_THAT(ErrorOf(bomb, limits), HasSubstr("more than 1000 values"));
  std::string deep = "a0: &a0 [x]\n";
  for (int i = 1; i < 12; ++i) deep += StrCat("a", i, ": &a", i, " [*a", i - 1, "]\n");
  EXPECT_THAT(ErrorOf(deep, limits), HasSubstr("deeper than 10"));
}

TEST(YamlTest, EmittedTextReadsLikeWhatAPersonWrites) {
  const json pod = json::parse(R"({"apiVersion":"v1","metadata":{"name":"a","labels":{}},
      "spec":{"containers":[{"name":"c","args":["--x=1","true","012"],"command":[]}],
      "script":"line 1\n  line 2\n"}})");
  EXPECT_EQ(EmitYaml(pod),
            "apiVersion: v1\n"
            "metadata:\n"
            "  labels: {}\n"
            "  name: a\n"
            "spec:\n"
            "  containers:\n"
            "  - args:\n"
            "    - \"--x=1\"\n"
            "    - \"true\"\n"
            "    - \"012\"\n"
            "    command: []\n"
            "    name: c\n"
            "  script: |\n"
            "    line 1\n"
            "      line 2\n");
}

// A value of random shape out of pieces that trouble YAML writers.
json RandomValue(Random& random, int depth) {
  static const std::vector<std::string> kTexts = {
      "",
      " ",
      "a",
      "true",
      "No",
      "0x1f",
      "1e3",
      "~",
      "- a",
      "a: b",
      "a #b",
      "#",
      "\n",
      "a\nb",
      "a\nb\n",
      "a\n\n",
      " a\nb",
      "a\n b\n",
      "a\n\n\nb",
      "a\n  \nb",
      "\ta\nb",
      "a\n\tb",
      "x\ty",
      "\x01\x1b",
      "\xc2\x85",
      "\xe2\x80\xa8",
      "\xef\xbb\xbf",
      "\xf0\x9f\x98\x80",
      "caf\xc3\xa9\nbar\n",
      "'",
      "\"",
      "\\n",
      "a:",
      "a ",
      "---",
      "...",
      "<<",
      "*a",
      "&a",
      "!x",
      "@x",
      "%x",
      "a\r\nb",
      "{a}",
      "[a]",
      "a, b",
      "12:30",
      ".5",
      "/var/x",
      "=",
      "?",
      "? a",
      "a\n---\nb\n",
      "|",
      ">",
      "a\x7f",
      "line one\n# not a comment\n",
      "null\n",
      "a\n\n",
      std::string(700, 'k'),
      std::string(200, 'x') + "\n" + std::string(90, 'y')};
  const std::uint64_t kind = random.Below(depth > 0 ? 9 : 6);
  switch (kind) {
    case 0:
      return nullptr;
    case 1:
      return random.Below(2) == 0;
    case 2:
      return static_cast<std::int64_t>(random.Next());
    case 3:
      return random.Unit() * 1e-5 * static_cast<double>(random.Next());
    case 4:
    case 5:
      return kTexts[random.Below(kTexts.size())];
    case 6: {
      json array = json::array();
      for (std::uint64_t n = random.Below(4); n > 0; --n) {
        array.push_back(RandomValue(random, depth - 1));
      }
      return array;
    }
    default: {
      json object = json::object();
      for (std::uint64_t n = random.Below(4); n > 0; --n) {
        object[kTexts[random.Below(kTexts.size())]] = RandomValue(random, depth - 1);
      }
      return object;
    }
  }
}

TEST(YamlTest, WhatIsEmittedReadsBackTheSame) {
  Random random(7);
  for (int i = 0; i < 3000; ++i) {
    const json value = RandomValue(random, 4);
    const std::string text = EmitYaml(value);
    auto documents = ParseYamlDocuments(text, "t.yaml");
    ASSERT_TRUE(documents.ok()) << documents.status() << "\n" << text;
    if (value.is_null()) continue;
    ASSERT_EQ(documents->size(), 1u) << text;
    ASSERT_EQ((*documents)[0].value, value) << text << "\n" << value.dump();
    ASSERT_EQ((*documents)[0].value.dump(), value.dump());
  }
}

TEST(YamlTest, RandomBytesAreReadOrRefusedButNeverCrash) {
  static const std::string kAlphabet = "ab01 \n\t:-?[]{},&*!|>'\"%@`#~<.\\x\xc3\xa9";
  Random random(11);
  YamlLimits limits;
  limits.max_depth = 20;
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text;
    for (std::uint64_t n = random.Below(40); n > 0; --n) {
      text.push_back(kAlphabet[random.Below(kAlphabet.size())]);
    }
    if (ParseYamlDocuments(text, "t", limits).ok()) ++read;
  }
  EXPECT_GT(read, 100);
}

}  // namespace
}  // namespace yardmaster::config
