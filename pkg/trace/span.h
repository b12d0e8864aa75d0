// One span of a trace, as OpenTelemetry has them: a step of a job with its beginning and its end.
//
// The ids of a job's spans are functions of the job and the step. So processes add to one trace
// without a word to each other, and a span that the next leader sends again is the same span.
//
// Thread safety: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace yardmaster::trace {

using AttributeValue = std::variant<std::string, std::int64_t>;

struct Span {
  std::string trace_id;         // 32 hexadecimal digits
  std::uint64_t id = 0;         // not 0
  std::uint64_t parent_id = 0;  // 0: none
  std::string name;
  std::int64_t start_ms = 0;  // wall time
  std::int64_t end_ms = 0;    // not before start_ms
  std::vector<std::pair<std::string, AttributeValue>> attributes;
  bool failed = false;
  bool operator==(const Span&) const = default;
};

// 16 hexadecimal digits.
std::string HexOf(std::uint64_t value);

// The uid without its dashes, so that a job's trace is found by its uid. Of a text that is no UUID:
// a hash of it.
std::string TraceIdOf(std::string_view uid);

// Of the step `name` of the object with that uid. `key` distinguishes steps of one name.
std::uint64_t SpanIdOf(std::string_view uid, std::string_view name, std::int64_t key);

}  // namespace yardmaster::trace
