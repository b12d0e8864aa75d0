// Reads a JSON value from outside and turns every error into one line that says where it is,
// what was expected and how to mend it:
//
//   spec.parallelism.tensor: expected an integer from 1 to 1000000, got "eight"; ...
//
// The errors of one object are collected, each once and at most 50 lines of 512 bytes, so that a
// person mends them in one go. A reader never stops: after an error it returns the fallback. Null
// is treated as left out, as Kubernetes has it.
//
// UnknownFields::kReject is for what people wrote. Close makes an error of each field that was not
// read, since a misspelt field would otherwise change the job unnoticed, and a value that breaks
// its rule (field_rules.h) is an error, since the API server would refuse it. kIgnore is for what
// the API server has, which an older version may have stored under another schema: such fields are
// ignored and rules are not checked. There a list of more than 65,536 entries is an error and is
// not read, whatever it is a list of.
//
// Lifetimes: a reader points into the JSON value and the error list; both must outlive it. Thread
// safety: none; readers are local variables.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_rules.h"
#include "pkg/base/status.h"
#include "pkg/json/json_view.h"

namespace yardmaster::api {

// A year: the most that a whole number of seconds may be.
inline constexpr int kMaxSeconds = 31'536'000;

enum class UnknownFields { kReject, kIgnore };
// What becomes of an object with fields that cannot be read. Of what people wrote: an error. Of
// what the API server has: what could be read, with one line per field in `problems`, because the
// object is there and holds what it holds.
enum class Decoding { kStrict, kLenient };

class FieldErrors {
 public:
  void Add(std::string_view field, std::string_view problem, std::string_view fix);
  // A line that is whole already, for example one of fabric::Problems.
  void AddLine(std::string line);
  bool empty() const { return lines_.empty(); }
  // The errors that are kept, in order.
  const std::vector<std::string>& lines() const { return lines_; }
  // How many errors were added, those that are not kept included. It tells whether reading a part
  // found an error, which the number of lines does not once the list is full.
  std::int64_t added() const { return added_; }
  // OK, or InvalidArgument with one line per error.
  absl::Status status() const;

 private:
  std::vector<std::string> lines_;
  std::int64_t added_ = 0;
};

// `parent.key`, or `parent["odd key"]` where the key is not a plain name.
std::string JoinPath(std::string_view parent, std::string_view key);
// A value as an error shows it: short, one line.
std::string Shown(JsonView value);
// The candidate that is nearest to `word` if one is near enough to be meant, else "".
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

class FieldReader {
 public:
  // `value` absent or null: the object was left out. A value that is not an object is an error here
  // and reads as left out.
  FieldReader(JsonView value, std::string path, UnknownFields unknown, FieldErrors* errors);
  FieldReader(const nlohmann::json* value, std::string path, UnknownFields unknown,
              FieldErrors* errors)
      : FieldReader(value == nullptr ? JsonView() : JsonView(*value), std::move(path), unknown,
                    errors) {}

  const std::string& path() const { return path_; }
  std::string PathOf(std::string_view key) const { return JoinPath(path_, key); }
  FieldErrors& errors() const { return *errors_; }
  bool present() const { return object_.present(); }
  bool has(std::string_view key) { return Find(key).present(); }

  std::int64_t Int64(std::string_view key, std::int64_t fallback, std::int64_t min,
                     std::int64_t max);
  int Int(std::string_view key, int fallback, int min, int max) {
    return static_cast<int>(Int64(key, fallback, min, max));
  }
  double Number(std::string_view key, double fallback, double min, double max);
  bool Bool(std::string_view key, bool fallback);
  std::string String(std::string_view key, std::string_view fallback = "") {
    return String(key, TextRule(), fallback);
  }
  std::string String(std::string_view key, const TextRule& rule, std::string_view fallback = "");
  std::string RequiredString(std::string_view key, const TextRule& rule = {});
  // For a field that is read in another way or not at all: reports a value that is not a string by
  // this rule.
  void CheckText(std::string_view key, const TextRule& rule);
  // RFC 3339; 0 when left out or wrong.
  std::int64_t TimeMs(std::string_view key);
  // The index of one of `names`.
  std::size_t Choice(std::string_view key, std::span<const std::string_view> names,
                     std::size_t fallback);
  // One of `names`, which stand in the order of the enumeration.
  template <typename E>
  E Enum(std::string_view key, std::span<const std::string_view> names, E fallback) {
    return static_cast<E>(Choice(key, names, static_cast<std::size_t>(fallback)));
  }

  FieldReader Object(std::string_view key);
  // As Object, but fields that are not read are allowed.
  FieldReader OpenObject(std::string_view key);
  std::vector<FieldReader> Objects(std::string_view key, const ListRule& rule = {});
  // The members of an object whose keys are data, in key order.
  std::vector<std::pair<std::string, FieldReader>> Members(std::string_view key, int max_entries);
  // The keys of this object itself, in order, where keys are data. Does not count as reading them.
  std::vector<std::string> Keys() const;
  // The fields of this object that are not null, in any order and unread. O(fields).
  void ForEachField(absl::FunctionRef<void(std::string_view key, JsonView value)> call) const;
  std::vector<std::string> Strings(std::string_view key, const ListRule& rule = {},
                                   const TextRule& entry = {});
  std::vector<int> Ints(std::string_view key, int min, int max, const ListRule& rule = {});
  std::map<std::string, std::string> StringMap(std::string_view key, int max_entries = kNoLimit,
                                               const TextRule& rule = {});
  // The value unchanged; absent if left out or null.
  JsonView Raw(std::string_view key) { return Find(key); }

  // Whether unknown fields are errors and rules are checked.
  bool strict() const { return unknown_ == UnknownFields::kReject; }
  // Reports an object whose keys are data and that has too many of them.
  void CheckEntries(int max_entries);

  // Call last: reports the fields that were not read.
  void Close();

 private:
  JsonView Find(std::string_view key);
  JsonView FindArray(std::string_view key, const ListRule& rule);
  JsonView FindObject(std::string_view key);
  void Expected(std::string_view field, std::string_view what, JsonView got, std::string_view fix);
  // REQUIRE: strict.
  void CheckTextAt(const std::string& field, JsonView value, const TextRule& rule);
  void CheckCount(const std::string& field, std::size_t count, int min, int max);
  void CheckDistinct(const std::string& field, JsonView list, const ListRule& rule);

  JsonView object_;
  std::string path_;
  UnknownFields unknown_;
  FieldErrors* errors_;
  std::vector<std::string> known_;  // kept only where unknown fields are errors
};

}  // namespace yardmaster::api
