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

TEST(PodTemplateTest, ItSaysWhatQueuesAndClaimsItNames) {
  const json object = json::parse(R"({"template": {
    "metadata": {"labels": {"kueue.x-k8s.io/queue-name": "research", "kueue.x-k8s.io/podset": "main"}},
    "spec": {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "eight"}]}},
    "other": {"spec": {"resourceClaims": []}}})");
  FieldErrors errors;
  const PodTemplate kept = Read(object, errors);
  EXPECT_EQ(kept.queue(), "research");
  EXPECT_TRUE(kept.admitted_by_queue());
  EXPECT_TRUE(kept.has_claims());
  FieldReader in(object, "spec", UnknownFields::kIgnore, &errors);
  const PodTemplate other = PodTemplate::Read(in, "other");
  EXPECT_TRUE(other.queue().empty() && !other.admitted_by_queue() && !other.has_claims());
  EXPECT_TRUE(errors.empty()) << errors.status();
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

TEST(PodTemplateTest, OneThatIsTooLargeOrTooDeepIsAnErrorThatNamesTheField) {
  const json large = {{"template", {{"spec", {{"x", std::string(300'000, 'x')}}}}}};
  std::string nested = R"({"template": {"spec": {"x": )";
  nested += std::string(5'000, '[') + std::string(5'000, ']') + "}}}";
  JsonParser parser;
  const auto deep = parser.Parse(nested);
  ASSERT_TRUE(deep.ok()) << deep.status();
  const std::pair<JsonView, const char*> cases[] = {{JsonView(large), "262144"},
                                                    {*deep, "64 values"}};
  for (const auto& [object, says] : cases) {
    FieldErrors errors;
    EXPECT_EQ(Read(object, errors).bytes(), 0u);
    ASSERT_EQ(errors.lines().size(), 1u);
    EXPECT_TRUE(errors.lines()[0].starts_with("spec.template: ")) << errors.lines()[0];
    EXPECT_NE(errors.lines()[0].find(says), std::string::npos) << errors.lines()[0];
  }
}

}  // namespace
}  // namespace yardmaster::api
