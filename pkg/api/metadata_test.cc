#include "pkg/api/metadata.h"

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

namespace yardmaster::api {
namespace {

using nlohmann::json;

ObjectMeta Read(const json& metadata, Namespaced namespaced, FieldErrors& errors) {
  const json object = {{"metadata", metadata}};
  FieldReader in(&object, "", UnknownFields::kReject, &errors);
  return ReadMetadata(in, namespaced);
}

TEST(MetadataTest, WhatIsWrittenReadsBackEqual) {
  ObjectMeta meta;
  meta.name = "a";
  meta.namespace_name = "team";
  for (bool full : {false, true}) {
    if (full) {
      meta.uid = "u";
      meta.resource_version = "17";
      meta.generation = INT64_MAX;
      meta.created_ms = 1'700'000'000'000;
      meta.deleted_ms = 1'700'000'001'000;
      meta.labels = {{"a.b/c", "1"}, {"d", ""}};
      meta.annotations = {{"x", "{\"y\":1}"}};
      meta.owners = {{"batch/v1", "Job", "j", "u2", true}, {"v1", "Pod", "p", "u3", false}};
      meta.finalizers = {"b", "a"};
    }
    FieldErrors errors;
    EXPECT_EQ(Read(EncodeMetadata(meta), Namespaced::kYes, errors), meta);
    EXPECT_TRUE(errors.empty()) << errors.status();
  }
}

TEST(MetadataTest, OnlyNamespacedKindsHaveANamespaceAndTheirsIsDefaultWhereNoneIsGiven) {
  FieldErrors errors;
  for (const json& given : {json(), json("")}) {
    const json metadata = {{"name", "a"}, {"namespace", given}};
    EXPECT_EQ(Read(metadata, Namespaced::kYes, errors).namespace_name, "default");
    EXPECT_EQ(Read(metadata, Namespaced::kNo, errors).namespace_name, "");
  }
  const json elsewhere = {{"name", "a"}, {"namespace", "team"}};
  EXPECT_EQ(Read(elsewhere, Namespaced::kYes, errors).namespace_name, "team");
  EXPECT_TRUE(errors.empty()) << errors.status();
}

TEST(MetadataTest, AMissingNameIsAnErrorAndFieldsOfTheApiServerAreNot) {
  FieldErrors errors;
  Read({{"name", "a"}, {"managedFields", json::array()}, {"selfLink", "x"}}, Namespaced::kNo,
       errors);
  EXPECT_TRUE(errors.empty()) << errors.status();
  for (const json& metadata : {json(), json::object(), json{{"name", ""}}}) {
    FieldErrors of_this;
    Read(metadata, Namespaced::kNo, of_this);
    ASSERT_EQ(of_this.lines().size(), 1u) << metadata.dump();
    EXPECT_EQ(of_this.lines()[0], "metadata.name: is missing; give it a value");
  }
}

TEST(MetadataTest, TheControllerIsTheOwnerThatSaysSo) {
  ObjectMeta meta;
  EXPECT_EQ(meta.controller(), nullptr);
  meta.owners = {{"v1", "A", "a", "1", false}};
  EXPECT_EQ(meta.controller(), nullptr);
  meta.owners.push_back({"v1", "B", "b", "2", true});
  EXPECT_EQ(meta.controller(), &meta.owners[1]);
}

// Few entries are compared one by one, many are searched.
TEST(MetadataTest, AnEntryIsFoundInMapsOfEverySize) {
  std::map<std::string, std::string> map;
  for (int entries = 0; entries <= 70; ++entries) {
    EXPECT_FALSE(Find(map, "wanted").has_value()) << entries;
    map["wanted"] = "";
    EXPECT_EQ(Find(map, "wanted"), std::optional<std::string_view>("")) << entries;
    map["wanted"] = "value";
    EXPECT_EQ(Find(map, "wanted"), std::optional<std::string_view>("value")) << entries;
    EXPECT_FALSE(Find(map, "wante").has_value()) << entries;
    map.erase("wanted");
    map["key" + std::to_string(entries)] = "other";
    map["xkey" + std::to_string(entries)] = "other";
  }
}

TEST(MetadataTest, AnotherKindIsNamedAndOneThatIsLeftOutIsNot) {
  auto problems = [](const json& object) {
    FieldErrors errors;
    FieldReader in(&object, "", UnknownFields::kReject, &errors);
    ReadTypeMeta(in, "v1", "Node");
    return errors.lines();
  };
  EXPECT_TRUE(problems({{"apiVersion", "v1"}, {"kind", "Node"}}).empty());
  EXPECT_TRUE(problems(json::object()).empty());
  const std::vector<std::string> wrong = {
      "apiVersion: expected v1, got \"v2\"; this program reads v1",
      "kind: expected Node, got \"Pod\"; this program reads Node"};
  EXPECT_EQ(problems({{"apiVersion", "v2"}, {"kind", "Pod"}}), wrong);
}

}  // namespace
}  // namespace yardmaster::api
