#include "pkg/kube/wire_form.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"
#include "pkg/base/testing/heap_meter.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// Adds the names of the objects in a page to `names`.
absl::StatusOr<PageEnd> Read(std::string_view body, std::vector<std::string>& names) {
  return ReadPageBody(body, "GET /x", [&](JsonView object) { names.push_back(NameOf(object)); });
}

TEST(WireFormTest, APageIsReadWhateverTheOrderOfItsFields) {
  std::vector<std::string> names;
  const auto end = Read(R"({"items":[{"metadata":{"name":"a"}}, 5 ,{"metadata":{"name":"b"}}],)"
                        R"("metadata":{"continue":"t","resourceVersion":"7"},"kind":"PodList"})",
                        names);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_EQ(end->resource_version, "7");
  EXPECT_EQ(end->continue_token, "t");
  EXPECT_THAT(names, ElementsAre("a", "b"));
}

TEST(WireFormTest, AnAnswerWithoutAListIsAnErrorBeforeAnyObject) {
  for (const char* body :
       {"", "[]", "{", R"({"items":5})", R"({"items":null})", R"({"kind":"Pod"})",
        R"({"metadata":{"a":},"items":[{}]})", R"({"items":[{"metadata":{"name":"a"}}])"}) {
    std::vector<std::string> names;
    const auto end = Read(body, names);
    EXPECT_TRUE(absl::IsDataLoss(end.status())) << body;
    EXPECT_THAT(std::string(end.status().message()), StartsWith("GET /x: "));
    EXPECT_THAT(names, IsEmpty()) << body;
  }
}

TEST(WireFormTest, AnItemThatIsNoJsonIsAnError) {
  std::vector<std::string> names;
  const auto end = Read(R"({"items":[{"metadata":{"name":"a"}},{"b":nul}]})", names);
  EXPECT_TRUE(absl::IsDataLoss(end.status())) << end.status();
}

// One object with such a number is enough to meet this in a list of everybody's.
TEST(WireFormTest, OneStrangeObjectCostsTheOthersNothing) {
  const std::string deep = std::string(5'000, '[') + std::string(5'000, ']');
  std::vector<std::string> names;
  const auto end = Read(StrCat(R"({"items":[{"metadata":{"name":"a"},"spec":)", deep,
                               R"(},{"metadata":{"name":"b"},"spec":100000000000000000000}]})"),
                        names);
  ASSERT_TRUE(end.ok()) << end.status();
  EXPECT_THAT(names, ElementsAre("a", "b"));
}

TEST(WireFormTest, WhatAPageTakesFollowsFromItsLargestObject) {
  json labels;
  for (int i = 0; i < 1'000; ++i) labels[StrCat("l", i)] = "";
  const std::string pod = json{{"metadata", {{"name", "p"}, {"labels", labels}}}}.dump();
  std::string body = R"({"items":[)" + pod;
  for (int i = 0; i < 999; ++i) body += "," + pod;
  body += "]}";
  ASSERT_GT(body.size(), 8u << 20);
  const HeapMeter heap;
  ASSERT_TRUE(ReadPageBody(body, "", [](JsonView) {}).ok());
  EXPECT_LE(heap.peak(), 1 << 20);
}

TEST(WireFormTest, ADocumentIsAsDeepAsItCanBeCopiedSafely) {
  const auto body = ParseBody(StrCat(R"({"metadata":{"name":"a"},"x":)", std::string(9'000, '['),
                                     std::string(9'000, ']'), "}"),
                              "GET /x");
  ASSERT_TRUE(body.ok()) << body.status();
  EXPECT_EQ(NameOf(*body), "a");
  EXPECT_LE((*body)["x"].dump().size(), 2u * JsonView::kMaxCopiedLevels + 4);
}

TEST(WireFormTest, WhatADocumentTakesIsBoundedByItsText) {
  for (const char* piece : {",{}", ",[]", ",\"\"", ",0", ",{\"a\":{}}", ",null"}) {
    std::string body = R"({"metadata":{"name":"a"},"x":[0)";
    while (body.size() < (1u << 20)) body += piece;
    body += "]}";
    const HeapMeter heap;
    ASSERT_TRUE(ParseBody(body, "GET /x").ok());
    EXPECT_LE(heap.peak(), static_cast<std::int64_t>(64 * body.size())) << piece;
  }
}

}  // namespace
}  // namespace yardmaster::kube
