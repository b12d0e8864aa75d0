#include "pkg/config/fields.h"

#include <utility>

#include "pkg/base/status.h"
#include "pkg/base/strings.h"

namespace yardmaster::config {

using nlohmann::json;

Fields::Fields(json value, std::string path) : value_(std::move(value)), path_(std::move(path)) {
  if (!value_.is_object()) value_ = json::object();
}

const json* Fields::At(const std::string& key) const {
  auto it = value_.find(key);
  return it == value_.end() || it->is_null() ? nullptr : &*it;
}

bool Fields::Has(const std::string& key) const { return At(key) != nullptr; }

std::string Fields::Path(std::string_view key) const {
  return path_.empty() || path_.ends_with(" ") ? StrCat(path_, key) : StrCat(path_, ".", key);
}

absl::StatusOr<std::string> Fields::String(const std::string& key) const {
  const json* value = At(key);
  if (value == nullptr) return std::string();
  if (value->is_string()) return value->get<std::string>();
  return FieldError(Path(key), StrCat(value->dump(), " is not a text"),
                    value->is_structured() ? "write a text" : "put it in quotes");
}

absl::StatusOr<bool> Fields::Bool(const std::string& key) const {
  const json* value = At(key);
  if (value == nullptr) return false;
  if (value->is_boolean()) return value->get<bool>();
  return FieldError(Path(key), StrCat(value->dump(), " is not a boolean"), "write true or false");
}

absl::StatusOr<std::vector<std::string>> Fields::Strings(const std::string& key) const {
  const json* value = At(key);
  std::vector<std::string> texts;
  if (value == nullptr) return texts;
  if (!value->is_array()) return FieldError(Path(key), "is not a list", "write a list of texts");
  for (const json& text : *value) {
    if (!text.is_string()) {
      return FieldError(Path(key), StrCat(text.dump(), " is not a text"), "put it in quotes");
    }
    texts.push_back(text.get<std::string>());
  }
  return texts;
}

absl::StatusOr<Fields> Fields::Object(const std::string& key) const {
  const json* value = At(key);
  if (value != nullptr && !value->is_object()) {
    return FieldError(Path(key), "is not a mapping", "write \"key: value\" lines under it");
  }
  return Fields(value == nullptr ? json() : *value, Path(key));
}

absl::StatusOr<std::vector<Fields>> Fields::List(const std::string& key) const {
  const json* value = At(key);
  std::vector<Fields> list;
  if (value == nullptr) return list;
  if (!value->is_array()) return FieldError(Path(key), "is not a list", "write a list");
  for (std::size_t i = 0; i < value->size(); ++i) {
    list.emplace_back((*value)[i], StrCat(Path(key), "[", i, "]"));
  }
  return list;
}

}  // namespace yardmaster::config
