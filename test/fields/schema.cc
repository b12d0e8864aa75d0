#include "test/fields/schema.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string_view>

#include "gtest/gtest.h"

#include "pkg/base/clock.h"
#include "pkg/base/strings.h"
#include "pkg/config/yaml.h"

namespace yardmaster::fields {

using nlohmann::json;

namespace {

// A string that a pattern of the schemas takes, and one that it only just does not.
struct PatternExample {
  std::string good;
  std::string bad;
};

const PatternExample& ExampleOf(const std::string& pattern) {
  static const auto* const examples = new std::map<std::string, PatternExample>{
      {R"(^[0-9]+m?$)", {"500m", "500k"}},
      {R"(^[A-Za-z0-9._-]+$)", {"Leaf_3.b", "leaf 3"}},
      {R"(^[0-9]{1,10}(\.[0-9]{1,6})? [A-Z]{3}$)", {"1.50 USD", "00000000001 USD"}},
      {R"(^(tp|cp|ep|dp|pp)(-(tp|cp|ep|dp|pp)){0,4}$)", {"tp-cp-dp-pp", "tp-"}},
      {R"(^/)", {"/x", "x/"}},
      {R"(^[0-9A-Fa-f:.]{2,45}$)", {"fd00::", "fd00::g"}},
      {R"(^[a-z]([-a-z0-9]*[a-z0-9])?$)", {"a", "a-"}},
      {R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)",
       {"500m", "1 Gi"}},
  };
  static const PatternExample none;
  const auto example = examples->find(pattern);
  if (example != examples->end()) return example->second;
  ADD_FAILURE() << "give ExampleOf() strings for the pattern " << pattern;
  return none;
}

// Keywords that limit no value, whose limits stand in their children, or that belong to another
// one. `required` is among them: what an object lacks, codecs complete or report with more than the
// schema does. Validation rules (CEL) have tests of their own.
constexpr std::string_view kOtherKeywords[] = {"additionalProperties",
                                               "anyOf",
                                               "default",
                                               "description",
                                               "items",
                                               "properties",
                                               "required",
                                               "x-kubernetes-int-or-string",
                                               "x-kubernetes-list-map-keys",
                                               "x-kubernetes-preserve-unknown-fields",
                                               "x-kubernetes-validations"};

// Whether a value cannot violate the keyword. The API server takes formats of numbers as
// descriptions.
bool LimitsNothing(const std::string& keyword, const json& value) {
  if (keyword == "format") return value == "int32" || value == "int64" || value == "double";
  if (keyword == "x-kubernetes-list-type") return value == "atomic";
  return std::find(std::begin(kOtherKeywords), std::end(kOtherKeywords), keyword) !=
         std::end(kOtherKeywords);
}

// A string that the schema takes; several calls with different numbers give different ones where
// that is possible.
json StringOf(const json& schema, int number = 0) {
  if (schema.contains("enum")) return schema["enum"][number % schema["enum"].size()];
  if (schema.value("format", "") == "date-time") return "2026-01-02T03:04:05Z";
  if (schema.contains("pattern")) {
    const std::string good = ExampleOf(schema["pattern"]).good;
    const std::string longer = StrCat(good, number);
    return number > 0 && !Refuses(schema, longer) ? longer : good;
  }
  return number == 0 ? json("x") : json(StrCat("x", number));
}

// `text` with characters of its own until it has `length` of them.
std::string Lengthened(std::string text, std::size_t length) {
  if (text.empty()) text = "x";
  const std::string last = text.substr(text.size() - 1);
  while (text.size() < length) text += last;
  return text;
}

json DrawString(const json& schema, Random& random) {
  if (schema.contains("pattern") || schema.contains("format")) return StringOf(schema);
  const int min = schema.value("minLength", 0);
  switch (random.Below(4)) {
    case 0:
      return std::string(static_cast<std::size_t>(min), 'x');
    case 1:
      return std::string(schema.value("maxLength", std::size_t{1}), 'x');
    default:
      return StringOf(schema, static_cast<int>(random.Below(3)));
  }
}

// What tells an entry of a set or map from the others; null in a list of another type.
json KeyOf(const json& schema, const json& entry) {
  if (schema.value("uniqueItems", false)) return entry;
  const std::string type = schema.value("x-kubernetes-list-type", "");
  if (type == "set") return entry;
  if (type != "map") return nullptr;
  json key = json::array();
  for (const json& name : schema["x-kubernetes-list-map-keys"]) {
    key.push_back(entry.value(name.get<std::string>(), json()));
  }
  return key;
}

bool IsDistinct(const json& schema, const json& list) {
  std::set<json> keys;
  return std::all_of(list.begin(), list.end(), [&](const json& entry) {
    const json key = KeyOf(schema, entry);
    return key.is_null() || keys.insert(key).second;
  });
}

json DrawInteger(const json& schema, Random& random) {
  const std::int64_t min = schema.value("minimum", std::int64_t{0});
  const std::int64_t max = schema.value("maximum", std::int64_t{1} << 40);
  switch (random.Below(4)) {
    case 0:
      return min;
    case 1:
      return max;
    case 2:
      return schema.contains("default") ? schema["default"] : json(min);
    default:
      return min + static_cast<std::int64_t>(random.Below(
                       static_cast<std::uint64_t>(std::min<std::int64_t>(max - min, 100)) + 1));
  }
}

json DrawNumber(const json& schema, Random& random) {
  const double min = schema.value("minimum", 0.0);
  const double max = schema.value("maximum", 1e15);
  switch (random.Below(3)) {
    case 0:
      return min;
    case 1:
      return max;
    default:
      return min + random.Unit() * (max - min);
  }
}

json DrawObject(const json& schema, Random& random) {
  json out = json::object();
  const json required = schema.value("required", json::array());
  if (schema.contains("properties")) {
    for (const auto& [name, child] : schema["properties"].items()) {
      const bool needed = std::find(required.begin(), required.end(), name) != required.end();
      if (needed ? random.Below(20) == 0 : random.Below(2) == 0) continue;
      out[name] = Draw(child, random);
    }
  }
  if (schema.contains("additionalProperties")) {
    const std::uint64_t entries = schema.value("minProperties", 0) + random.Below(3);
    for (std::uint64_t i = 0; i < entries; ++i) {
      out[StrCat("key", i)] = Draw(schema["additionalProperties"], random);
    }
  }
  return out;
}

}  // namespace

