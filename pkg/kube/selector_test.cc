#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/kube/testing/object_selector.h"

namespace yardmaster::kube {
namespace {

using nlohmann::json;

bool LabelsMatch(std::string_view selector) {
  const json object = {{"metadata", {{"labels", {{"app", "web"}, {"tier", "1"}}}}}};
  auto parsed = ObjectSelector::Parse(selector);
  EXPECT_TRUE(parsed.ok()) << selector;
  return parsed.ok() && parsed->Matches(object);
}

TEST(SelectorTest, LabelRequirementsMustAllHold) {
  for (const char* selector :
       {"", "app", "app=web", "app==web", "app = web", "app!=db", "db!=x", "!db",
        "app in (db, web)", "app notin (db),tier=1", "db notin (x)"}) {
    EXPECT_TRUE(LabelsMatch(selector)) << selector;
  }
  for (const char* selector : {"db", "app=db", "!app", "app!=web", "app in (db)", "db in (x)",
                               "app notin (web, db)", "app=web,tier=2"}) {
    EXPECT_FALSE(LabelsMatch(selector)) << selector;
  }
}

TEST(SelectorTest, BrokenSelectorsAreErrors) {
  for (const char* selector : {"a b", "=x", "a in b", "a in (b", "a like (b)"}) {
    EXPECT_FALSE(ObjectSelector::Parse(selector).ok()) << selector;
  }
  EXPECT_FALSE(FieldSelector::Parse("spec.nodeName").ok());
}

TEST(SelectorTest, MissingFieldsAreEmpty) {
  const json pod = {{"metadata", {{"name", "p"}}}, {"spec", {{"nodeName", "n1"}}}};
  auto matches = [&](std::string_view text) { return FieldSelector::Parse(text)->Matches(pod); };
  EXPECT_TRUE(matches("spec.nodeName=n1,metadata.name==p"));
  EXPECT_TRUE(matches("status.phase!=Failed"));
  EXPECT_TRUE(matches("status.phase="));
  EXPECT_FALSE(matches("spec.nodeName="));
  EXPECT_FALSE(matches("spec.nodeName!=n1"));
}

}  // namespace
}  // namespace yardmaster::kube
