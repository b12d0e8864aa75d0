#include "pkg/shim/json_cursor.h"

namespace yardmaster::shim {

bool JsonCursor::Fail() {
  ok_ = false;
  at_ = end_;
  return false;
}

char JsonCursor::Peek() {
  while (at_ != end_ && (*at_ == ' ' || *at_ == '\t' || *at_ == '\n' || *at_ == '\r')) ++at_;
  return at_ == end_ ? '\0' : *at_;
}

bool JsonCursor::AtEnd() {
  Peek();
  return ok_ && at_ == end_;
}

bool JsonCursor::Take(char expected) {
  if (!ok_ || Peek() != expected || at_ == end_) return Fail();
  ++at_;
  return true;
}

bool JsonCursor::EnterObject() { return first_ = Take('{'); }
bool JsonCursor::EnterArray() { return first_ = Take('['); }

bool JsonCursor::More(char closing) {
  if (!ok_) return false;
  const bool first = first_;
  first_ = false;
  if (Peek() == closing && at_ != end_) {
    ++at_;
    return false;
  }
  return first || Take(',');
}

bool JsonCursor::NextKey(char* key, std::size_t capacity) {
  return More('}') && String(key, capacity) && Take(':');
}

bool JsonCursor::NextElement() { return More(']'); }

bool JsonCursor::String(char* out, std::size_t capacity) {
  if (!Take('"')) return false;
  std::size_t size = 0;
  while (at_ != end_ && *at_ != '"') {
    char c = *at_++;
    if (static_cast<unsigned char>(c) < 0x20) return Fail();
    if (c == '\\') {
      if (at_ == end_) return Fail();
      c = *at_++;
      if (c == 'u') {
        for (int i = 0; i < 4; ++i) {
          if (at_ == end_) return Fail();
          ++at_;
        }
        c = '?';
      } else if (c != '"' && c != '\\' && c != '/') {
        c = ' ';  // \n, \t and their like: no name that we compare with has one
      }
    }
    if (size + 1 < capacity) out[size++] = c;
  }
  if (capacity > 0) out[size] = '\0';
  return Take('"');
}

bool JsonCursor::Integer(std::int64_t* out) {
  if (!ok_) return false;
  const bool negative = Peek() == '-';
  if (negative) ++at_;
  if (at_ == end_ || *at_ < '0' || *at_ > '9') return Fail();
  std::int64_t value = 0;
  for (; at_ != end_ && *at_ >= '0' && *at_ <= '9'; ++at_) {
    if (value > (INT64_MAX - 9) / 10) return Fail();
    value = value * 10 + (*at_ - '0');
  }
  if (at_ != end_ && (*at_ == '.' || *at_ == 'e' || *at_ == 'E')) return Fail();
  *out = negative ? -value : value;
  return true;
}

bool JsonCursor::Word(const char* word) {
  for (; *word != '\0'; ++word) {
    if (at_ == end_ || *at_ != *word) return Fail();
    ++at_;
  }
  return true;
}

bool JsonCursor::SkipScalar() {
  switch (Peek()) {
    case '"':
      return String(nullptr, 0);
    case 't':
      return Word("true");
    case 'f':
      return Word("false");
    case 'n':
      return Word("null");
    default:
      break;
  }
  const char* begin = at_;
  while (at_ != end_ && ((*at_ >= '0' && *at_ <= '9') || *at_ == '-' || *at_ == '+' ||
                         *at_ == '.' || *at_ == 'e' || *at_ == 'E')) {
    ++at_;
  }
  return at_ != begin || Fail();
}

bool JsonCursor::Skip() {
  if (!ok_) return false;
  char closing[kMaxDepth];
  int depth = 0;
  do {
    const char c = Peek();
    if (c == '{' || c == '[') {
      if (depth == kMaxDepth) return Fail();
      closing[depth++] = c == '{' ? '}' : ']';
      ++at_;
      first_ = true;
    } else if (!SkipScalar()) {
      return false;
    }
    // Closes what ends here, and stands before the next value.
    while (depth > 0 && !More(closing[depth - 1])) {
      if (!ok_) return false;
      --depth;
    }
    if (depth > 0 && closing[depth - 1] == '}' && (!String(nullptr, 0) || !Take(':'))) {
      return false;
    }
  } while (depth > 0);
  return ok_;
}

}  // namespace yardmaster::shim
