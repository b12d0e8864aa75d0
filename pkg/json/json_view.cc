#include "pkg/json/json_view.h"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <simdjson.h>
#include <type_traits>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster {

using nlohmann::json;
using simdjson::dom::element;
using simdjson::dom::element_type;

// simdjson's element is a pointer to its document and an index; keeping these two instead of the
// element keeps its header of 30,000 lines out of ours.
struct JsonView::Tape {
  struct Parts {
    const void* document;
    std::size_t index;
  };
  static_assert(sizeof(Parts) == sizeof(element) && std::is_trivially_copyable_v<element>);

  static JsonView View(const element& value) {
    const Parts parts = std::bit_cast<Parts>(value);
    JsonView view;
    view.at_ = parts.document;
    view.index_ = parts.index;
    view.source_ = Source::kTape;
    return view;
  }
  static element Element(const JsonView& view) {
    return std::bit_cast<element>(Parts{view.at_, view.index_});
  }
  static const json& Tree(const JsonView& view) { return *static_cast<const json*>(view.at_); }
};

namespace {

JsonView::Type TypeOf(const json& value) {
  using Type = JsonView::Type;
  if (value.is_object()) return Type::kObject;
  if (value.is_array()) return Type::kArray;
  if (value.is_string()) return Type::kString;
  if (value.is_number()) return Type::kNumber;
  if (value.is_boolean()) return Type::kBool;
  return Type::kNull;
}

JsonView::Type TypeOf(element_type type) {
  using Type = JsonView::Type;
  switch (type) {
    case element_type::OBJECT:
      return Type::kObject;
    case element_type::ARRAY:
      return Type::kArray;
    case element_type::STRING:
      return Type::kString;
    case element_type::BOOL:
      return Type::kBool;
    case element_type::NULL_VALUE:
      return Type::kNull;
    default:
      return Type::kNumber;
  }
}

// element::is_double() is also true of whole numbers, which convert to a double.
bool IsDouble(const element& value) { return value.type() == element_type::DOUBLE; }

std::optional<std::int64_t> Whole(double number) {
  if (std::trunc(number) != number || std::abs(number) >= 9e15) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

}  // namespace

JsonView::Type JsonView::type() const {
  if (source_ == Source::kTree) return TypeOf(Tape::Tree(*this));
  if (source_ == Source::kTape) return TypeOf(Tape::Element(*this).type());
  return Type::kAbsent;
}

JsonView JsonView::operator[](std::string_view key) const {
  if (source_ == Source::kTree) {
    const json& tree = Tape::Tree(*this);
    if (!tree.is_object()) return {};
    const auto at = tree.find(std::string(key));
    return at == tree.end() ? JsonView() : JsonView(*at);
  }
  if (source_ != Source::kTape) return {};
  simdjson::dom::object object;
  if (Tape::Element(*this).get(object) != simdjson::SUCCESS) return {};
  element found;
  if (object.at_key(key).get(found) != simdjson::SUCCESS) return {};
  return Tape::View(found);
}

JsonView JsonView::At(std::initializer_list<std::string_view> path) const {
  JsonView at = *this;
  for (const std::string_view key : path) at = at[key];
  return at;
}

std::size_t JsonView::size() const {
  std::size_t count = 0;
  if (is_array()) ForEachElement([&](JsonView) { ++count; });
  if (is_object()) ForEachMember([&](std::string_view, JsonView) { ++count; });
  return count;
}

void JsonView::ForEachMember(absl::FunctionRef<void(std::string_view, JsonView)> call) const {
  if (source_ == Source::kTree) {
    const json& tree = Tape::Tree(*this);
    if (!tree.is_object()) return;
    for (auto it = tree.begin(); it != tree.end(); ++it) call(it.key(), *it);
  } else if (source_ == Source::kTape) {
    simdjson::dom::object object;
    if (Tape::Element(*this).get(object) != simdjson::SUCCESS) return;
    for (const auto [key, value] : object) call(key, Tape::View(value));
  }
}

void JsonView::ForEachElement(absl::FunctionRef<void(JsonView)> call) const {
  if (source_ == Source::kTree) {
    const json& tree = Tape::Tree(*this);
    if (!tree.is_array()) return;
    for (const json& value : tree) call(value);
  } else if (source_ == Source::kTape) {
    simdjson::dom::array array;
    if (Tape::Element(*this).get(array) != simdjson::SUCCESS) return;
    for (const element value : array) call(Tape::View(value));
  }
}

std::optional<std::string_view> JsonView::String() const {
  if (source_ == Source::kTree) {
    const json& tree = Tape::Tree(*this);
    if (tree.is_string()) return tree.get_ref<const std::string&>();
  } else if (source_ == Source::kTape) {
    std::string_view text;
    if (Tape::Element(*this).get(text) == simdjson::SUCCESS) return text;
  }
  return std::nullopt;
}

std::optional<std::int64_t> JsonView::WholeNumber() const {
  if (source_ == Source::kTree) {
    const json& tree = Tape::Tree(*this);
    if (tree.is_number_unsigned()) {
      const auto number = tree.get<std::uint64_t>();
      if (number > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
      return static_cast<std::int64_t>(number);
    }
    if (tree.is_number_integer()) return tree.get<std::int64_t>();
    if (tree.is_number_float()) return Whole(tree.get<double>());
  } else if (source_ == Source::kTape) {
    const element value = Tape::Element(*this);
    if (IsDouble(value)) return Whole(value.get_double().value_unsafe());
    std::int64_t number = 0;
    if (value.get(number) == simdjson::SUCCESS) return number;
  }
  return std::nullopt;
}

std::optional<double> JsonView::Number() const {
  if (source_ == Source::kTree) {
    const json& tree = Tape::Tree(*this);
    if (tree.is_number()) return tree.get<double>();
  } else if (source_ == Source::kTape) {
    double number = 0;
    if (Tape::Element(*this).get(number) == simdjson::SUCCESS) return number;
  }
  return std::nullopt;
}

std::optional<bool> JsonView::Bool() const {
  if (source_ == Source::kTree) {
    const json& tree = Tape::Tree(*this);
    if (tree.is_boolean()) return tree.get<bool>();
  } else if (source_ == Source::kTape) {
    bool value = false;
    if (Tape::Element(*this).get(value) == simdjson::SUCCESS) return value;
  }
  return std::nullopt;
}

bool JsonView::IsDeeperThan(int levels) const {
  if (!is_object() && !is_array()) return false;
  bool deeper = levels <= 0;
  ForEachMember(
      [&](std::string_view, JsonView value) { deeper = deeper || value.IsDeeperThan(levels - 1); });
  ForEachElement([&](JsonView value) { deeper = deeper || value.IsDeeperThan(levels - 1); });
  return deeper;
}

std::size_t JsonView::TextBytes() const {
  switch (type()) {
    case Type::kAbsent:
      return 0;
    case Type::kObject:
    case Type::kArray: {
      std::size_t bytes = 2;
      ForEachMember([&](std::string_view key, JsonView value) {
        bytes += key.size() + 4 + value.TextBytes();
      });
      ForEachElement([&](JsonView value) { bytes += 1 + value.TextBytes(); });
      return bytes;
    }
    case Type::kString:
      return String()->size() + 2;
    case Type::kNumber:
      return 8;
    case Type::kNull:
    case Type::kBool:
      break;
  }
  return 4;
}

json JsonView::ToJson(int levels) const {
  switch (type()) {
    case Type::kObject: {
      if (levels <= 0) return nullptr;
      json out = json::object();
      ForEachMember([&](std::string_view key, JsonView value) {
        out[std::string(key)] = value.ToJson(levels - 1);
      });
      return out;
    }
    case Type::kArray: {
      if (levels <= 0) return nullptr;
      json out = json::array();
      ForEachElement([&](JsonView value) { out.push_back(value.ToJson(levels - 1)); });
      return out;
    }
    case Type::kString:
      return std::string(*String());
    case Type::kBool:
      return *Bool();
    case Type::kNumber: {
      if (source_ == Source::kTree) return Tape::Tree(*this);
      const element value = Tape::Element(*this);
      if (IsDouble(value)) return value.get_double().value_unsafe();
      if (value.type() == element_type::INT64) return value.get_int64().value_unsafe();
      return value.get_uint64().value_unsafe();
    }
    case Type::kNull:
    case Type::kAbsent:
      break;
  }
  return nullptr;
}

namespace {

using simdjson::dom::parser;

// What the API server reads (10,000 levels, as encoding/json of Go), and what a list or an event
// puts around an object.
constexpr std::size_t kMaxDepth = 10'016;
// A parser that has read a longer text gives its buffers back before it reads a short one.
constexpr std::size_t kKeptBytes = std::size_t{256} << 10;

parser MakeParser() {
  parser made;
  // Where there is no memory for it, the first text is told so.
  [[maybe_unused]] const auto error = made.allocate(1024, kMaxDepth);
  return made;
}

// A whole number of more than 18 digits with its first 17, in at most as many characters; unchanged
// where it fits into 64 bits.
std::string Readable(const std::string& token) {
  constexpr std::size_t kDigits = 17;  // those of a double
  std::int64_t fits_signed = 0;
  std::uint64_t fits_unsigned = 0;
  const char* end = token.data() + token.size();
  if (std::from_chars(token.data(), end, fits_signed).ec == std::errc() ||
      std::from_chars(token.data(), end, fits_unsigned).ec == std::errc()) {
    return token;
  }
  const std::size_t kept = kDigits + (token[0] == '-' ? 1 : 0);
  return StrCat(token.substr(0, kept), "e", token.size() - kept);
}

// simdjson refuses whole numbers beyond 64 bits, which JSON has and the API server stores. Each
// becomes a double, written in the place that it has.
void RoundLargeNumbers(std::string& text) {
  constexpr std::size_t kAlwaysFits = 18;  // digits
  constexpr std::size_t kBeyondDoubles = 311;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\' ? 1 : 0;
      ++at;
      continue;
    }
    const std::size_t begin = at;
    while (at < text.size() && std::string_view("+-.eE0123456789").find(text[at]) != text.npos) {
      ++at;
    }
    const std::size_t size = at - begin;
    if (size == 0) ++at;
    if (size <= kAlwaysFits || size >= kBeyondDoubles) continue;
    const std::string token = text.substr(begin, size);
    if (token.find_first_not_of("0123456789", token[0] == '-' ? 1 : 0) != token.npos) continue;
    const std::string readable = Readable(token);
    std::fill(std::copy(readable.begin(), readable.end(), text.begin() + begin), text.begin() + at,
              ' ');
  }
}

}  // namespace

struct JsonParser::Impl {
  parser simd = MakeParser();
};

JsonParser::JsonParser() : impl_(std::make_unique<Impl>()) {}
JsonParser::~JsonParser() = default;

absl::StatusOr<JsonView> JsonParser::Parse(std::string_view text) {
  if (impl_->simd.capacity() > kKeptBytes && text.size() <= kKeptBytes) impl_->simd = MakeParser();
  element root;
  // simdjson copies an empty text, too, and its pointer may be null.
  auto error =
      text.empty() ? simdjson::EMPTY : impl_->simd.parse(text.data(), text.size()).get(root);
  if (error == simdjson::NUMBER_ERROR) {
    std::string rounded(text);
    RoundLargeNumbers(rounded);
    error = impl_->simd.parse(rounded.data(), rounded.size()).get(root);
  }
  if (error == simdjson::SUCCESS) return JsonView::Tape::View(root);
  return absl::InvalidArgumentError(StrCat("is not JSON: ", simdjson::error_message(error)));
}

}  // namespace yardmaster
