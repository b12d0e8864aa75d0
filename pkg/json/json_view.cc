#include "pkg/json/json_view.h"

#include <bit>
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

json JsonView::ToJson() const {
  if (source_ == Source::kTree) return Tape::Tree(*this);
  switch (type()) {
    case Type::kObject: {
      json out = json::object();
      ForEachMember(
          [&](std::string_view key, JsonView value) { out[std::string(key)] = value.ToJson(); });
      return out;
    }
    case Type::kArray: {
      json out = json::array();
      ForEachElement([&](JsonView value) { out.push_back(value.ToJson()); });
      return out;
    }
    case Type::kString:
      return std::string(*String());
    case Type::kBool:
      return *Bool();
    case Type::kNumber: {
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

struct JsonParser::Impl {
  simdjson::dom::parser parser;
  json tree;
};

JsonParser::JsonParser() : impl_(std::make_unique<Impl>()) {}
JsonParser::~JsonParser() = default;

absl::StatusOr<JsonView> JsonParser::Parse(std::string_view text) {
  element root;
  const auto error = impl_->parser.parse(text.data(), text.size()).get(root);
  if (error == simdjson::SUCCESS) return JsonView::Tape::View(root);
  // Whole numbers beyond 64 bits and very deep nesting are valid JSON that simdjson refuses. Whoever copies or writes a
  // tree goes down by recursion.
  impl_->tree = json::parse(
      text, [](int depth, json::parse_event_t, const json&) { return depth < kMaxDepth; }, false);
  if (!impl_->tree.is_discarded()) return JsonView(impl_->tree);
  return absl::InvalidArgumentError(StrCat("is not JSON: ", simdjson::error_message(error)));
}

}  // namespace yardmaster
