#include "pkg/base/base64.h"

#include <array>
#include <cstddef>
#include <cstdint>

#include "pkg/base/strings.h"

namespace yardmaster {
namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int16_t, 256> MakeReverse() {
  std::array<std::int16_t, 256> reverse{};
  for (auto& entry : reverse) entry = -1;
  for (std::size_t i = 0; i < kAlphabet.size(); ++i) {
    reverse[static_cast<unsigned char>(kAlphabet[i])] = static_cast<std::int16_t>(i);
  }
  return reverse;
}

constexpr std::array<std::int16_t, 256> kReverse = MakeReverse();

bool IsSpace(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

std::string Base64Encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::string_view group = bytes.substr(at, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < group.size() ? static_cast<unsigned char>(group[i]) : 0U);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      const bool padding = i > group.size();
      out.push_back(padding ? '=' : kAlphabet[bits >> (18 - 6 * i) & 63]);
    }
  }
  return out;
}

absl::StatusOr<std::string> Base64Decode(std::string_view text) {
  std::string out;
  out.reserve(text.size() / 4 * 3);
  std::uint32_t bits = 0;
  std::size_t digits = 0;
  std::size_t padding = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (IsSpace(c)) continue;
    const int value = kReverse[static_cast<unsigned char>(c)];
    const bool pad = c == '=' && digits % 4 >= 2;
    if ((value < 0 && !pad) || (value >= 0 && padding > 0)) {
      return absl::InvalidArgumentError(StrCat("not base64: unexpected character at offset ", at));
    }
    bits = bits << 6 | static_cast<std::uint32_t>(pad ? 0 : value);
    padding += pad ? 1 : 0;
    if (++digits % 4 == 0) {
      for (std::size_t i = 0; i < 3 - padding; ++i) {
        out.push_back(static_cast<char>(bits >> (16 - 8 * i) & 255));
      }
      bits = 0;
    }
  }
  if (digits % 4 != 0) {
    return absl::InvalidArgumentError("not base64: the text ends in the middle of a group");
  }
  return out;
}

}  // namespace yardmaster
