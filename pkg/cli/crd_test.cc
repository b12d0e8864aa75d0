// The CRDs against the codecs: what one accepts the other knows, field by field.
#include <fstream>
#include <functional>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/capacity_pool.h"
#include "pkg/api/fabric.h"
#include "pkg/api/field_codec.h"
#include "pkg/api/gang.h"
#include "pkg/api/training_job.h"
#include "pkg/base/strings.h"
#include "pkg/cli/input/presets.h"
#include "pkg/config/yaml.h"

namespace yardmaster::cli {
namespace {

using nlohmann::json;

json Crd(const std::string& plural) {
  std::ifstream in(StrCat(YARDMASTER_SOURCE_DIR, "/crds/", plural, ".yardmaster.dev.yaml"));
  auto object = config::ParseYaml(std::string(std::istreambuf_iterator<char>(in), {}), plural);
  EXPECT_TRUE(object.ok()) << object.status();
  return object.ok() ? *object : json();
}

json SchemaOf(const std::string& plural) {
  return Crd(plural)["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
}

// Visits every schema below `schema` with its path.
void Visit(const json& schema, const std::string& path,
           const std::function<void(const json&, const std::string&)>& visit) {
  visit(schema, path);
  if (schema.contains("properties")) {
    for (const auto& [name, child] : schema["properties"].items()) {
      Visit(child, path + "." + name, visit);
    }
  }
  for (const char* key : {"items", "additionalProperties"}) {
    if (schema.contains(key)) Visit(schema[key], path + "[]", visit);
  }
}

// A value of the schema with every property present, so that a strict decoder meets every field.
json Example(const json& schema) {
  if (schema.contains("enum")) return schema["enum"][0];
  if (schema.contains("default") && !schema["default"].is_object() &&
      !schema["default"].is_array()) {
    return schema["default"];
  }
  const std::string type = schema["type"];
  if (type == "object") {
    json out = json::object();
    if (schema.contains("properties")) {
      for (const auto& [name, child] : schema["properties"].items()) out[name] = Example(child);
    }
    return out;
  }
  if (type == "array") return json::array({Example(schema["items"])});
  if (type == "integer" || type == "number") return schema.value("minimum", 0);
  if (type == "boolean") return true;
  if (schema.value("format", "") == "date-time") return "2026-01-02T03:04:05Z";
  return "x";
}

// Lines of a decoding error that speak of a field the decoder does not have.
std::string UnknownFieldsIn(const absl::Status& status) {
  std::string out;
  for (const std::string& line : Split(MessageOf(status), '\n')) {
    if (line.find("there is no such field") != std::string::npos) out += line + "\n";
  }
  return out;
}

json ExampleOf(const char* plural, const char* kind) {
  json object = Example(SchemaOf(plural));
  object["apiVersion"] = "yardmaster.dev/v1alpha1";
  object["kind"] = kind;
  object["metadata"] = {{"name", "x"}};
  return object;
}

TEST(CrdTest, TheCodecsKnowEveryFieldOfTheSchemas) {
  EXPECT_EQ(
      UnknownFieldsIn(api::DecodeTrainingJob(ExampleOf("trainingjobs", "TrainingJob")).status()),
      "");
  EXPECT_EQ(UnknownFieldsIn(api::DecodeGang(ExampleOf("gangs", "Gang")).status()), "");
  json fabric = ExampleOf("fabrics", "Fabric");
  fabric["spec"].erase("ecmpHash");
  fabric["spec"].erase("ecmpHashOverrides");
  EXPECT_EQ(UnknownFieldsIn(api::DecodeFabric(fabric).status()), "");
  EXPECT_EQ(
      UnknownFieldsIn(api::DecodeCapacityPool(ExampleOf("capacitypools", "CapacityPool")).status()),
      "");
}

// Every key of `object` must be a property of the schema (or the schema open).
void ExpectCovered(const json& object, const json& schema, const std::string& path) {
  if (schema.value("x-kubernetes-preserve-unknown-fields", false)) return;
  if (object.is_array()) {
    for (const json& item : object) ExpectCovered(item, schema["items"], path + "[]");
    return;
  }
  if (!object.is_object()) return;
  for (const auto& [key, value] : object.items()) {
    if (schema.contains("properties") && schema["properties"].contains(key)) {
      ExpectCovered(value, schema["properties"][key], path + "." + key);
    } else if (schema.contains("additionalProperties")) {
      ExpectCovered(value, schema["additionalProperties"], path + "." + key);
    } else {
      ADD_FAILURE() << path << "." << key << " is written and the API server would drop it";
    }
  }
}

TEST(CrdTest, TheSchemasKnowEveryFieldThatIsWritten) {
  for (const Preset& preset : Presets()) {
    auto fabric = LoadPreset(std::string(preset.name));
    ASSERT_TRUE(fabric.ok());
    fabric->status.hosts = 1;
    fabric->spec.levels.traffic_class_of_level = {{1, 32}};
    const json written = api::EncodeFabric(*fabric);
    ExpectCovered(written["spec"], SchemaOf("fabrics")["properties"]["spec"], "spec");
    ExpectCovered(written["status"], SchemaOf("fabrics")["properties"]["status"], "status");
  }
  api::Gang gang;
  gang.job.parallelism_given = true;
  gang.job.placement.data.mode = workload::Enforcement::kPreferred;
  gang.job.profile.data_bytes = 1;
  gang.job.model = {1e9,
                    1,
                    1,
                    1,
                    true,
                    1,
                    1,
                    1,
                    false,
                    1,
                    1,
                    1,
                    1,
                    1,
                    1,
                    api::Precision::kFp8,
                    api::Precision::kFp32,
                    workload::Sharding::kOptimizer,
                    true};
  EXPECT_EQ(api::EncodeObject(*gang.job.model).size(), 19u);
  gang.constraints.gpu_model = "m";
  gang.constraints.tolerations = {{"k", api::TolerationOperator::kExists, "", ""}};
  gang.rank_bases = {{"0", 0}};
  gang.status.outcome = placement::Outcome::kNotNow;
  gang.status.reasons = {{}};
  gang.status.relaxations = {{}};
  gang.job.may_preempt = false;
  gang.status.network.emplace();
  gang.status.preemption = {1, {{"n", "g", "u"}}, {"h"}};
  gang.status.fabric = "f";
  gang.status.assignments = {{0, "n", "p", "s", {0}}};
  api::CapacityPool pool;
  pool.allocatable = {{"cpu", 1000}};
  pool.zone = pool.fabric_pod = pool.segment = "z";
  pool.node_labels = {{"k", "v"}};
  pool.offers = {{}};
  pool.offers[0].node_labels = {{"k", "v"}};
  pool.scaling = {"class", {{"k", "v"}}, api::NodeClassReference{"g", "K", "n"}};
  ExpectCovered(api::EncodeCapacityPool(pool)["spec"],
                SchemaOf("capacitypools")["properties"]["spec"], "spec");
  api::CapacityStatus rented;
  rented.currency = "USD";
  rented.hosts = {{}};
  rented.hosts[0].node_labels = {{"k", "v"}};
  rented.avoided = {{}};
  const json job_status = SchemaOf("trainingjobs")["properties"]["status"];
  ExpectCovered({{"capacity", api::EncodeCapacityStatus(rented)}}, job_status, "status");
  const json written = api::EncodeGang(gang);
  ExpectCovered(written["spec"], SchemaOf("gangs")["properties"]["spec"], "spec");
  ExpectCovered(written["status"], SchemaOf("gangs")["properties"]["status"], "status");
}

TEST(CrdTest, TrainingJobsAndGangsDescribeAJobAlike) {
  const json job = SchemaOf("trainingjobs")["properties"]["spec"]["properties"];
  const json gang = SchemaOf("gangs")["properties"]["spec"]["properties"];
  for (const char* field :
       {"workers", "gpusPerWorker", "parallelism", "placement", "profile", "model", "priority",
        "preemptible", "preemptionPolicy", "runSeconds", "reserveAfterSeconds"}) {
    json of_job = job[field];
    json of_gang = gang[field];
    // Workers of a TrainingJob are alike; those of a Gang may be roles.
    of_job.erase("description");
    of_gang.erase("description");
    EXPECT_EQ(of_job, of_gang) << field;
  }
}

TEST(CrdTest, EverythingIsBoundedAndDescribed) {
  for (const char* plural : {"fabrics", "trainingjobs", "gangs", "capacitypools"}) {
    const json schema = SchemaOf(plural);
    for (const char* part : {"spec", "status"}) {
      Visit(schema["properties"][part], StrCat(plural, ".", part),
            [](const json& s, const std::string& path) {
              if (s.value("x-kubernetes-int-or-string", false)) return;  // a quantity
              ASSERT_TRUE(s.contains("type")) << path;
              EXPECT_TRUE(s.contains("description") || path.back() == ']') << path;
              if (s["type"] == "array") {
                EXPECT_TRUE(s.contains("maxItems")) << path;
                EXPECT_TRUE(s.contains("x-kubernetes-list-type")) << path;
              }
              if (s["type"] == "string" && !s.contains("enum") &&
                  s.value("format", "") != "date-time") {
                EXPECT_TRUE(s.contains("maxLength")) << path;
              }
              if (s.contains("additionalProperties")) {
                EXPECT_TRUE(s.contains("maxProperties")) << path;
              }
            });
    }
  }
}

TEST(CrdTest, EveryRuleSaysWhatToDo) {
  for (const char* plural : {"fabrics", "trainingjobs", "gangs"}) {
    int rules = 0;
    Visit(SchemaOf(plural), plural, [&](const json& s, const std::string& path) {
      if (!s.contains("x-kubernetes-validations")) return;
      for (const json& rule : s["x-kubernetes-validations"]) {
        ++rules;
        const std::string message = rule["message"];
        EXPECT_NE(message.find("; "), std::string::npos) << path << ": " << message;
      }
    });
    EXPECT_GE(rules, 3) << plural;
  }
}

TEST(CrdTest, AllHaveStatusShortNamesColumnsAndOurCategory) {
  for (const char* plural : {"fabrics", "trainingjobs", "gangs", "capacitypools"}) {
    const json crd = Crd(plural);
    EXPECT_EQ(crd["metadata"]["name"], StrCat(plural, ".yardmaster.dev"));
    EXPECT_EQ(crd["spec"]["names"]["categories"], json::array({"yardmaster"}));
    EXPECT_FALSE(crd["spec"]["names"]["shortNames"].empty());
    EXPECT_TRUE(crd["spec"]["versions"][0]["subresources"].contains("status"));
    EXPECT_GE(crd["spec"]["versions"][0]["additionalPrinterColumns"].size(), 5u);
  }
}

}  // namespace
}  // namespace yardmaster::cli
