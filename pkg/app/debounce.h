// When to act on changes that keep coming: after `min_ms` of quiet, or `max_ms` after the first
// change that was not acted on, whichever is earlier. Pure arithmetic on times that the caller
// reads. Thread safety: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

namespace yardmaster::app {

class Debounce {
 public:
  Debounce(std::int64_t min_ms, std::int64_t max_ms) : min_ms_(min_ms), max_ms_(max_ms) {}

  void Changed(std::int64_t now_ms) {
    if (!pending_) first_ms_ = now_ms;
    pending_ = true;
    last_ms_ = now_ms;
  }
  // How long to wait before acting; 0: act now; nothing: there is nothing to act on.
  std::optional<std::int64_t> Delay(std::int64_t now_ms) const {
    if (!pending_) return std::nullopt;
    const std::int64_t due = std::min(last_ms_ + min_ms_, first_ms_ + max_ms_);
    return std::max<std::int64_t>(0, due - now_ms);
  }
  void Acted() { pending_ = false; }

 private:
  std::int64_t min_ms_;
  std::int64_t max_ms_;
  bool pending_ = false;
  std::int64_t first_ms_ = 0;
  std::int64_t last_ms_ = 0;
};

}  // namespace yardmaster::app
