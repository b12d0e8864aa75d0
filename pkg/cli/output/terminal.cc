#include "pkg/cli/output/terminal.h"

#include <array>
#include <cstdio>
#include <ostream>
#include <streambuf>
#include <string>

namespace yardmaster::cli {

namespace {

constexpr std::string_view kNotText = "\xEF\xBF\xBD";  // U+FFFD

bool IsActedOn(char32_t c) {
  return (c < 0x20 && c != '\n' && c != '\t') || (c >= 0x7F && c < 0xA0) || c == 0x200E ||
         c == 0x200F || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
}

// How many bytes follow a first byte of UTF-8; -1: it is none.
int Following(unsigned char first) {
  if (first < 0x80) return 0;
  if (first >= 0xC2 && first < 0xE0) return 1;
  if (first >= 0xE0 && first < 0xF0) return 2;
  return first >= 0xF0 && first < 0xF5 ? 3 : -1;
}

}  // namespace

class TerminalGuard::Buffer : public std::streambuf {
 public:
  explicit Buffer(std::streambuf& to) : to_(to) {}

  std::streambuf& to() { return to_; }
  void WriteUnchanged(std::string_view text) {
    to_.sputn(text.data(), static_cast<std::streamsize>(text.size()));
  }

 protected:
  int_type overflow(int_type c) override {
    if (traits_type::eq_int_type(c, traits_type::eof())) return traits_type::not_eof(c);
    const char byte = traits_type::to_char_type(c);
    return xsputn(&byte, 1) == 1 ? c : traits_type::eof();
  }
  std::streamsize xsputn(const char* text, std::streamsize size) override {
    std::string clean;
    for (const char byte : std::string_view(text, static_cast<std::size_t>(size))) {
      Add(static_cast<unsigned char>(byte), clean);
    }
    const auto length = static_cast<std::streamsize>(clean.size());
    return to_.sputn(clean.data(), length) == length ? size : 0;
  }
  int sync() override { return to_.pubsync(); }

 private:
  void Add(unsigned char byte, std::string& clean) {
    if (missing_ > 0) {
      if ((byte & 0xC0) == 0x80) {
        code_ = code_ << 6 | (byte & 0x3F);
        character_ += static_cast<char>(byte);
        if (--missing_ == 0) Finish(clean);
        return;
      }
      missing_ = 0;
      clean += kNotText;
    }
    const int following = Following(byte);
    if (following < 0) {
      clean += kNotText;
      return;
    }
    character_ = static_cast<char>(byte);
    code_ = following == 0 ? byte : byte & (0x3F >> following);
    missing_ = following;
    if (following == 0) Finish(clean);
  }

  void Finish(std::string& clean) const {
    if (!IsActedOn(code_)) {
      clean += character_;
      return;
    }
    std::array<char, 8> escape{};
    std::snprintf(escape.data(), escape.size(), "\\u%04x", static_cast<unsigned>(code_));
    clean += escape.data();
  }

  std::streambuf& to_;
  std::string character_;  // of UTF-8, as far as it has come
  char32_t code_ = 0;
  int missing_ = 0;
};

TerminalGuard::TerminalGuard(std::ostream& out)
    : out_(out), buffer_(std::make_unique<Buffer>(*out.rdbuf())) {
  // rdbuf forgets a failure of the stream.
  const auto state = out_.rdstate();
  out_.rdbuf(buffer_.get());
  out_.setstate(state);
}

TerminalGuard::~TerminalGuard() {
  const auto state = out_.rdstate();
  out_.rdbuf(&buffer_->to());
  out_.setstate(state);
}

void WriteControl(std::ostream& out, std::string_view sequence) {
  if (auto* buffer = dynamic_cast<TerminalGuard::Buffer*>(out.rdbuf())) {
    buffer->WriteUnchanged(sequence);
  } else {
    out << sequence;
  }
}

}  // namespace yardmaster::cli
