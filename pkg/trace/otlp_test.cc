#include "pkg/trace/otlp.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::trace {
namespace {

using nlohmann::json;

TEST(OtlpTest, SpansAreARequestInTheJsonFormOfTheProtocol) {
  Span span;
  span.trace_id = "0f8fad5bd9cb469fa16570867728950e";
  span.id = 0xAB;
  span.parent_id = 0xFFFFFFFFFFFFFFFF;
  span.name = "queued";
  span.start_ms = 1'700'000'000'123;
  span.end_ms = 1'700'000'001'000;
  span.attributes = {{"yardmaster.job.name", std::string("a")}, {"yardmaster.workers", 12}};
  const json body =
      json::parse(EncodeSpans({"yardmaster-operator", "0.1.0", "node_7"}, {&span, 1}));
  const json expected = json::parse(R"({"resourceSpans": [{
    "resource": {"attributes": [
      {"key": "service.name", "value": {"stringValue": "yardmaster-operator"}},
      {"key": "service.version", "value": {"stringValue": "0.1.0"}},
      {"key": "service.instance.id", "value": {"stringValue": "node_7"}}]},
    "scopeSpans": [{
      "scope": {"name": "yardmaster", "version": "0.1.0"},
      "spans": [{
        "traceId": "0f8fad5bd9cb469fa16570867728950e", "spanId": "00000000000000ab",
        "parentSpanId": "ffffffffffffffff", "name": "queued", "kind": 1,
        "startTimeUnixNano": "1700000000123000000", "endTimeUnixNano": "1700000001000000000",
        "attributes": [
          {"key": "yardmaster.job.name", "value": {"stringValue": "a"}},
          {"key": "yardmaster.workers", "value": {"intValue": "12"}}]}]}]}]})");
  EXPECT_EQ(body, expected);
}

TEST(OtlpTest, ASpanWithoutParentNamesNoneAndAFailureIsAnError) {
  Span span;
  span.failed = true;
  span.attributes = {{"text", std::string("\xFF not UTF-8")}};
  const json body = json::parse(EncodeSpans({}, {&span, 1}));
  const json& sent = body["resourceSpans"][0]["scopeSpans"][0]["spans"][0];
  EXPECT_FALSE(sent.contains("parentSpanId"));
  EXPECT_EQ(sent["status"]["code"], 2);
}

TEST(OtlpTest, WhatAnAnswerRejectsIsBetweenNothingAndAll) {
  EXPECT_EQ(RejectedSpans(R"({"partialSuccess": {"rejectedSpans": "3"}})", 5), 3);
  EXPECT_EQ(RejectedSpans(R"({"partialSuccess": {"rejectedSpans": 3}})", 5), 3);
  EXPECT_EQ(RejectedSpans(R"({"partialSuccess": {"rejectedSpans": "900"}})", 5), 5);
  for (const char* nothing :
       {"", "{", "[]", "{}", "\xFF\xFE", R"({"partialSuccess": null})", R"({"partialSuccess": []})",
        R"({"partialSuccess": {"rejectedSpans": -4}})",
        R"({"partialSuccess": {"rejectedSpans": 1.5}})",
        R"({"partialSuccess": {"rejectedSpans": "many"}})",
        R"({"partialSuccess": {"rejectedSpans": 99999999999999999999}})"}) {
    EXPECT_EQ(RejectedSpans(nothing, 5), 0) << nothing;
  }
}

}  // namespace
}  // namespace yardmaster::trace
