// Small text helpers over std::string_view. (Debian's absl is built with its own string_view, so
// absl::StrCat does not take the standard one.) Thread safety: pure functions.
#pragma once

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace yardmaster {

namespace internal {
inline void AppendPiece(std::string& out, std::string_view piece) { out.append(piece); }
template <typename Number, std::enable_if_t<std::is_integral_v<Number>, int> = 0>
void AppendPiece(std::string& out, Number number) {
  char buffer[24];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}
// The shortest form that reads back to the same double.
inline void AppendPiece(std::string& out, double number) {
  char buffer[32];
  out.append(buffer, std::to_chars(buffer, buffer + sizeof buffer, number).ptr);
}
}  // namespace internal

// Concatenates strings and numbers.
template <typename... Pieces>
std::string StrCat(const Pieces&... pieces) {
  std::string out;
  (internal::AppendPiece(out, pieces), ...);
  return out;
}

// "a, b, c".
std::string Join(const std::vector<std::string>& parts, std::string_view separator);
// Splits at every `separator`; "" gives one empty part.
std::vector<std::string> Split(std::string_view text, char separator);
// The whole of `text` as a decimal number in T's range, or nothing.
template <typename T>
std::optional<T> ParseNumber(std::string_view text) {
  T value{};
  const char* end = text.data() + text.size();
  auto [at, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || at != end || text.empty()) return std::nullopt;
  return value;
}
// The longest beginning of `text` of at most `max_bytes` bytes that ends between two UTF-8
// characters. Of a text that is not UTF-8 it may be the first `max_bytes` bytes. Points into
// `text`.
std::string_view CutAtCharacter(std::string_view text, std::size_t max_bytes);
// "1 host", "2 hosts".
std::string Count(std::int64_t n, std::string_view noun);

}  // namespace yardmaster
