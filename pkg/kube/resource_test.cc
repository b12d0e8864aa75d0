#include "pkg/kube/resource.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/base/status.h"
#include "pkg/kube/object.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;
using testing::HasSubstr;

TEST(ResourceTest, PathsFollowGroupNamespaceNameAndSubresource) {
  EXPECT_EQ(*CollectionPath({Pods(), "", "", ""}), "/api/v1/pods");
  EXPECT_EQ(*CollectionPath({Pods(), "default", "", ""}), "/api/v1/namespaces/default/pods");
  EXPECT_EQ(*ObjectPath({Pods(), "default", "p0", "binding"}),
            "/api/v1/namespaces/default/pods/p0/binding");
  EXPECT_EQ(*ObjectPath({Fabrics(), "", "hpn", "status"}),
            "/apis/yardmaster.dev/v1alpha1/fabrics/hpn/status");
  EXPECT_EQ(*ObjectPath({Leases(), "yardmaster-system", "x", ""}),
            "/apis/coordination.k8s.io/v1/namespaces/yardmaster-system/leases/x");
}

TEST(ResourceTest, WhatCannotBeAPathIsRefusedAndNamesTheField) {
  EXPECT_THAT(MessageOf(ObjectPath({Pods(), "", "p0", ""}).status()), HasSubstr("namespace"));
  EXPECT_THAT(MessageOf(ObjectPath({Pods(), "default", "", ""}).status()), HasSubstr("name"));
  EXPECT_FALSE(ObjectPath({Nodes(), "", "a/b", ""}).ok());
  EXPECT_FALSE(ObjectPath({Nodes(), "", "..", ""}).ok());
  EXPECT_FALSE(CollectionPath({Pods(), "a/../b", "", ""}).ok());
  EXPECT_FALSE(CollectionPath({Nodes(), "default", "", ""}).ok());
}

TEST(ResourceTest, PercentEncodingLeavesOnlyUnreservedCharacters) {
  EXPECT_EQ(PercentEncode("a=b,c in (d)"), "a%3Db%2Cc%20in%20%28d%29");
  EXPECT_EQ(PercentEncode("A-z_0.9~"), "A-z_0.9~");
  EXPECT_EQ(PercentEncode("\xc3\xa9"), "%C3%A9");
}

TEST(ObjectTest, StrangeObjectsGiveEmptyAnswers) {
  for (const char* text : {"null", "3", "[]", "{}", R"({"metadata":[]})",
                           R"({"metadata":{"name":7,"namespace":null}})"}) {
    EXPECT_EQ(NameOf(json::parse(text)), "") << text;
    EXPECT_EQ(KeyOf(json::parse(text)), "") << text;
  }
}

TEST(ObjectTest, AKeyOfAClusterScopedObjectIsItsName) {
  EXPECT_EQ(MakeKey("ns", "a"), "ns/a");
  EXPECT_EQ(MakeKey("", "a"), "a");
}

}  // namespace
}  // namespace yardmaster::kube
