// Reads a JSON value independent of the library that parsed it: a document of nlohmann::json
// (files, patches, tests) or the tape of simdjson (what the API server sends).
//
// Why this type exists: lists and watches carry gigabytes of objects of which a few fields are
// read. simdjson finds those fields without one allocation for the others; nlohmann::json makes a
// tree of everything. The decoders of pkg/api are written once, over this view, and serve both.
//
// A view is a small value, like a string_view: it must not outlive what it points into. A value
// that is absent reads as absent all the way down, so a chain of look-ups needs no checks.
// Thread safety: as a const pointer.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"

namespace yardmaster {

class JsonView {
 public:
  // A document is copied, written and destroyed by recursion; no API object of Kubernetes has 100
  // levels.
  static constexpr int kMaxCopiedLevels = 200;
  enum class Type { kAbsent, kNull, kObject, kArray, kString, kNumber, kBool };

  JsonView() = default;  // absent
  // Implicit, so that a decoder takes either kind of document. A template, so that nothing is
  // converted to a document, which would not live long enough.
  template <typename Json>
  requires std::same_as<Json, nlohmann::json> JsonView(
      const Json& value)  // NOLINT(google-explicit-constructor)
      : at_(&value), source_(Source::kTree) {}

  Type type() const;
  bool present() const { return source_ != Source::kNone; }
  bool is_null() const { return type() == Type::kNull; }
  bool is_object() const { return type() == Type::kObject; }
  bool is_array() const { return type() == Type::kArray; }
  bool is_string() const { return type() == Type::kString; }
  bool is_number() const { return type() == Type::kNumber; }

  // Absent unless this is an object with that key. Of a key given twice, which of the two is not
  // specified.
  JsonView operator[](std::string_view key) const;
  JsonView At(std::initializer_list<std::string_view> path) const;
  // Members or elements; 0 for any other type. Complexity: linear.
  std::size_t size() const;
  // Members are called in the order of the document (tape) or of the keys (tree), elements in their
  // order. Nothing is called for another type.
  void ForEachMember(absl::FunctionRef<void(std::string_view key, JsonView value)> call) const;
  void ForEachElement(absl::FunctionRef<void(JsonView value)> call) const;

  // nullopt for another type. WholeNumber is nullopt, too, for a number that is not whole or does
  // not fit, and for one written with a fraction or an exponent whose magnitude is 9e15 or more.
  std::optional<std::string_view> String() const;
  std::optional<std::int64_t> WholeNumber() const;
  std::optional<double> Number() const;
  std::optional<bool> Bool() const;
  // The string, or "" for anything else.
  std::string Text() const { return std::string(String().value_or("")); }

  // Whether values stand inside of each other more than `levels` times: [1] is deeper than 0, not
  // than
  // 1. Complexity: linear; the stack holds at most `levels` calls.
  bool IsDeeperThan(int levels) const;
  // Bytes of the value as text without white space, roughly: escapes count 1, numbers 8. 0 when
  // absent. REQUIRES: not IsDeeperThan(a thousand or so), since it goes down by recursion.
  std::size_t TextBytes() const;
  // A copy; null when absent, and null for what lies deeper than `levels`.
  nlohmann::json ToJson(int levels = kMaxCopiedLevels) const;

 private:
  friend class JsonParser;
  enum class Source : unsigned char { kNone, kTree, kTape };
  struct Tape;  // simdjson's element

  // kTree: a nlohmann::json. kTape: simdjson's document, and the place in it.
  const void* at_ = nullptr;
  std::size_t index_ = 0;
  Source source_ = Source::kNone;
};

// Parses one text after another with the same buffers. Thread safety: one thread.
class JsonParser {
 public:
  JsonParser();
  ~JsonParser();
  JsonParser(const JsonParser&) = delete;
  JsonParser& operator=(const JsonParser&) = delete;

  // The view, and all views taken from it, are valid until the next call or the end of the parser.
  // `text` may be freed after the call. Of a whole number beyond 64 bits 17 digits are read.
  // Complexity: linear; memory is at most 16 bytes for each byte of the text, and 256 KiB of text's
  // worth is kept for the next call.
  // Errors: InvalidArgument with what is wrong, more than 10,000 values inside of each other
  // included.
  absl::StatusOr<JsonView> Parse(std::string_view text);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace yardmaster
