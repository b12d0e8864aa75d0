// How a type of a custom resource describes its fields, once: JSON name, member, limits, default
// and meaning. What is read, written, required by the schema in crds/ and documented in
// docs/reference/fields.md follows from this.
//
//   struct Offer {
//     CapacityType type = CapacityType::kOnDemand;
//     int max_hosts = 0;
//     void Describe(FieldVisitor& fields) {
//       fields.Enum("type", type, kCapacityTypeNames, Required("A capacity type."));
//       fields.Int("maxHosts", max_hosts, 0, 1000, Defaulted("Hosts that can be had."));
//     }
//   };
//
// A type of a folder that may not include this one has a free function `void
// Describe(FieldVisitor&, T&)` instead. field_codec.h and field_schema.h have the visitors.
//
// Fields are visited, and so their errors reported, in the order of the description. Numbers,
// booleans and enumerations are always written, other fields where they are not empty, objects
// where they differ from the default; About changes that. A default is what the member has in a
// value that was just made.
//
// Lifetimes: what is passed is used during the call only. Thread safety: a visitor that writes does
// not change the value, so that several threads may write one; otherwise none.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "absl/functional/function_ref.h"
#include "nlohmann/json_fwd.hpp"

#include "pkg/api/field_about.h"
#include "pkg/api/field_reader.h"
#include "pkg/api/field_rules.h"

namespace yardmaster::api {

// Of a Number: none.
inline constexpr double kNoMaximum = 1e300;

class FieldVisitor;
template <typename T>
void DescribeValue(FieldVisitor& fields, T& value) {
  if constexpr (requires { value.Describe(fields); }) {
    value.Describe(fields);
  } else {
    Describe(fields, value);
  }
}

class FieldVisitor {
 public:
  using Names = std::span<const std::string_view>;

  FieldVisitor() = default;
  FieldVisitor(const FieldVisitor&) = delete;
  FieldVisitor& operator=(const FieldVisitor&) = delete;
  virtual ~FieldVisitor() = default;

  // Bounds that are those of the type are not in the schema.
  void Int(const char* key, int& value, int min, int max, const About& about) {
    std::int64_t whole = value;
    VisitWhole(key, whole, {min, max, true}, about);
    if (whole != value) value = static_cast<int>(whole);
  }
  void Int(const char* key, std::int64_t& value, std::int64_t min, std::int64_t max,
           const About& about) {
    VisitWhole(key, value, {min, max, false}, about);
  }
  void Number(const char* key, double& value, double min, double max, const About& about) {
    VisitNumber(key, value, min, max, about);
  }
  void Bool(const char* key, bool& value, const About& about) { VisitBool(key, value, about); }
  void Text(const char* key, std::string& value, const TextRule& rule, const About& about) {
    VisitText(key, value, rule, about);
  }
  // RFC 3339, in milliseconds since 1970; 0: left out.
  void Time(const char* key, std::int64_t& value_ms, const About& about) {
    VisitTime(key, value_ms, about);
  }
  // `names` stand in the order of the enumeration.
  template <typename E>
  requires std::is_enum_v<E>
  void Enum(const char* key, E& value, Names names, const About& about) {
    Choose(key, value, names, nullptr, about);
  }
  // A word of a status that explains and decides nothing: one that a newer version wrote is
  // `unknown`, without an error where reading is not strict.
  template <typename E>
  requires std::is_enum_v<E>
  void Word(const char* key, E& value, Names names, E unknown, const About& about) {
    const auto index = static_cast<std::size_t>(unknown);
    Choose(key, value, names, &index, about);
  }
  // A field that may be left out, where that means something. Without a default in the schema.
  void Int(const char* key, std::optional<int>& value, int min, int max, const About& about) {
    Maybe(key, value, [&](int& v) { Int(key, v, min, max, about); });
  }
  void Int(const char* key, std::optional<std::int64_t>& value, std::int64_t min, std::int64_t max,
           const About& about) {
    Maybe(key, value, [&](std::int64_t& v) { Int(key, v, min, max, about); });
  }
  void Number(const char* key, std::optional<double>& value, double min, double max,
              const About& about) {
    Maybe(key, value, [&](double& v) { Number(key, v, min, max, about); });
  }
  template <typename E>
  requires std::is_enum_v<E>
  void Enum(const char* key, std::optional<E>& value, Names names, const About& about) {
    Maybe(key, value, [&](E& v) { Enum(key, v, names, about); });
  }

  virtual void Ints(const char* key, std::vector<int>& values, int min, int max,
                    const ListRule& rule, const About& about, const char* entry = "") = 0;
  virtual void Texts(const char* key, std::vector<std::string>& values, const ListRule& rule,
                     const TextRule& text, const About& about, const char* entry = "") = 0;
  virtual void TextMap(const char* key, std::map<std::string, std::string>& values, int max_entries,
                       const TextRule& text, const About& about) = 0;

