// TerminalGuard filters what verbs print, because most of it was written by others: a job's name,
// message or annotation must not move the cursor, set a title or reverse the line on the user's
// terminal. It is used for every verb and format.
//
//   - Characters that a terminal interprets are written as JSON escapes ("\u001b"): control
//     characters other than newline and tab, DEL, C1 (U+0080 to U+009F), line separators, and the
//     marks that change the direction of text. JSON stays equal JSON.
//   - Bytes that are not UTF-8 become U+FFFD.
//   - A program writes its own sequences with WriteControl.
//
// Thread safety: that of the stream. Lifetimes: the stream outlives its guard.
#pragma once

#include <iosfwd>
#include <memory>
#include <string_view>

namespace yardmaster::cli {

// Filters what is written to `out` until it is destroyed.
class TerminalGuard {
 public:
  explicit TerminalGuard(std::ostream& out);
  TerminalGuard(const TerminalGuard&) = delete;
  TerminalGuard& operator=(const TerminalGuard&) = delete;
  ~TerminalGuard();

 private:
  class Buffer;

  std::ostream& out_;
  std::unique_ptr<Buffer> buffer_;

  friend void WriteControl(std::ostream& out, std::string_view sequence);
};

// Writes a sequence of the program, such as a colour, unchanged.
void WriteControl(std::ostream& out, std::string_view sequence);

}  // namespace yardmaster::cli
