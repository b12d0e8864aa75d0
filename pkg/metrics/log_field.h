// The fields of a log line: a key and a value each. Thread safety: values.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>

namespace yardmaster::metrics {

// A value, without a copy of its text: the text must outlive the call that the value is passed to.
class LogValue {
 public:
  using Any = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool>;

  LogValue(std::string_view text) : value_(text) {}
  LogValue(const char* text) : value_(std::string_view(text)) {}
  LogValue(const std::string& text) : value_(std::string_view(text)) {}
  LogValue(bool yes) : value_(yes) {}
  LogValue(double number) : value_(number) {}
  template <typename Int,
            std::enable_if_t<std::is_integral_v<Int> && !std::is_same_v<Int, bool>, int> = 0>
  LogValue(Int number)
      : value_(static_cast<std::conditional_t<std::is_signed_v<Int>, std::int64_t, std::uint64_t>>(
            number)) {}

  const Any& value() const { return value_; }

 private:
  Any value_;
};

struct LogField {
  std::string_view key;
  LogValue value;
};
using LogFields = std::initializer_list<LogField>;

}  // namespace yardmaster::metrics
