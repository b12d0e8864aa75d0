#include "test/fields/schema.h"

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <map>

#include "gtest/gtest.h"

#include "pkg/base/strings.h"
#include "pkg/config/yaml.h"

namespace yardmaster::fields {

using nlohmann::json;

namespace {

// A string for every pattern of the schemas.
const std::map<std::string, std::string>& Examples() {
  static const auto* const examples = new std::map<std::string, std::string>{
      {R"(^[0-9]+m?$)", "500m"},
      {R"(^[0-9]{1,10}(\.[0-9]{1,6})? [A-Z]{3}$)", "1.50 USD"},
      {R"(^(tp|cp|ep|dp|pp)(-(tp|cp|ep|dp|pp)){0,4}$)", "tp-cp-dp-pp"},
      {R"(^/)", "/x"},
      {R"(^[0-9A-Fa-f:.]{2,45}$)", "fd00::"},
      {R"(^[a-z]([-a-z0-9]*[a-z0-9])?$)", "a"},
  };
  return *examples;
}

json DrawString(const json& schema, Random& random) {
  if (schema.value("format", "") == "date-time") return "2026-01-02T03:04:05Z";
  if (schema.contains("pattern")) {
    const auto example = Examples().find(schema["pattern"]);
    if (example != Examples().end()) return example->second;
    ADD_FAILURE() << "give Examples() a string for the pattern " << schema["pattern"];
  }
  return random.Below(3) == 0 && schema.value("minLength", 0) == 0 ? "" : "x";
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
    const std::uint64_t entries = random.Below(3);
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

json Example(const json& schema) {
  if (IsQuantity(schema)) return 1;
  if (schema.contains("enum")) return schema["enum"][0];
  const std::string type = schema.value("type", "object");
  if (type == "object") {
    json out = json::object();
    if (schema.contains("properties")) {
      for (const auto& [name, child] : schema["properties"].items()) out[name] = Example(child);
    }
    if (schema.contains("additionalProperties")) {
      out["key"] = Example(schema["additionalProperties"]);
    }
    return out;
  }
  if (type == "array") return json::array({Example(schema["items"])});
  if (type == "integer" || type == "number") return schema.value("minimum", 1);
  if (type == "boolean") return true;
  return "x";
}

json Draw(const json& schema, Random& random) {
  if (IsQuantity(schema)) return random.Below(2) == 0 ? json(2) : json("500m");
  if (schema.contains("enum")) return schema["enum"][random.Below(schema["enum"].size())];
  const std::string type = schema.value("type", "object");
  if (type == "array") {
    json out = json::array();
    const std::uint64_t entries = random.Below(3);
    for (std::uint64_t i = 0; i < entries; ++i) out.push_back(Draw(schema["items"], random));
    return out;
  }
  if (type == "object") return DrawObject(schema, random);
  if (type == "integer") return DrawInteger(schema, random);
  if (type == "number") return DrawNumber(schema, random);
  if (type == "boolean") return random.Below(2) == 0;
  return DrawString(schema, random);
}

bool Refuses(const json& schema, const json& value) {
  if (IsQuantity(schema)) return !value.is_number_integer() && !value.is_string();
  const std::string type = schema.value("type", "");
  if (type == "object" && !value.is_object()) return true;
  if (type == "array" && !value.is_array()) return true;
  if (type == "string" && !value.is_string()) return true;
  if (type == "boolean" && !value.is_boolean()) return true;
  if (type == "integer" && !value.is_number_integer()) return true;
  if (type == "number" && !value.is_number()) return true;
  if (schema.contains("enum")) {
    const json& names = schema["enum"];
    return std::find(names.begin(), names.end(), value) == names.end();
  }
  if (value.is_number()) {
    const double number = value.get<double>();
    return (schema.contains("minimum") && number < schema["minimum"].get<double>()) ||
           (schema.contains("maximum") && number > schema["maximum"].get<double>());
  }
  return false;
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
