#include "pkg/api/field_reader.h"

#include <algorithm>
#include <set>

#include "absl/strings/ascii.h"
#include "nlohmann/json.hpp"

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

constexpr std::size_t kMaxErrors = 50;
constexpr std::size_t kMaxLineBytes = 512;
constexpr std::size_t kMaxEntries = 65'536;
constexpr std::size_t kMaxWordBytes = 64;

bool PlainName(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-';
  });
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

// Of UTF-8, as the API server counts them.
std::int64_t Characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(),
                       [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

std::string Entries(int count) { return StrCat(count, count == 1 ? " entry" : " entries"); }

std::string WholeText(JsonView value) {
  return value.ToJson().dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string OneOf(std::span<const std::string_view> names) {
  std::string text;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) text += i + 1 == names.size() ? " or " : ", ";
    text += names[i];
  }
  return text;
}

// The abbreviations of parallel training that papers and launchers use, and the fields they mean.
std::string FieldOfAbbreviation(std::string_view name, const std::vector<std::string>& fields) {
  static constexpr std::pair<std::string_view, std::string_view> kAbbreviations[] = {
      {"tp", "tensor"}, {"pp", "pipeline"}, {"dp", "data"}, {"ep", "expert"}, {"cp", "context"}};
  for (const auto& [abbreviation, field] : kAbbreviations) {
    if (name != abbreviation) continue;
    if (std::find(fields.begin(), fields.end(), field) != fields.end()) return std::string(field);
  }
  return Nearest(name, fields);
}

// "400G", "400 Gb/s": a number with its unit.
bool IsNumberWithUnit(const std::string& text) {
  const std::size_t digits = text.find_first_not_of("0123456789.");
  return digits != 0 && digits != std::string::npos;
}

// What to do about a value that is not the number that `field` needs; the field's name ends with
// its unit where it has one.
std::string FixOfNumber(std::string_view field, JsonView got) {
  if (!got.is_string()) return "give a number in that range";
  const std::string text = got.Text();
  if (!IsNumberWithUnit(text)) return "write the number without quotes";
  const std::string number = text.substr(0, text.find_first_not_of("0123456789."));
  const bool gbps = field.ends_with("gbps") || field.ends_with("Gbps");
  return StrCat("write the number alone, for example ", number, gbps ? "; the unit is Gb/s" : "");
}

}  // namespace

void FieldErrors::Add(std::string_view field, std::string_view problem, std::string_view fix) {
  AddLine(MessageOf(FieldError(field, problem, fix)));
}

