// Request framing on arbitrary bytes. Besides not crashing: the same bytes give the same requests
// however they are cut, no limit is passed, and what is accepted is framed in exactly one way.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "pkg/http/request_reader.h"

namespace yardmaster::http {
namespace {

void Require(bool condition, const char* what) {
  if (condition) return;
  std::cerr << "broken promise: " << what << "\n";
  std::abort();
}

const Limits& SmallLimits() {
  static const Limits limits = [] {
    Limits small;
    small.header_bytes = 256;
    small.body_bytes = 300;
    return small;
  }();
  return limits;
}

void CheckAccepted(const Request& request) {
  Require(!request.target.empty() && request.target[0] == '/', "a target is a path");
  Require(request.body.size() <= SmallLimits().body_bytes, "bodies are bounded");
  const auto count = [&](std::string_view name) {
    const auto& fields = request.headers.fields();
    return std::count_if(fields.begin(), fields.end(),
                         [&](const auto& field) { return EqualsIgnoreCase(field.first, name); });
  };
  Require(count("Host") <= 1, "one Host");
  Require(count("Content-Length") + count("Transfer-Encoding") <= 1, "one way to frame a body");
}

// The requests in `bytes`, cut into pieces of `piece` bytes, until the end or a refusal.
std::string Requests(std::string_view bytes, std::size_t piece) {
  std::string out;
  auto reader = std::make_unique<RequestReader>(SmallLimits());
  std::string held;
  while (!bytes.empty()) {
    held += bytes.substr(0, piece);
    bytes.remove_prefix(std::min(piece, bytes.size()));
    for (;;) {
      held.erase(0, reader->Feed(held));
      if (reader->state() == RequestReader::State::kFailed) {
        Require(reader->error().status >= 400, "a refusal has a status");
        return out;
      }
      if (reader->state() != RequestReader::State::kComplete) break;
      const Request request = reader->Take();
      CheckAccepted(request);
      out += request.method + " " + request.target + " " + request.body + "\n";
      for (const auto& [name, value] : request.headers.fields()) out += name + ":" + value + "\n";
      reader = std::make_unique<RequestReader>(SmallLimits());
    }
    Require(held.size() < SmallLimits().header_bytes, "what is held is bounded");
  }
  return out;
}

}  // namespace
}  // namespace yardmaster::http

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using yardmaster::http::Requests;
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string whole = Requests(bytes, bytes.size());
  yardmaster::http::Require(Requests(bytes, 1) == whole,
                            "cut into single bytes, the same requests");
  yardmaster::http::Require(Requests(bytes, 1 + data[0] % 64) == whole,
                            "cut into pieces, the same requests");
  return 0;
}
