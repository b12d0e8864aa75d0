// What a collector answers to spans: for all bytes, the number of refused ones is one that it may
// be, and of a job's texts as they come any request is JSON.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "nlohmann/json.hpp"

#include "pkg/trace/otlp.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace yardmaster::trace;  // NOLINT: a program of one file
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const std::int64_t rejected = RejectedSpans(text, 7);
  if (rejected < 0 || rejected > 7) std::abort();
  Span span;
  span.trace_id = TraceIdOf(text);
  if (span.trace_id.size() != 32) std::abort();
  span.id = SpanIdOf(text, "start", 1);
  span.attributes = {{"yardmaster.job.name", std::string(text)}};
  const std::string request = EncodeSpans({"yardmaster-operator", "0.1.0", "a"}, {&span, 1});
  if (!nlohmann::json::accept(request)) std::abort();
  return 0;
}
