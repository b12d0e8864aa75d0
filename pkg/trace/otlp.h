// Spans as the body of an OTLP request, in its JSON form, and the answer to it.
// https://opentelemetry.io/docs/specs/otlp/: ids are hexadecimal, 64-bit numbers are strings,
// enumerations are numbers.
//
// Thread safety: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "pkg/trace/span.h"

namespace yardmaster::trace {

// The process that the spans are from.
struct SpanSource {
  std::string service;  // "yardmaster-operator"
  std::string version;
  std::string instance;  // unique among the replicas
};

// An ExportTraceServiceRequest. Text that is not UTF-8 has replacement characters.
std::string EncodeSpans(const SpanSource& source, std::span<const Span> spans);

// How many of `sent` spans an answer with code 200 rejects: from 0 to `sent`. 0 for a body that
// cannot be read.
std::int64_t RejectedSpans(std::string_view body, std::int64_t sent);

}  // namespace yardmaster::trace
