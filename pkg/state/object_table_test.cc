#include "pkg/state/object_table.h"

#include <map>
#include <random>
#include <string>

#include "gtest/gtest.h"

#include "pkg/api/node.h"
#include "pkg/base/strings.h"
#include "pkg/base/testing/rounds.h"

namespace yardmaster::state {
namespace {

using Table = ObjectTable<api::Node>;
using Key = std::pair<std::string, std::string>;
using Reference = std::map<Key, Table::Ptr>;

Table::Ptr Object(const std::string& ns, const std::string& name) {
  api::Node node;
  node.metadata.namespace_name = ns;
  node.metadata.name = name;
  return std::make_shared<const api::Node>(node);
}

void ExpectSame(const Table& table, const Reference& reference) {
  ASSERT_EQ(table.size(), reference.size());
  auto expected = reference.begin();
  for (const Table::Ptr& object : table) {
    EXPECT_EQ(object, expected->second);
    ++expected;
  }
  EXPECT_EQ(expected, reference.end());
}

// What Differences has to report, from the contents alone.
std::vector<std::pair<Table::Ptr, Table::Ptr>> Expected(const Reference& before,
                                                        const Reference& after) {
  std::map<Key, std::pair<Table::Ptr, Table::Ptr>> both;
  for (const auto& [key, object] : before) both[key].first = object;
  for (const auto& [key, object] : after) both[key].second = object;
  std::vector<std::pair<Table::Ptr, Table::Ptr>> out;
  for (const auto& [key, pair] : both) {
    if (pair.first != pair.second) out.push_back(pair);
  }
  return out;
}

TEST(ObjectTableTest, KeepsTheNewestObjectOfEveryKeyInKeyOrder) {
  Table table;
  table.Put(Object("b", "x"));
  table.Put(Object("a", "y"));
  const Table::Ptr newer = Object("b", "x");
  table.Put(newer);
  EXPECT_EQ(table.size(), 2u);
  EXPECT_EQ(table.front()->metadata.namespace_name, "a");
  EXPECT_EQ(table.Find({"b", "x"}), newer);
  EXPECT_EQ(table.Find({"b", "y"}), nullptr);
  EXPECT_TRUE(table.Erase({"a", "y"}));
  EXPECT_FALSE(table.Erase({"a", "y"}));
  EXPECT_EQ(table.front(), newer);
}

TEST(ObjectTableTest, ATableOfAVectorIsTheOneThatPutsMake) {
  for (std::uint32_t seed = 1; seed <= 30; ++seed) {
    std::mt19937 random(seed);
    std::vector<Table::Ptr> objects;
    Table expected;
    for (std::size_t n = random() % 500; n > 0; --n) {
      objects.push_back(Object(StrCat("ns", random() % 3), StrCat("o", random() % 300)));
      expected.Put(objects.back());
    }
    const Table table = Table::Of(objects);
    EXPECT_EQ(table.size(), expected.size());
    Table::Differences(expected, table, [&](const auto&, const auto&) { ADD_FAILURE() << seed; });
    if (!objects.empty()) {
      EXPECT_EQ(table.Find(Table::KeyOf(*objects.back())), objects.back());
    }
  }
}

TEST(ObjectTableTest, CopiesStayAsTheyWereAndDifferInExactlyWhatChangedSince) {
  for (int seed = 1; seed <= Rounds(20); ++seed) {
    SCOPED_TRACE(StrCat("seed ", seed));
    std::mt19937 random(static_cast<unsigned>(seed));
    const int keys = seed % 4 == 0 ? 3000 : 300;
    Table table;
    Reference reference;
    std::vector<std::pair<Table, Reference>> copies = {{table, reference}};
    for (int round = 0; round < 12; ++round) {
      // Mostly growing at first, mostly shrinking later: chunks split and are joined again.
      const int steps = static_cast<int>(random() % (round % 3 == 0 ? 3 : 2000));
      for (int i = 0; i < steps; ++i) {
        const int k = static_cast<int>(random() % static_cast<unsigned>(keys));
        const Key key{StrCat("ns", k % 7), StrCat("o", k)};
        if (random() % 12 < static_cast<unsigned>(round)) {
          EXPECT_EQ(table.Erase({key.first, key.second}), reference.erase(key) == 1);
        } else {
          reference[key] = Object(key.first, key.second);
          table.Put(reference[key]);
        }
      }
      if (round == 6) {
        const auto odd = [](const std::string& name) { return (name.back() - '0') % 2 == 1; };
        table.EraseIf([&](const Table::Ptr& object) { return odd(object->metadata.name); });
        std::erase_if(reference, [&](const auto& entry) { return odd(entry.first.second); });
      }
      // Some copies are made after the table has shared what it holds, some are copies of those.
      copies.push_back({random() % 2 == 0 ? table : table.Share(), reference});
      if (random() % 2 == 0) copies.push_back(copies.back());
    }
    for (const auto& [before, before_objects] : copies) {
      ExpectSame(before, before_objects);
      for (const auto& [after, after_objects] : copies) {
        std::vector<std::pair<Table::Ptr, Table::Ptr>> found;
        Table::Differences(before, after, [&](const Table::Ptr& a, const Table::Ptr& b) {
          found.push_back({a, b});
        });
        EXPECT_EQ(found, Expected(before_objects, after_objects));
      }
    }
  }
}

}  // namespace
}  // namespace yardmaster::state
