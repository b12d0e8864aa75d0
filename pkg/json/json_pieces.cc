#include "pkg/json/json_pieces.h"

#include <algorithm>
#include <cstddef>

namespace yardmaster {

namespace {

class PieceScanner {
 public:
  explicit PieceScanner(std::string_view text) : rest_(text) {}

  // Takes `c`, and the white space before it.
  bool Take(char c) {
    SkipSpace();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  bool AtEnd() {
    SkipSpace();
    return rest_.empty();
  }
  // The string, list, object or word that comes next; empty: there is none, or it does not end.
  std::string_view TakeValue() {
    SkipSpace();
    const std::size_t size = SizeOfValue();
    const std::string_view value = rest_.substr(0, size);
    rest_.remove_prefix(size);
    return value;
  }

 private:
  static constexpr std::string_view kSpace = " \t\r\n";

  void SkipSpace() {
    const std::size_t begin = rest_.find_first_not_of(kSpace);
    rest_.remove_prefix(begin == rest_.npos ? rest_.size() : begin);
  }

  // Behind the quote that ends the string which begins at `at`; npos: it does not end.
  std::size_t EndOfString(std::size_t at) const {
    for (std::size_t end = at + 1;; ++end) {
      end = rest_.find('"', end);
      if (end == rest_.npos) return end;
      std::size_t escapes = end;
      while (rest_[escapes - 1] == '\\') --escapes;
      if ((end - escapes) % 2 == 0) return end + 1;
    }
  }

  std::size_t SizeOfValue() const {
    if (!rest_.empty() && rest_.front() != '{' && rest_.front() != '[') {
      if (rest_.front() != '"') return std::min(rest_.find_first_of(" \t\r\n,]}"), rest_.size());
      const std::size_t end = EndOfString(0);
      return end == rest_.npos ? 0 : end;
    }
    std::size_t open = 0;
    for (std::size_t at = rest_.find_first_of("\"{}[]"); at != rest_.npos;
         at = rest_.find_first_of("\"{}[]", at)) {
      if (rest_[at] == '"') {
        at = EndOfString(at);
        if (at == rest_.npos) return 0;
        continue;
      }
      if (rest_[at] == '{' || rest_[at] == '[') {
        ++open;
      } else if (--open == 0) {
        return at + 1;
      }
      ++at;
    }
    return 0;
  }

  std::string_view rest_;
};

}  // namespace

bool ForEachMemberText(std::string_view object,
                       absl::FunctionRef<void(std::string_view, std::string_view)> call) {
  PieceScanner in(object);
  if (!in.Take('{')) return false;
  if (in.Take('}')) return in.AtEnd();
  do {
    const std::string_view key = in.TakeValue();
    if (key.size() < 2 || key.front() != '"' || !in.Take(':')) return false;
    const std::string_view value = in.TakeValue();
    if (value.empty()) return false;
    call(key.substr(1, key.size() - 2), value);
  } while (in.Take(','));
  return in.Take('}') && in.AtEnd();
}

bool ForEachElementText(std::string_view list, absl::FunctionRef<void(std::string_view)> call) {
  PieceScanner in(list);
  if (!in.Take('[')) return false;
  if (in.Take(']')) return in.AtEnd();
  do {
    const std::string_view value = in.TakeValue();
    if (value.empty()) return false;
    call(value);
  } while (in.Take(','));
  return in.Take(']') && in.AtEnd();
}

}  // namespace yardmaster
