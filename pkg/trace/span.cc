#include "pkg/trace/span.h"

#include <cctype>
#include <cstddef>

#include "pkg/base/random.h"

namespace yardmaster::trace {

namespace {

constexpr std::size_t kTraceDigits = 32;

std::uint64_t NotZero(std::uint64_t id) { return id == 0 ? 1 : id; }

}  // namespace

std::string HexOf(std::uint64_t value) {
  std::string out(16, '0');
  for (std::size_t i = 16; i-- > 0; value >>= 4) out[i] = "0123456789abcdef"[value & 15];
  return out;
}

std::string TraceIdOf(std::string_view uid) {
  std::string digits;
  bool is_uuid = uid.size() == 36;
  for (const char c : uid) {
    if (c == '-') continue;
    const auto byte = static_cast<unsigned char>(c);
    is_uuid = is_uuid && std::isxdigit(byte) != 0;
    digits.push_back(static_cast<char>(std::tolower(byte)));
  }
  const bool usable = is_uuid && digits.size() == kTraceDigits &&
                      digits.find_first_not_of('0') != std::string::npos;
  if (usable) return digits;
  return HexOf(Random(SeedOf(0, uid)).Next()) + HexOf(NotZero(Random(SeedOf(1, uid)).Next()));
}

std::uint64_t SpanIdOf(std::string_view uid, std::string_view name, std::int64_t key) {
  const std::uint64_t seed = SeedOf(SeedOf(static_cast<std::uint64_t>(key), uid), name);
  return NotZero(Random(seed).Next());
}

}  // namespace yardmaster::trace
