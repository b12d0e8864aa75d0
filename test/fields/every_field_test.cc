// Every field of the spec of TrainingJob, CapacityPool and Fabric, wrong once: the schema refuses the value at
// apply, and the codec, which the operator and the command line read objects with, names the field. The fields
// are taken from the schemas, so a new one is in the test without a line here.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/capacity_pool.h"
#include "pkg/api/fabric.h"
#include "pkg/api/training_job.h"
#include "pkg/base/status.h"
#include "pkg/base/strings.h"
#include "test/fields/schema.h"

namespace yardmaster {
namespace {

using fields::Example;
using fields::IsOpen;
using fields::IsQuantity;
using fields::Refuses;
using nlohmann::json;

json SpecSchemaOf(const std::string& plural) {
  return fields::SchemaOf(plural)["properties"]["spec"];
}

// Values that the field must not have: of another type, no name of its list, and beyond its bounds.
std::vector<json> WrongValues(const json& schema) {
  if (IsQuantity(schema)) return {json::array()};
  const std::string type = schema.value("type", "");
  std::vector<json> wrong;
  wrong.push_back(type == "string" ? json(1) : json("wrong"));
  if (schema.contains("enum") && type == "string") wrong.push_back("wrong");
  if (type == "integer" && !schema.contains("enum")) {
    if (schema.contains("minimum")) wrong.push_back(schema["minimum"].get<std::int64_t>() - 1);
    if (schema.contains("maximum")) wrong.push_back(schema["maximum"].get<std::int64_t>() + 1);
    wrong.push_back(1.5);
  }
  if (type == "number" && schema.contains("minimum")) {
    wrong.push_back(schema["minimum"].get<double>() - 1);
  }
  return wrong;
}

struct Field {
  json::json_pointer at;  // from the spec
  std::string path;       // as errors name it, "spec.offers[0].type"
  json schema;
};

// Depth first, parents before their fields.
void Collect(const json& schema, const json::json_pointer& at, const std::string& path,
             std::vector<Field>& fields) {
  if (schema.contains("properties")) {
    for (const auto& [name, child] : schema["properties"].items()) {
      fields.push_back({at / name, StrCat(path, ".", name), child});
      Collect(child, at / name, StrCat(path, ".", name), fields);
    }
  }
  if (schema.contains("additionalProperties")) {
    const json& child = schema["additionalProperties"];
    fields.push_back({at / "key", StrCat(path, ".key"), child});
    Collect(child, at / "key", StrCat(path, ".key"), fields);
  }
  if (schema.contains("items")) {
    fields.push_back({at / "0", StrCat(path, "[0]"), schema["items"]});
    Collect(schema["items"], at / "0", StrCat(path, "[0]"), fields);
  }
}

std::set<std::string> LinesOf(const absl::Status& status) {
  std::set<std::string> lines;
  if (status.ok()) return lines;
  for (const std::string& line : Split(MessageOf(status), '\n')) lines.insert(line);
  return lines;
}

// A line that speaks of the field, or of the list or map that it is an entry of.
bool Names(const std::string& line, const std::string& path) {
  if (line.rfind(path, 0) == 0) return true;
  const std::size_t entry = path.rfind("[0]");
  return entry != path.npos && entry + 3 == path.size() &&
         line.rfind(path.substr(0, entry), 0) == 0;
}

using Decode = std::function<absl::Status(const json& object)>;

// Each field wrong in the object that has every field. What is wrong with that object itself, because its
// fields contradict each other, is left out. Returns how many fields there were.
std::size_t WalkEveryField(const std::string& plural, const json& example, const json& schema,
                           const Decode& decode) {
  std::vector<Field> fields;
  Collect(schema, json::json_pointer(), "spec", fields);
  const std::set<std::string> always = LinesOf(decode(example));
  for (const Field& field : fields) {
    const std::vector<json> all_wrong = WrongValues(field.schema);
    EXPECT_FALSE(all_wrong.empty()) << plural << " " << field.path;
    for (const json& wrong : all_wrong) {
      EXPECT_TRUE(Refuses(field.schema, wrong))
          << plural << " " << field.path << " = " << wrong << ": the schema takes it";
      json object = example;
      object["spec"][field.at] = wrong;
      bool named = false;
      for (const std::string& line : LinesOf(decode(object))) {
        named |= always.count(line) == 0 && Names(line, field.path) &&
                 line.find("there is no such field") == line.npos;
      }
      EXPECT_TRUE(named) << plural << " " << field.path << " = " << wrong
                         << ": the codec does not name the field, it says\n"
                         << decode(object);
    }
  }
  return fields.size();
}

json ObjectOf(const char* kind, json spec) {
  return {{"apiVersion", api::kGroupVersion},
          {"kind", kind},
          {"metadata", {{"name", "a"}, {"namespace", "default"}}},
          {"spec", std::move(spec)}};
}

TEST(EveryFieldTest, OfATrainingJobIsRefusedWithItsNameWhenItIsWrong) {
  const json schema = SpecSchemaOf("trainingjobs");
  const std::size_t fields =
      WalkEveryField("trainingjobs", ObjectOf(api::kTrainingJobKind, Example(schema)), schema,
                     [](const json& object) { return api::DecodeTrainingJob(object).status(); });
  EXPECT_GE(fields, 100u);
}

TEST(EveryFieldTest, OfACapacityPoolIsRefusedWithItsNameWhenItIsWrong) {
  const json schema = SpecSchemaOf("capacitypools");
  json object = ObjectOf(api::kCapacityPoolKind, Example(schema));
  object["metadata"].erase("namespace");
  const std::size_t fields = WalkEveryField("capacitypools", object, schema, [](const json& pool) {
    return api::DecodeCapacityPool(pool).status();
  });
  EXPECT_GE(fields, 20u);
}

TEST(EveryFieldTest, OfAFabricIsRefusedWithItsNameWhenItIsWrong) {
  const json schema = SpecSchemaOf("fabrics");
  json object = ObjectOf(api::kFabricKind, Example(schema));
  object["metadata"].erase("namespace");
  const std::size_t fields = WalkEveryField("fabrics", object, schema, [](const json& fabric) {
    return api::DecodeFabric(fabric).status();
  });
  EXPECT_GE(fields, 50u);
}

// A bound, a list of names, or at least a type: nothing is taken unread. What Kubernetes reads itself, a pod
// template, is open and says so, and so are the parameters of a hash, which depend on its model.
TEST(EveryFieldTest, HasATypeThatTheServerChecks) {
  for (const char* plural : {"trainingjobs", "capacitypools", "fabrics"}) {
    std::vector<Field> fields;
    Collect(SpecSchemaOf(plural), json::json_pointer(), "spec", fields);
    for (const Field& field : fields) {
      EXPECT_TRUE(field.schema.contains("type") || IsQuantity(field.schema))
          << plural << " " << field.path;
      const bool by_model = field.path.find("ecmpHash") != field.path.npos;
      EXPECT_TRUE(!IsOpen(field.schema) || by_model ||
                  field.path.find("template") != field.path.npos)
          << plural << " " << field.path;
    }
  }
}

}  // namespace
}  // namespace yardmaster
