// A pull parser for JSON that allocates nothing, since it runs inside the processes of other
// programs.
//
//   JsonCursor in(text, size);
//   char key[32];
//   if (in.EnterObject()) {
//     while (in.NextKey(key, sizeof key)) {
//       if (strcmp(key, "rail") == 0) in.Integer(&rail); else in.Skip();
//     }
//   }
//   if (!in.ok()) ...   // not JSON, or not of the kind that was asked for
//
// After the first error every call returns false and reads nothing. Any bytes may come in: the
// cursor never reads beyond `size`, never recurses, and takes linear time. It is not a validator:
// digits of \u escapes and the form of skipped numbers are not checked.
// Thread safety: one thread. Lifetime: the text outlives the cursor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace yardmaster::shim {

class JsonCursor {
 public:
  JsonCursor(const char* text, std::size_t size) : at_(text), end_(text + size) {}

  bool ok() const { return ok_; }
  // True when nothing but white space is left.
  bool AtEnd();

  bool EnterObject();
  // The next member's name, which is cut to `capacity - 1` characters. False at the end of the
  // object. The member's value must be read or skipped before the next call.
  bool NextKey(char* key, std::size_t capacity);
  bool EnterArray();
  // False at the end of the array. The element must be read or skipped before the next call.
  bool NextElement();

  // Cut to `capacity - 1` characters. A \u escape becomes '?'; other escapes but \", \\ and \/
  // become a space.
  bool String(char* out, std::size_t capacity);
  // A number without fraction and exponent; fails beyond about INT64_MAX in magnitude.
  bool Integer(std::int64_t* out);
  // Any value, at most kMaxDepth levels deep.
  bool Skip();

 private:
  static constexpr int kMaxDepth = 32;

  bool Fail();
  char Peek();
  bool Take(char expected);
  // After the opening bracket, and after each entry: whether another entry follows.
  bool More(char closing);
  bool Word(const char* word);
  bool SkipScalar();

  const char* at_;
  const char* const end_;
  bool ok_ = true;
  bool first_ = false;  // the next entry is the first of its object or array
};

}  // namespace yardmaster::shim