void FieldErrors::AddLine(std::string line) {
  ++added_;
  if (line.size() > kMaxLineBytes) line = StrCat(CutAtCharacter(line, kMaxLineBytes - 3), "...");
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

std::string Shown(JsonView value) {
  if (value.is_object()) return "an object";
  if (value.is_array()) return "a list";
  std::string text = WholeText(value);
  if (text.size() > 60) text = StrCat(CutAtCharacter(text, 57), "...");
  return text;
}

std::string Nearest(std::string_view word, const std::vector<std::string>& candidates) {
  if (word.size() > kMaxWordBytes) return "";
  const std::string lower = absl::AsciiStrToLower(std::string(word));
  std::string best;
  int best_distance = std::max(1, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& candidate : candidates) {
    const int distance = EditDistance(lower, absl::AsciiStrToLower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

FieldReader::FieldReader(JsonView value, std::string path, UnknownFields unknown,
                         FieldErrors* errors)
    : path_(std::move(path)), unknown_(unknown), errors_(errors) {
  if (!value.present() || value.is_null()) return;
  if (!value.is_object()) {
    Expected(path_.empty() ? "(object)" : path_, "an object", value, "write fields below it");
    return;
  }
  object_ = value;
}

void FieldReader::Expected(std::string_view field, std::string_view what, JsonView got,
                           std::string_view fix) {
  errors_->Add(field, StrCat("expected ", what, ", got ", Shown(got)), fix);
}

JsonView FieldReader::Find(std::string_view key) {
  if (strict()) known_.emplace_back(key);
  const JsonView value = object_[key];
  return value.is_null() ? JsonView() : value;
}

JsonView FieldReader::FindArray(std::string_view key, const ListRule& rule) {
  const JsonView value = Find(key);
  if (!value.present()) return value;
  if (value.is_array()) {
    const std::size_t entries = value.size();
    if (!strict() && entries > kMaxEntries) {
      CheckCount(PathOf(key), entries, 0, static_cast<int>(kMaxEntries));
      return {};
    }
    if (strict()) {
      CheckCount(PathOf(key), entries, rule.min_entries, rule.max_entries);
      CheckDistinct(PathOf(key), value, rule);
    }
    return value;
  }
  Expected(PathOf(key), "a list", value, "write [ ] or a line with - for each entry");
  return {};
}

JsonView FieldReader::FindObject(std::string_view key) {
  const JsonView value = Find(key);
  if (!value.present() || value.is_object()) return value;
  Expected(PathOf(key), "an object", value, "write fields below it");
  return {};
}

void FieldReader::CheckTextAt(const std::string& field, JsonView value, const TextRule& rule) {
  const std::string_view text = value.String().value_or("");
  const std::int64_t length = Characters(text);
  if (length < rule.min_length) {
    Expected(field, StrCat("at least ", Count(rule.min_length, "character")), value,
             "give it a value or leave it out");
  } else if (length > rule.max_length) {
    errors_->Add(field,
                 StrCat("expected at most ", Count(rule.max_length, "character"), ", got ", length),
                 "shorten it");
  } else if (rule.matches != nullptr && !rule.matches(text)) {
    Expected(field, rule.form, value, "write it in that form");
  }
}

void FieldReader::CheckCount(const std::string& field, std::size_t count, int min, int max) {
  const auto entries = static_cast<std::int64_t>(count);
  if (entries < min) {
    errors_->Add(field, StrCat("expected at least ", Entries(min), ", got ", entries), "add one");
  }
  if (entries > max) {
    errors_->Add(field, StrCat("expected at most ", Entries(max), ", got ", entries),
                 "leave some out");
  }
}

void FieldReader::CheckDistinct(const std::string& field, JsonView list, const ListRule& rule) {
  if (!rule.is_set && rule.map_key.empty()) return;
  std::set<std::string> seen;
  std::size_t i = 0;
  list.ForEachElement([&](JsonView entry) {
    const std::string at = StrCat(field, "[", i++, "]");
    const JsonView value = rule.is_set ? entry : entry[rule.map_key];
    if (!value.present() || seen.insert(WholeText(value)).second) return;
    Expected(rule.is_set ? at : JoinPath(at, rule.map_key), "a value that no earlier entry has",
             value, rule.is_set ? "leave it out" : "change it or leave the entry out");
  });
}

std::int64_t FieldReader::Int64(std::string_view key, std::int64_t fallback, std::int64_t min,
                                std::int64_t max) {
  const JsonView value = Find(key);
  if (!value.present()) return fallback;
  const std::optional<std::int64_t> number = value.WholeNumber();
  if (number && *number >= min && *number <= max) return *number;
  Expected(PathOf(key), StrCat("an integer from ", min, " to ", max), value,
           FixOfNumber(key, value));
  return fallback;
}

double FieldReader::Number(std::string_view key, double fallback, double min, double max) {
  const JsonView value = Find(key);
  if (!value.present()) return fallback;
  const std::optional<double> number = value.Number();
  if (number && *number >= min && *number <= max) return *number;
  Expected(PathOf(key), StrCat("a number from ", min, " to ", max), value, FixOfNumber(key, value));
  return fallback;
}

bool FieldReader::Bool(std::string_view key, bool fallback) {
  const JsonView value = Find(key);
  if (!value.present()) return fallback;
  if (const std::optional<bool> given = value.Bool()) return *given;
  Expected(PathOf(key), "true or false", value, "write one of them without quotes");
  return fallback;
}

std::string FieldReader::String(std::string_view key, const TextRule& rule,
                                std::string_view fallback) {
  const JsonView value = Find(key);
  if (!value.present()) return std::string(fallback);
  if (value.is_string()) {
    if (strict()) CheckTextAt(PathOf(key), value, rule);
    return value.Text();
  }
  Expected(PathOf(key), "a string", value, "put it in quotes");
  return std::string(fallback);
}

std::string FieldReader::RequiredString(std::string_view key, const TextRule& rule) {
  const JsonView value = Find(key);
  if (!value.present() || value.String() == std::string_view()) {
    errors_->Add(PathOf(key), "is missing", "give it a value");
    return "";
  }
  return String(key, rule);
}

void FieldReader::CheckText(std::string_view key, const TextRule& rule) {
  if (strict()) String(key, rule);
}

std::int64_t FieldReader::TimeMs(std::string_view key) {
  const JsonView value = Find(key);
  if (!value.present()) return 0;
  if (value.is_string()) {
    absl::StatusOr<std::int64_t> time = ParseTime(value.Text());
    if (time.ok()) return *time;
  }
  Expected(PathOf(key), "a time", value, "write it as 2026-01-02T03:04:05Z");
  return 0;
}

std::size_t FieldReader::Choice(std::string_view key, std::span<const std::string_view> names,
                                std::size_t fallback) {
  const JsonView value = Find(key);
  if (!value.present()) return fallback;
  if (const std::optional<std::string_view> text = value.String()) {
    const auto it = std::find(names.begin(), names.end(), *text);
    if (it != names.end()) return static_cast<std::size_t>(it - names.begin());
    const std::string meant = Nearest(*text, {names.begin(), names.end()});
    Expected(PathOf(key), OneOf(names), value,
             meant.empty() ? "use one of them" : StrCat("did you mean ", meant, "?"));
    return fallback;
  }
  Expected(PathOf(key), OneOf(names), value, "use one of them");
  return fallback;
}

FieldReader FieldReader::Object(std::string_view key) {
  return {FindObject(key), PathOf(key), unknown_, errors_};
}

FieldReader FieldReader::OpenObject(std::string_view key) {
  return {FindObject(key), PathOf(key), UnknownFields::kIgnore, errors_};
}

std::vector<FieldReader> FieldReader::Objects(std::string_view key, const ListRule& rule) {
  std::vector<FieldReader> out;
  const std::string path = PathOf(key);
  FindArray(key, rule).ForEachElement([&](JsonView value) {
    out.emplace_back(value, StrCat(path, "[", out.size(), "]"), unknown_, errors_);
  });
  return out;
}

std::vector<std::pair<std::string, FieldReader>> FieldReader::Members(std::string_view key,
                                                                      int max_entries) {
  std::vector<std::pair<std::string, FieldReader>> out;
  const JsonView members = FindObject(key);
  if (strict()) CheckCount(PathOf(key), members.size(), 0, max_entries);
  members.ForEachMember([&](std::string_view name, JsonView value) {
    out.emplace_back(name, FieldReader(value, JoinPath(PathOf(key), name), unknown_, errors_));
  });
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

std::vector<std::string> FieldReader::Keys() const {
  std::vector<std::string> out;
  object_.ForEachMember([&](std::string_view name, JsonView) { out.emplace_back(name); });
  std::sort(out.begin(), out.end());
  return out;
}

void FieldReader::ForEachField(
    absl::FunctionRef<void(std::string_view key, JsonView value)> call) const {
  object_.ForEachMember([&](std::string_view key, JsonView value) {
    if (!value.is_null()) call(key, value);
  });
}

std::vector<std::string> FieldReader::Strings(std::string_view key, const ListRule& rule,
                                              const TextRule& entry) {
  std::vector<std::string> out;
  std::size_t i = 0;
  FindArray(key, rule).ForEachElement([&](JsonView value) {
    const auto at = [&] { return StrCat(PathOf(key), "[", i, "]"); };
    if (value.is_string()) {
      if (strict()) CheckTextAt(at(), value, entry);
      out.push_back(value.Text());
    } else {
      Expected(at(), "a string", value, "put it in quotes");
    }
    ++i;
  });
  return out;
}

std::vector<int> FieldReader::Ints(std::string_view key, int min, int max, const ListRule& rule) {
  std::vector<int> out;
  std::size_t i = 0;
  FindArray(key, rule).ForEachElement([&](JsonView value) {
    const std::optional<std::int64_t> number = value.WholeNumber();
    if (number && *number >= min && *number <= max) {
      out.push_back(static_cast<int>(*number));
    } else {
      Expected(StrCat(PathOf(key), "[", i, "]"), StrCat("an integer from ", min, " to ", max),
               value, "give a number in that range");
    }
    ++i;
  });
  return out;
}

std::map<std::string, std::string> FieldReader::StringMap(std::string_view key, int max_entries,
                                                          const TextRule& rule) {
  std::map<std::string, std::string> out;
  const JsonView members = FindObject(key);
  if (strict()) CheckCount(PathOf(key), members.size(), 0, max_entries);
  members.ForEachMember([&](std::string_view name, JsonView value) {
    const auto at = [&] { return JoinPath(PathOf(key), name); };
    if (value.is_string()) {
      if (strict()) CheckTextAt(at(), value, rule);
      out.emplace(name, value.Text());
    } else {
      Expected(at(), "a string", value, "put it in quotes");
    }
  });
  return out;
}

void FieldReader::CheckEntries(int max_entries) {
  if (strict() && present()) CheckCount(path_, object_.size(), 0, max_entries);
}

void FieldReader::Close() {
  if (!strict()) return;
  object_.ForEachMember([&](std::string_view name, JsonView) {
    if (std::find(known_.begin(), known_.end(), name) != known_.end()) return;
    const std::string meant = FieldOfAbbreviation(name, known_);
    errors_->Add(PathOf(name), "there is no such field",
                 meant.empty() ? "remove it" : StrCat("did you mean ", meant, "?"));
  });
}

}  // namespace yardmaster::api
