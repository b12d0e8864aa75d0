#include "pkg/api/field_reader.h"

#include <algorithm>
#include <cmath>

#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

constexpr std::size_t kMaxErrors = 50;

bool PlainName(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

int EditDistance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

std::string OneOf(const std::vector<std::string_view>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

// A JSON number that is a whole one, or nothing.
std::optional<std::int64_t> WholeNumber(const nlohmann::json& value) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(INT64_MAX)) return std::nullopt;
    return static_cast<std::int64_t>(number);
  }
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_number_float()) {
    const double number = value.get<double>();
    if (std::trunc(number) == number && std::abs(number) < 9e15) {
      return static_cast<std::int64_t>(number);
    }
  }
  return std::nullopt;
}

}  // namespace

void FieldErrors::Add(std::string_view field, std::string_view problem, std::string_view fix) {
  AddLine(MessageOf(FieldError(field, problem, fix)));
}

void FieldErrors::AddLine(std::string line) {
  // A field may be read twice; what is wrong with it is said once.
  if (std::find(lines_.begin(), lines_.end(), line) != lines_.end()) return;
  if (lines_.size() < kMaxErrors) lines_.push_back(std::move(line));
}

absl::Status FieldErrors::status() const {
  if (lines_.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(Join(lines_, "\n"));
}

std::string JoinPath(std::string_view parent, std::string_view key) {
  if (!PlainName(key)) return StrCat(parent, "[\"", key, "\"]");
  if (parent.empty()) return std::string(key);
  return StrCat(parent, ".", key);
}

std::string Shown(const nlohmann::json& value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > 60) text = StrCat(text.substr(0, 57), "...");
  return text;
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string lower = Lower(word);
  std::string best;
  int best_distance = std::max(1, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(lower, Lower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

FieldReader::FieldReader(const nlohmann::json* value, std::string path, UnknownFields unknown,
                         FieldErrors* errors)
    : path_(std::move(path)), unknown_(unknown), errors_(errors) {
  if (value == nullptr || value->is_null()) return;
  if (!value->is_object()) {
    Expected(path_.empty() ? "(object)" : path_, "an object", *value, "write fields below it");
    return;
  }
  object_ = value;
}

void FieldReader::Expected(std::string_view field, std::string_view what, const nlohmann::json& got,
                           std::string_view fix) {
  errors_->Add(field, StrCat("expected ", what, ", got ", Shown(got)), fix);
}

const nlohmann::json* FieldReader::Find(std::string_view key) {
  known_.emplace_back(key);
  if (object_ == nullptr) return nullptr;
  auto it = object_->find(std::string(key));
  return it == object_->end() || it->is_null() ? nullptr : &*it;
}

const nlohmann::json* FieldReader::FindArray(std::string_view key) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr || value->is_array()) return value;
  Expected(PathOf(key), "a list", *value, "write [ ] or a line with - for each entry");
  return nullptr;
}

const nlohmann::json* FieldReader::FindObject(std::string_view key) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr || value->is_object()) return value;
  Expected(PathOf(key), "an object", *value, "write fields below it");
  return nullptr;
}

std::int64_t FieldReader::Int64(std::string_view key, std::int64_t fallback, std::int64_t min,
                                std::int64_t max) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return fallback;
  const std::optional<std::int64_t> number = WholeNumber(*value);
  if (number && *number >= min && *number <= max) return *number;
  Expected(PathOf(key), StrCat("an integer from ", min, " to ", max), *value,
           value->is_string() ? "write the number without quotes" : "give a number in that range");
  return fallback;
}

double FieldReader::Number(std::string_view key, double fallback, double min, double max) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return fallback;
  if (value->is_number()) {
    const double number = value->get<double>();
    if (number >= min && number <= max) return number;
  }
  Expected(PathOf(key), StrCat("a number from ", min, " to ", max), *value,
           value->is_string() ? "write the number without quotes" : "give a number in that range");
  return fallback;
}

bool FieldReader::Bool(std::string_view key, bool fallback) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return fallback;
  if (value->is_boolean()) return value->get<bool>();
  Expected(PathOf(key), "true or false", *value, "write one of them without quotes");
  return fallback;
}

std::string FieldReader::String(std::string_view key, std::string_view fallback) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return std::string(fallback);
  if (value->is_string()) return value->get<std::string>();
  Expected(PathOf(key), "a string", *value, "put it in quotes");
  return std::string(fallback);
}

std::string FieldReader::RequiredString(std::string_view key) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr || (value->is_string() && value->get_ref<const std::string&>().empty())) {
    errors_->Add(PathOf(key), "is missing", "give it a value");
    return "";
  }
  return String(key);
}