json SchemaOf(const std::string& plural) {
  std::ifstream in(StrCat(YARDMASTER_SOURCE_DIR, "/crds/", plural, ".yardmaster.dev.yaml"));
  const auto crd = config::ParseYaml(std::string(std::istreambuf_iterator<char>(in), {}), plural);
  EXPECT_TRUE(crd.ok()) << crd.status();
  if (!crd.ok()) return json::object();
  return (*crd)["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
}

bool IsOpen(const json& schema) {
  return schema.value("x-kubernetes-preserve-unknown-fields", false);
}

bool IsQuantity(const json& schema) { return schema.value("x-kubernetes-int-or-string", false); }

json Example(const json& schema, int number) {
  if (IsQuantity(schema)) return 1;
  const std::string type = schema.value("type", "object");
  if (type == "object") {
    json out = json::object();
    if (schema.contains("properties")) {
      for (const auto& [name, child] : schema["properties"].items()) {
        out[name] = Example(child, number);
      }
    }
    if (schema.contains("additionalProperties")) {
      out["key"] = Example(schema["additionalProperties"]);
    }
    return out;
  }
  if (type == "array") return json::array({Example(schema["items"])});
  if (type == "integer" || type == "number") {
    const auto min = schema.value("minimum", std::int64_t{1});
    return std::min(min + number, schema.value("maximum", min + number));
  }
  if (type == "boolean") return true;
  return StringOf(schema, number);
}

json Draw(const json& schema, Random& random) {
  if (IsQuantity(schema)) return random.Below(2) == 0 ? json(2) : json("500m");
  if (schema.contains("enum")) return schema["enum"][random.Below(schema["enum"].size())];
  const std::string type = schema.value("type", "object");
  if (type == "array") {
    json out = json::array();
    const std::uint64_t entries = schema.value("minItems", 0) + random.Below(3);
    for (std::uint64_t i = 0; i < entries; ++i) {
      out.push_back(Draw(schema["items"], random));
      if (!IsDistinct(schema, out)) out.erase(out.size() - 1);
    }
    return out;
  }
  if (type == "object") return DrawObject(schema, random);
  if (type == "integer") return DrawInteger(schema, random);
  if (type == "number") return DrawNumber(schema, random);
  if (type == "boolean") return random.Below(2) == 0;
  return DrawString(schema, random);
}

namespace {

bool HasType(const json& schema, const json& value) {
  if (IsQuantity(schema)) return value.is_number_integer() || value.is_string();
  const std::string type = schema.value("type", "");
  return !(type == "object" && !value.is_object()) && !(type == "array" && !value.is_array()) &&
         !(type == "string" && !value.is_string()) && !(type == "boolean" && !value.is_boolean()) &&
         !(type == "integer" && !value.is_number_integer()) &&
         !(type == "number" && !value.is_number());
}

// Of characters, entries or properties.
bool IsWithin(std::size_t size, const json& schema, const char* min, const char* max) {
  return size >= schema.value(min, std::size_t{0}) && size <= schema.value(max, size);
}

// Compiled once: that takes longer than a search.
const std::regex& RegexOf(const std::string& pattern) {
  static auto* const compiled = new std::map<std::string, std::regex>;
  return compiled->try_emplace(pattern, pattern).first->second;
}

bool IsTextOf(const json& schema, const std::string& text) {
  if (!IsWithin(text.size(), schema, "minLength", "maxLength")) return false;
  if (schema.value("format", "") == "date-time" && !ParseTime(text).ok()) return false;
  return !schema.contains("pattern") ||
         std::regex_search(text, RegexOf(schema["pattern"].get<std::string>()));
}

}  // namespace

bool Refuses(const json& schema, const json& value) {
  if (!HasType(schema, value)) return true;
  if (schema.contains("enum")) {
    const json& names = schema["enum"];
    if (std::find(names.begin(), names.end(), value) == names.end()) return true;
  }
  if (value.is_string()) return !IsTextOf(schema, value);
  if (value.is_number()) {
    const double number = value.get<double>();
    return number < schema.value("minimum", number) || number > schema.value("maximum", number);
  }
  if (value.is_array()) {
    return !IsWithin(value.size(), schema, "minItems", "maxItems") || !IsDistinct(schema, value);
  }
  return value.is_object() && !IsWithin(value.size(), schema, "minProperties", "maxProperties");
}

std::vector<Violation> Violations(const json& schema) {
  std::vector<Violation> out;
  const std::string type = schema.value("type", "");
  const auto entries = [&](std::size_t count) {
    json list = json::array();
    for (std::size_t i = 0; i < count; ++i) {
      list.push_back(Example(schema["items"], static_cast<int>(i)));
    }
    return list;
  };
  const auto members = [&](std::size_t count) {
    json object = json::object();
    for (std::size_t i = 0; i < count; ++i) {
      object[StrCat("key", i)] = Example(schema.value("additionalProperties", json::object()));
    }
    return object;
  };
  if (IsQuantity(schema)) out.push_back({json::array(), ""});
  for (const auto& [keyword, limit] : schema.items()) {
    const std::string at_most = limit.is_number() ? StrCat("at most ", limit.dump()) : "";
    if (keyword == "type") {
      out.push_back({type == "string" ? json(1) : json("wrong"), ""});
      if (type == "integer") out.push_back({1.5, ""});
    } else if (keyword == "enum") {
      out.push_back({"wrong", ""});
    } else if (keyword == "minimum") {
      out.push_back(
          {type == "integer" ? json(limit.get<std::int64_t>() - 1) : json(limit.get<double>() - 1),
           ""});
    } else if (keyword == "maximum") {
      out.push_back({type == "integer" ? json(limit.get<std::int64_t>() + 1)
                                       : json(limit.get<double>() * 1.1),
                     ""});
    } else if (keyword == "minLength") {
      out.push_back({std::string(limit.get<std::size_t>() - 1, 'x'), ""});
    } else if (keyword == "maxLength") {
      out.push_back({Lengthened(StringOf(schema), limit.get<std::size_t>() + 1), at_most});
    } else if (keyword == "pattern") {
      out.push_back({ExampleOf(limit).bad, ""});
    } else if (keyword == "format" && limit == "date-time") {
      out.push_back({"2026-01-02", ""});
    } else if (keyword == "minItems") {
      out.push_back({entries(limit.get<std::size_t>() - 1), ""});
    } else if (keyword == "maxItems") {
      out.push_back({entries(limit.get<std::size_t>() + 1), at_most});
    } else if (keyword == "uniqueItems" ||
               (keyword == "x-kubernetes-list-type" && (limit == "set" || limit == "map"))) {
      const json entry = Example(schema["items"]);
      out.push_back({json::array({entry, entry}), ""});
    } else if (keyword == "minProperties") {
      out.push_back({members(limit.get<std::size_t>() - 1), ""});
    } else if (keyword == "maxProperties") {
      out.push_back({members(limit.get<std::size_t>() + 1), at_most});
    } else if (!LimitsNothing(keyword, limit)) {
      ADD_FAILURE() << "Violations() and Refuses() do not know the keyword " << keyword << ": "
                    << limit;
    }
  }
  return out;
}

std::vector<std::string> Complaints(const json& schema, const json& value,
                                    const std::string& path) {
  if (value.is_null()) return {};
  if (Refuses(schema, value)) return {StrCat(path, ": refused: ", value.dump())};
  std::vector<std::string> out;
  const auto add = [&](std::vector<std::string> more) {
    out.insert(out.end(), more.begin(), more.end());
  };
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      add(Complaints(schema["items"], value[i], StrCat(path, "[", i, "]")));
    }
  }
  if (!value.is_object() || IsOpen(schema)) return out;
  const json properties = schema.value("properties", json::object());
  for (const auto& [name, child] : value.items()) {
    const std::string at = StrCat(path, ".", name);
    if (properties.contains(name)) {
      add(Complaints(properties[name], child, at));
    } else if (schema.contains("additionalProperties")) {
      add(Complaints(schema["additionalProperties"], child, at));
    } else {
      add({StrCat(at, ": is dropped")});
    }
  }
  return out;
}

}  // namespace yardmaster::fields
