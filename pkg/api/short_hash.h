// A short hash for names that are built from longer texts. FNV-1a, because the name must be the
// same in every process and version. Not for anything an attacker may choose collisions of.
// Thread safety: pure function.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace yardmaster::api {

// Ten hexadecimal digits.
inline std::string ShortHash(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3;
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (int i = 0; i < 10; ++i, hash >>= 4) out += kDigits[hash & 15];
  return out;
}

}  // namespace yardmaster::api
