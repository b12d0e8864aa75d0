// Every field of the custom resources, wrong once for each keyword by which its schema limits it:
// the API server refuses the value at apply, and the codec, with which the command line reads what
// people wrote, names the field and how to mend it. Fields and keywords are taken from the schemas,
// so a new one is in the test without a line here.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/capacity_pool.h"
#include "pkg/api/fabric.h"
#include "pkg/api/gang.h"
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
using fields::Violation;
using fields::Violations;
using nlohmann::json;

struct Field {
  json::json_pointer at;
  std::string path;  // as errors name it, "spec.offers[0].type"
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

// Of spec and status.
std::vector<Field> FieldsOf(const std::string& plural) {
  std::vector<Field> fields;
  const json properties = fields::SchemaOf(plural)["properties"];
  for (const char* part : {"spec", "status"}) {
    Collect(properties[part], json::json_pointer() / part, part, fields);
  }
  return fields;
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

// A line that is new because of the violation.
bool Reports(const std::string& line, const Field& field, const Violation& violation) {
  return Names(line, field.path) && line.find("; ") != line.npos &&
         line.find(violation.says) != line.npos && line.find("there is no such field") == line.npos;
}

// Each field wrong in the object that has every field. What is wrong with that object itself,
// because its fields contradict each other, is left out. Returns how many fields there were.
std::size_t WalkEveryField(const std::string& plural, const char* kind, const Decode& decode) {
  const json properties = fields::SchemaOf(plural)["properties"];
  const json example = {{"apiVersion", api::kGroupVersion},
                        {"kind", kind},
                        {"metadata", {{"name", "a"}}},
                        {"spec", Example(properties["spec"])},
                        {"status", Example(properties["status"])}};
  const std::set<std::string> always = LinesOf(decode(example));
  const std::vector<Field> fields = FieldsOf(plural);
  for (const Field& field : fields) {
    const std::vector<Violation> violations = Violations(field.schema);
    EXPECT_FALSE(violations.empty()) << plural << " " << field.path;
    for (const Violation& violation : violations) {
      const std::string shown = violation.value.dump().substr(0, 100);
      EXPECT_TRUE(Refuses(field.schema, violation.value))
          << plural << " " << field.path << " = " << shown << ": the schema takes it";
      json object = example;
      object[field.at] = violation.value;
      const std::set<std::string> lines = LinesOf(decode(object));
      EXPECT_TRUE(std::any_of(lines.begin(), lines.end(),
                              [&](const std::string& line) {
                                return always.count(line) == 0 && Reports(line, field, violation);
                              }))
          << plural << " " << field.path << " = " << shown
          << ": the codec does not name the field, it says\n"
          << Join(std::vector<std::string>(lines.begin(), lines.end()), "\n");
    }
  }
  return fields.size();
}

TEST(EveryFieldTest, OfATrainingJobIsRefusedWithItsNameWhenItIsWrong) {
  EXPECT_GE(WalkEveryField("trainingjobs", api::kTrainingJobKind,
                           [](const json& job) { return api::DecodeTrainingJob(job).status(); }),
            200u);
}

TEST(EveryFieldTest, OfACapacityPoolIsRefusedWithItsNameWhenItIsWrong) {
  EXPECT_GE(WalkEveryField("capacitypools", api::kCapacityPoolKind,
                           [](const json& pool) { return api::DecodeCapacityPool(pool).status(); }),
            20u);
}

TEST(EveryFieldTest, OfAFabricIsRefusedWithItsNameWhenItIsWrong) {
  EXPECT_GE(WalkEveryField("fabrics", api::kFabricKind,
                           [](const json& fabric) { return api::DecodeFabric(fabric).status(); }),
            60u);
}

TEST(EveryFieldTest, OfAGangIsRefusedWithItsNameWhenItIsWrong) {
  EXPECT_GE(WalkEveryField("gangs", api::kGangKind,
                           [](const json& gang) { return api::DecodeGang(gang).status(); }),
            160u);
}

// A bound, a list of names, or at least a type: nothing is taken unread. What Kubernetes reads
// itself, a pod template, is open and says so, and so are the parameters of a hash, which depend on
// its model.
TEST(EveryFieldTest, HasATypeThatTheServerChecks) {
  for (const char* plural : {"trainingjobs", "capacitypools", "fabrics", "gangs"}) {
    for (const Field& field : FieldsOf(plural)) {
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
