#include "pkg/api/pod_template.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/pod_manifest.h"
#include "pkg/json/json_view.h"

namespace yardmaster::api {
namespace {

using nlohmann::json;

PodTemplate Read(JsonView object, FieldErrors& errors) {
  FieldReader in(object, "spec", UnknownFields::kIgnore, &errors);
  return PodTemplate::Read(in, "template");
}

TEST(PodTemplateTest, WhatIsKeptIsWhatWasWritten) {
  const json object = json::parse(R"({"template": {"metadata": {"labels": {"a": "b"}}, "spec": {
    "hostNetwork": true, "priorityClassName": "gold", "containers": [
      {"name": "c", "image": "i", "lifecycle": {"preStop": {"exec": {"command": ["x"]}}}}]}}})");
  FieldErrors errors;
  const PodTemplate kept = Read(object, errors);
  EXPECT_TRUE(errors.empty()) << errors.status();
  EXPECT_EQ(kept.ToJson(), object["template"]);
  EXPECT_EQ(EncodePodManifest(kept.Manifest()), object["template"]);
  EXPECT_TRUE(kept.host_network());
  EXPECT_TRUE(kept.has_pre_stop_hook());
  EXPECT_EQ(kept.priority_class(), "gold");
  EXPECT_EQ(kept.bytes(), object["template"].dump().size());
}

TEST(PodTemplateTest, OneThatIsLeftOutIsEmpty) {
  const json object = json::object();
  FieldErrors errors;
  for (const PodTemplate& empty : {PodTemplate(), Read(object, errors)}) {
    EXPECT_EQ(empty.ToJson(), json::object());
    EXPECT_TRUE(empty.Manifest().containers.empty());
    EXPECT_FALSE(empty.has_pre_stop_hook());
  }
}

TEST(PodTemplateTest, NestingOfAnyDepthIsReadAndWritten) {
  std::string nested;
  for (int i = 0; i < 50'000; ++i) nested += R"({"a":)";
  nested += "1" + std::string(50'000, '}');
  JsonParser parser;
  const auto object =
      parser.Parse(R"({"template": {"spec": {"x": )" + nested + R"(, "hostNetwork": true}}})");
  ASSERT_TRUE(object.ok()) << object.status();
  FieldErrors errors;
  const PodTemplate kept = Read(*object, errors);
  EXPECT_TRUE(kept.host_network());
  EXPECT_EQ(kept.Manifest().spec.count("x"), 1u);
}

}  // namespace
}  // namespace yardmaster::api
