#include "pkg/api/field_schema.h"

#include <cstdint>
#include <utility>

#include "nlohmann/json.hpp"

#include "pkg/base/strings.h"

namespace yardmaster::api {

namespace {

using nlohmann::json;

json IntSchema(std::int64_t min, std::int64_t max, bool is_int32) {
  json out = {{"type", "integer"}, {"format", is_int32 ? "int32" : "int64"}};
  // A field that may have any number says so, where the format alone would have to.
  const bool any = is_int32 && min == INT32_MIN && max == INT32_MAX;
  if (any || min != (is_int32 ? INT32_MIN : INT64_MIN)) out["minimum"] = min;
  if (any || max != (is_int32 ? INT32_MAX : INT64_MAX)) out["maximum"] = max;
  return out;
}

// As a whole number where it is one, as people write it.
json Short(double number) {
  const bool whole = number >= -1e18 && number <= 1e18 &&
                     number == static_cast<double>(static_cast<std::int64_t>(number));
  return whole ? json(static_cast<std::int64_t>(number)) : json(number);
}

json ListSchema(const ListRule& rule, json items, const char* entry) {
  if (*entry != '\0') items["description"] = entry;
  json out = {{"type", "array"}, {"items", std::move(items)}};
  if (rule.min_entries > 0) out["minItems"] = rule.min_entries;
  if (rule.max_entries != kNoLimit) out["maxItems"] = rule.max_entries;
  out["x-kubernetes-list-type"] = rule.is_set ? "set" : rule.map_key.empty() ? "atomic" : "map";
  if (!rule.map_key.empty()) out["x-kubernetes-list-map-keys"] = json::array({rule.map_key});
  return out;
}

class FieldSchema final : public FieldVisitor {
 public:
  explicit FieldSchema(json& out) : out_(out) {}

  void Ints(const char* key, std::vector<int>& values, int min, int max, const ListRule& rule,
            const About& about, const char* entry) override {
    Put(key, ListSchema(rule, IntSchema(min, max, true), entry), about, values);
  }
  void Texts(const char* key, std::vector<std::string>& values, const ListRule& rule,
             const TextRule& text, const About& about, const char* entry) override {
    Put(key, ListSchema(rule, TextSchema(text), entry), about, values);
  }
  void TextMap(const char* key, std::map<std::string, std::string>& values, int max_entries,
               const TextRule& text, const About& about) override {
    json schema = {{"type", "object"}, {"additionalProperties", TextSchema(text)}};
    if (max_entries != kNoLimit) schema["maxProperties"] = max_entries;
    Put(key, std::move(schema), about, values);
  }
  void Parsed(const char* key, const TextRule& rule, const About& about,
              absl::FunctionRef<void(FieldReader&)> /*read*/,
              absl::FunctionRef<std::string()> write) override {
    Put(key, TextSchema(rule), about, about.has_default ? json(write()) : json());
  }
  void Custom(const char* key, absl::FunctionRef<json()> schema, const About& about,
              absl::FunctionRef<void(FieldReader&)> /*read*/,
              absl::FunctionRef<json()> write) override {
    Put(key, schema(), about, about.has_default ? write() : json());
  }
  void Rule(const char* cel, const char* message, const char* path, const char* unless) override {
    json rule = {{"rule", *unless == '\0' ? cel : StrCat(unless, " || ", cel)},
                 {"message", message}};
    if (*path != '\0') rule["fieldPath"] = path;
    out_["x-kubernetes-validations"].push_back(std::move(rule));
  }

 protected:
  bool IsVisited(const char* /*key*/, bool /*given*/) override { return true; }
  void VisitWhole(const char* key, std::int64_t& value, const WholeRule& rule,
                  const About& about) override {
    Put(key, IntSchema(rule.min, rule.max, rule.is_int32), about, value);
  }
  void VisitNumber(const char* key, double& value, double min, double max,
                   const About& about) override {
    json schema = {{"type", "number"}, {"format", "double"}};
    if (min > -kNoMaximum) schema["minimum"] = Short(min);
    // The API server compares whole numbers as int64, which a larger maximum overflows.
    if (max < static_cast<double>(INT64_MAX)) schema["maximum"] = Short(max);
    Put(key, std::move(schema), about, Short(value));
  }
  void VisitBool(const char* key, bool& value, const About& about) override {
    Put(key, {{"type", "boolean"}}, about, value);
  }
  void VisitText(const char* key, std::string& value, const TextRule& rule,
                 const About& about) override {
    Put(key, TextSchema(about.read_required ? NotEmpty(rule) : rule), about, value);
  }
  void VisitTime(const char* key, std::int64_t& /*value_ms*/, const About& about) override {
    Put(key, {{"type", "string"}, {"format", "date-time"}}, about, nullptr);
  }
  std::size_t VisitChoice(const char* key, std::size_t index, Names names,
                          const std::size_t* /*unknown*/, const About& about) override {
    json schema = {{"type", "string"}};
    for (const std::string_view name : names) schema["enum"].push_back(name);
    Put(key, std::move(schema), about, names[index]);
    return index;
  }
  bool VisitObject(const char* key, bool given, bool /*optional*/, const About& about,
                   absl::FunctionRef<void(FieldVisitor&)> describe) override {
    json schema = {{"type", "object"}};
    FieldSchema inner(schema);
    describe(inner);
    Put(key, std::move(schema), about, json::object());
    return given;
  }
  void VisitObjects(const char* key, std::size_t /*size*/, const ListRule& rule, const About& about,
                    const char* entry, absl::FunctionRef<void(std::size_t)> resize,
                    absl::FunctionRef<void(std::size_t, FieldVisitor&)> describe) override {
    json items = {{"type", "object"}};
    FieldSchema inner(items);
    resize(1);
    describe(0, inner);
    Put(key, ListSchema(rule, std::move(items), entry), about, json::array());
  }

 private:
  void Put(const char* key, json schema, const About& about, json value) {
    schema["description"] = about.text;
    if (about.has_default) schema["default"] = std::move(value);
    if (about.required) out_["required"].push_back(key);
    out_["properties"][key] = std::move(schema);
  }

  json& out_;
};

}  // namespace

json TextSchema(const TextRule& rule) {
  json out = {{"type", "string"}};
  if (rule.min_length > 0) out["minLength"] = rule.min_length;
  if (rule.max_length != kNoLimit) out["maxLength"] = rule.max_length;
  if (*rule.pattern != '\0') out["pattern"] = rule.pattern;
  return out;
}

json SchemaOfFields(const char* meaning, absl::FunctionRef<void(FieldVisitor&)> describe) {
  json out = {{"type", "object"}, {"description", meaning}};
  FieldSchema schema(out);
  describe(schema);
  return out;
}

json SchemaOfResource(const char* meaning, absl::FunctionRef<void(FieldVisitor&)> describe) {
  json out = SchemaOfFields(meaning, describe);
  out["properties"]["apiVersion"] = out["properties"]["kind"] = {{"type", "string"}};
  out["properties"]["metadata"] = {{"type", "object"}};
  return out;
}

std::vector<std::string> NamesOfFields(absl::FunctionRef<void(FieldVisitor&)> describe) {
  std::vector<std::string> names;
  const json schema = SchemaOfFields("", describe);  // items() keeps no temporary alive
  for (const auto& [name, field] : schema["properties"].items()) {
    names.push_back(name);
  }
  return names;
}

}  // namespace yardmaster::api