std::int64_t FieldReader::TimeMs(std::string_view key) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return 0;
  if (value->is_string()) {
    absl::StatusOr<std::int64_t> time = ParseTime(value->get_ref<const std::string&>());
    if (time.ok()) return *time;
  }
  Expected(PathOf(key), "a time", *value, "write it as 2026-01-02T03:04:05Z");
  return 0;
}

std::size_t FieldReader::Choice(std::string_view key, std::vector<std::string_view> names,
                                std::size_t fallback) {
  const nlohmann::json* value = Find(key);
  if (value == nullptr) return fallback;
  if (value->is_string()) {
    const auto& text = value->get_ref<const std::string&>();
    const auto it = std::find(names.begin(), names.end(), text);
    if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
    const std::string meant = Nearest(text, {names.begin(), names.end()});
    Expected(PathOf(key), OneOf(names), *value,
             meant.empty() ? "use one of them" : StrCat("did you mean ", meant, "?"));
    return fallback;
  }
  Expected(PathOf(key), OneOf(names), *value, "use one of them");
  return fallback;
}

FieldReader FieldReader::Object(std::string_view key) {
  return {FindObject(key), PathOf(key), unknown_, errors_};
}

FieldReader FieldReader::OpenObject(std::string_view key) {
  return {FindObject(key), PathOf(key), UnknownFields::kIgnore, errors_};
}

std::vector<FieldReader> FieldReader::Objects(std::string_view key) {
  std::vector<FieldReader> out;
  const nlohmann::json* list = FindArray(key);
  if (list == nullptr) return out;
  out.reserve(list->size());
  for (std::size_t i = 0; i < list->size(); ++i) {
    out.emplace_back(&(*list)[i], StrCat(PathOf(key), "[", i, "]"), unknown_, errors_);
  }
  return out;
}

std::vector<std::pair<std::string, FieldReader>> FieldReader::Members(std::string_view key) {
  std::vector<std::pair<std::string, FieldReader>> out;
  const nlohmann::json* object = FindObject(key);
  if (object == nullptr) return out;
  for (const auto& [name, value] : object->items()) {
    out.emplace_back(name, FieldReader(&value, JoinPath(PathOf(key), name), unknown_, errors_));
  }
  return out;
}

std::vector<std::string> FieldReader::Keys() const {
  std::vector<std::string> out;
  if (object_ == nullptr) return out;
  for (const auto& [name, value] : object_->items()) out.push_back(name);
  return out;
}

std::vector<std::string> FieldReader::Strings(std::string_view key) {
  std::vector<std::string> out;
  const nlohmann::json* list = FindArray(key);
  if (list == nullptr) return out;
  for (std::size_t i = 0; i < list->size(); ++i) {
    if ((*list)[i].is_string()) {
      out.push_back((*list)[i].get<std::string>());
    } else {
      Expected(StrCat(PathOf(key), "[", i, "]"), "a string", (*list)[i], "put it in quotes");
    }
  }
  return out;
}

std::vector<int> FieldReader::Ints(std::string_view key, int min, int max) {
  std::vector<int> out;
  const nlohmann::json* list = FindArray(key);
  if (list == nullptr) return out;
  for (std::size_t i = 0; i < list->size(); ++i) {
    const std::optional<std::int64_t> number = WholeNumber((*list)[i]);
    if (number && *number >= min && *number <= max) {
      out.push_back(static_cast<int>(*number));
    } else {
      Expected(StrCat(PathOf(key), "[", i, "]"), StrCat("an integer from ", min, " to ", max),
               (*list)[i], "give a number in that range");
    }
  }
  return out;
}

std::map<std::string, std::string> FieldReader::StringMap(std::string_view key) {
  std::map<std::string, std::string> out;
  const nlohmann::json* object = FindObject(key);
  if (object == nullptr) return out;
  for (const auto& [name, value] : object->items()) {
    if (value.is_string()) {
      out.emplace(name, value.get<std::string>());
    } else {
      Expected(JoinPath(PathOf(key), name), "a string", value, "put it in quotes");
    }
  }
  return out;
}

void FieldReader::Close() {
  if (object_ == nullptr || unknown_ == UnknownFields::kIgnore) return;
  for (const auto& [name, value] : object_->items()) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) continue;
    const std::string meant = Nearest(name, known_);
    errors_->Add(PathOf(name), "there is no such field",
                 meant.empty() ? "remove it" : StrCat("did you mean ", meant, "?"));
  }
}

}  // namespace yardmaster::api
