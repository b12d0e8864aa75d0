#include "pkg/trace/otlp.h"

#include <algorithm>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::trace {

namespace {

using nlohmann::json;

constexpr int kInternalKind = 1;  // SPAN_KIND_INTERNAL
constexpr int kErrorCode = 2;     // STATUS_CODE_ERROR

std::string NanosOf(std::int64_t ms) { return ms <= 0 ? std::string("0") : StrCat(ms, "000000"); }

json AttributeOf(const std::string& key, const AttributeValue& value) {
  const auto* text = std::get_if<std::string>(&value);
  return {{"key", key},
          {"value", text != nullptr ? json{{"stringValue", *text}}
                                    : json{{"intValue", StrCat(std::get<std::int64_t>(value))}}}};
}

json SpanOf(const Span& span) {
  json attributes = json::array();
  for (const auto& [key, value] : span.attributes) attributes.push_back(AttributeOf(key, value));
  json out = {{"traceId", span.trace_id},
              {"spanId", HexOf(span.id)},
              {"name", span.name},
              {"kind", kInternalKind},
              {"startTimeUnixNano", NanosOf(span.start_ms)},
              {"endTimeUnixNano", NanosOf(span.end_ms)},
              {"attributes", std::move(attributes)}};
  if (span.parent_id != 0) out["parentSpanId"] = HexOf(span.parent_id);
  if (span.failed) out["status"] = {{"code", kErrorCode}};
  return out;
}

}  // namespace

std::string EncodeSpans(const SpanSource& source, std::span<const Span> spans) {
  json encoded = json::array();
  for (const Span& span : spans) encoded.push_back(SpanOf(span));
  const json resource = {
      {"attributes", json::array({AttributeOf("service.name", source.service),
                                  AttributeOf("service.version", source.version),
                                  AttributeOf("service.instance.id", source.instance)})}};
  const json scope = {{"scope", {{"name", "yardmaster"}, {"version", source.version}}},
                      {"spans", std::move(encoded)}};
  const json body = {{"resourceSpans", json::array({{{"resource", resource},
                                                     {"scopeSpans", json::array({scope})}}})}};
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::int64_t RejectedSpans(std::string_view body, std::int64_t sent) {
  const json answer = json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (!answer.is_object()) return 0;
  const auto partial = answer.find("partialSuccess");
  if (partial == answer.end() || !partial->is_object()) return 0;
  const auto rejected = partial->find("rejectedSpans");
  if (rejected == partial->end()) return 0;
  std::int64_t count = 0;
  if (rejected->is_string()) {
    count = ParseNumber<std::int64_t>(rejected->get_ref<const std::string&>()).value_or(0);
  } else if (rejected->is_number_integer()) {
    count = rejected->get<std::int64_t>();
  }
  return std::clamp<std::int64_t>(count, 0, sent);
}

}  // namespace yardmaster::trace
