// What the description of a field (field_visitor.h) says besides name, member and bounds: the
// meaning, whether the schema or the codec requires it, and when it is written.
//
// Lifetimes: texts outlive it; they are literals. Thread safety: values.
#pragma once

#include <cstdint>
#include <optional>
#include <type_traits>

namespace yardmaster::api {

enum class Written { kUsual, kAlways, kOrNull };

// The meaning of a field, and how it stands in the schema and in what is written.
struct About {
  About(const char* meaning) : text(meaning) {}  // NOLINT(google-explicit-constructor)

  // Written also where it is empty or the default.
  About Always() const { return With(Written::kAlways); }
  // Written as null where it is empty or the default, which takes the field away in a merge patch.
  About OrNull() const { return With(Written::kOrNull); }
  // Not written where it has this value.
  template <typename Value>
  requires std::is_enum_v<Value> || std::is_integral_v<Value> About OmitAt(Value value)
  const {
    About out = *this;
    out.omitted = static_cast<std::int64_t>(value);
    return out;
  }
  About OmitAt(const char* value) const {
    About out = *this;
    out.omitted_text = value;
    return out;
  }
  About With(Written how) const {
    About out = *this;
    out.written = how;
    return out;
  }

  const char* text;
  bool required = false;       // by the schema
  bool has_default = false;    // in the schema: the member's
  bool read_required = false;  // by the codec: a text that is not empty, or a word
  const char* fix = nullptr;   // what the codec says of a word that is missing
  Written written = Written::kUsual;
  std::optional<std::int64_t> omitted = {};
  const char* omitted_text = "";
};

// The schema requires it; and the codec, too, where it is a text, or where `fix` says how to mend a
// missing word.
inline About Required(const char* meaning, const char* fix = nullptr) {
  About about(meaning);
  about.required = about.read_required = true;
  about.fix = fix;
  return about;
}
// The schema requires it; the codec takes the default.
inline About RequiredByServer(const char* meaning) {
  About about(meaning);
  about.required = true;
  return about;
}
// The schema has the member's default.
inline About Defaulted(const char* meaning) {
  About about(meaning);
  about.has_default = true;
  return about;
}

}  // namespace yardmaster::api
