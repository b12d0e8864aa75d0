#include "pkg/base/namespaced_name.h"

#include <vector>

#include "gtest/gtest.h"

namespace yardmaster {
namespace {

TEST(NamespacedNameTest, NamesOrderByNamespaceThenNameByteByByte) {
  const std::vector<NamespacedName> rising = {{"", "z"},  {"a", "B"},  {"a", "a"},
                                              {"a", "b"}, {"a-", "a"}, {"b", ""}};
  for (std::size_t i = 0; i < rising.size(); ++i) {
    for (std::size_t j = 0; j < rising.size(); ++j) {
      EXPECT_EQ(rising[i] <=> rising[j], i <=> j) << rising[i].text() << " " << rising[j].text();
      EXPECT_EQ(NamespacedNameView(rising[i]) <=> NamespacedNameView(rising[j]), i <=> j);
    }
  }
}

TEST(NamespacedNameTest, ANameEqualsTheViewOfItsParts) {
  const NamespacedName name{"default", "a"};
  EXPECT_EQ(NamespacedNameView(name), NamespacedNameView("default", "a"));
  EXPECT_NE(NamespacedNameView(name), NamespacedNameView("a", "default"));
  EXPECT_EQ(name.text(), "default/a");
}

}  // namespace
}  // namespace yardmaster