  template <typename T>
  void Object(const char* key, T& value, const About& about) {
    // Compared where it is written only: a default value costs allocations.
    const bool given = !writes() || about.written == Written::kAlways || value != T{};
    VisitObject(key, given, false, about, [&](FieldVisitor& in) { DescribeValue(in, value); });
  }
  template <typename T>
  void Object(const char* key, std::optional<T>& value, const About& about) {
    VisitObject(key, value.has_value(), true, about, [&](FieldVisitor& in) {
      if (!value) value.emplace();
      DescribeValue(in, *value);
    });
  }
  // Fields that are an object in JSON and none in C++. `given`: whether it is there, where that
  // means something.
  void Group(const char* key, const About& about, absl::FunctionRef<void(FieldVisitor&)> describe) {
    VisitObject(key, true, false, about, describe);
  }
  void Group(const char* key, bool& given, const About& about,
             absl::FunctionRef<void(FieldVisitor&)> describe) {
    const bool is_there = VisitObject(key, given, false, about, describe);
    if (is_there != given) given = is_there;
  }
  // `entry` says what an entry is.
  template <typename T>
  void Objects(const char* key, std::vector<T>& values, const ListRule& rule, const About& about,
               const char* entry) {
    Objects(key, values, rule, about, entry,
            [](FieldVisitor& in, T& value) { DescribeValue(in, value); });
  }
  // Entries whose description needs more than the entry.
  template <typename T, typename Entry>
  void Objects(const char* key, std::vector<T>& values, const ListRule& rule, const About& about,
               const char* entry, Entry describe) {
    VisitObjects(
        key, values.size(), rule, about, entry, [&](std::size_t size) { values.resize(size); },
        [&](std::size_t i, FieldVisitor& in) { describe(in, values[i]); });
  }

  // A text that `read` parses, from the reader of the object that has the field. `write` returns ""
  // for a field that is not written.
  virtual void Parsed(const char* key, const TextRule& rule, const About& about,
                      absl::FunctionRef<void(FieldReader& in)> read,
                      absl::FunctionRef<std::string()> write) = 0;
  // A field of another form. `schema` returns its schema without the meaning; null is not written,
  // unless About says so.
  virtual void Custom(const char* key, absl::FunctionRef<nlohmann::json()> schema,
                      const About& about, absl::FunctionRef<void(FieldReader& in)> read,
                      absl::FunctionRef<nlohmann::json()> write) = 0;

  // What the fields contradict in each other: a rule of the schema in CEL. `path` is the field that
  // is blamed. The rule holds too where `unless` does.
  virtual void Rule(const char* cel, const char* message, const char* path = "",
                    const char* unless = "") = 0;
  // The same for the codec, which reports what is wrong to the reader.
  template <typename F>
  void Check(F check) {
    if (FieldReader* in = reader()) check(*in);
  }

 protected:
  struct WholeRule {
    std::int64_t min;
    std::int64_t max;
    bool is_int32;
  };
  virtual bool writes() const { return false; }
  virtual FieldReader* reader() { return nullptr; }
  // Whether a field that may be left out is visited; `given` says whether the value has it.
  virtual bool IsVisited(const char* key, bool given) = 0;
  virtual void VisitWhole(const char* key, std::int64_t& value, const WholeRule& rule,
                          const About& about) = 0;
  virtual void VisitNumber(const char* key, double& value, double min, double max,
                           const About& about) = 0;
  virtual void VisitBool(const char* key, bool& value, const About& about) = 0;
  virtual void VisitText(const char* key, std::string& value, const TextRule& rule,
                         const About& about) = 0;
  virtual void VisitTime(const char* key, std::int64_t& value_ms, const About& about) = 0;
  // Returns the index of the name. `unknown`: of a Word, else null.
  virtual std::size_t VisitChoice(const char* key, std::size_t index, Names names,
                                  const std::size_t* unknown, const About& about) = 0;
  // `given`: whether it is written. `optional`: whether one that is left out is not described.
  // Returns whether it is there.
  virtual bool VisitObject(const char* key, bool given, bool optional, const About& about,
                           absl::FunctionRef<void(FieldVisitor&)> describe) = 0;
  virtual void VisitObjects(const char* key, std::size_t size, const ListRule& rule,
                            const About& about, const char* entry,
                            absl::FunctionRef<void(std::size_t)> resize,
                            absl::FunctionRef<void(std::size_t, FieldVisitor&)> describe) = 0;

 private:
  template <typename E>
  void Choose(const char* key, E& value, Names names, const std::size_t* unknown,
              const About& about) {
    const auto before = static_cast<std::size_t>(value);
    const std::size_t index = VisitChoice(key, before, names, unknown, about);
    if (index != before) value = static_cast<E>(index);
  }
  template <typename T, typename Visit>
  void Maybe(const char* key, std::optional<T>& value, Visit visit) {
    if (!IsVisited(key, value.has_value())) return;
    T present = value.value_or(T{});
    visit(present);
    if (value != present) value = present;
  }
};

}  // namespace yardmaster::api
