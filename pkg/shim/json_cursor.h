// JsonCursor is a pull parser for JSON that does not allocate, because it runs in the processes of
// other programs.
//
//   JsonCursor in(text, size);
//   char key[32];
//   if (in.EnterObject()) {
//     while (in.NextKey(key, sizeof key)) {
//       if (strcmp(key, "rail") == 0) in.Integer(&rail); else in.Skip();
//     }
//   }
//   if (!in.ok()) ...   // not JSON, or not of the requested kind
//
//   - After the first error every call returns false and reads nothing.
//   - Input may be any bytes: the cursor never reads beyond `size`, does not recurse, and needs
//     linear time.
//   - It does not validate the digits of \u escapes and the form of skipped numbers.
//
// Thread safety: one thread. Lifetimes: the text outlives the cursor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace yardmaster::shim {

class JsonCursor {
 public:
  JsonCursor(const char* text, std::size_t size) : at_(text), end_(text + size) {}

  bool ok() const { return ok_; }
  // Whether only white space is left.
  bool AtEnd();

  bool EnterObject();
  // Reads the name of the next member, truncated to `capacity - 1` characters. Returns false at the
  // end of the object. The caller reads or skips the value before the next call.
  bool NextKey(char* key, std::size_t capacity);
  bool EnterArray();
  // Returns false at the end of the array. The caller reads or skips the element before the next
  // call.
  bool NextElement();

  // Truncates to `capacity - 1` characters. A \u escape becomes '?'; other escapes than \", \\ and
  // \/ become a space.
  bool String(char* out, std::size_t capacity);
  // Reads a number without fraction and exponent. Fails beyond about INT64_MAX in magnitude.
  bool Integer(std::int64_t* out);
  // Skips any value with at most kMaxDepth levels.
  bool Skip();

 private:
  static constexpr int kMaxDepth = 32;

  bool Fail();
  char Peek();
  bool Take(char expected);
  // Whether another entry follows, after the opening bracket or after an entry.
  bool More(char closing);
  bool Word(const char* word);
  bool SkipScalar();

  const char* at_;
  const char* const end_;
  bool ok_ = true;
  bool first_ = false;  // the next entry is the first of its object or array
};

}  // namespace yardmaster::shim
