#include "test/kinds/checker.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace yardmaster::testing {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json Gang(const std::string& name, const std::vector<std::string>& hosts) {
  json slots = json::array();
  for (const std::string& host : hosts) slots.push_back({{"rank", slots.size()}, {"host", host}});
  return {{"metadata", {{"name", name}, {"namespace", "team"}}},
          {"status", {{"assignments", slots}}}};
}

json Node(const std::string& name) {
  return {{"metadata", {{"name", name}}},
          {"spec", json::object()},
          {"status", {{"allocatable", {{"nvidia.com/gpu", "8"}}}}}};
}

json Pod(const std::string& name, const std::string& host, int rank = 0) {
  const json slot = {{"gang", "a"}, {"rank", rank}};
  const json container = {{"resources", {{"limits", {{"nvidia.com/gpu", "8"}}}}}};
  return {{"metadata",
           {{"name", name},
            {"namespace", "team"},
            {"annotations", {{"yardmaster.dev/slot", slot.dump()}}}}},
          {"spec", {{"nodeName", host}, {"containers", json::array({container})}}},
          {"status", {{"phase", "Running"}}}};
}

TEST(CheckerTest, AHostIsPromisedOnce) {
  EXPECT_THAT(BrokenPromises({{}, {Gang("a", {"n1", "n2"}), Gang("b", {"n3"})}, {}}), IsEmpty());
  EXPECT_THAT(BrokenPromises({{}, {Gang("a", {"n1", "n2"}), Gang("b", {"n2"})}, {}}),
              ElementsAre("host n2 is promised to team/a rank 1 and to team/b rank 0"));
  EXPECT_THAT(BrokenPromises({{}, {Gang("a", {"n1", "n1"})}, {}}), ElementsAre(HasSubstr("n1")));
}

TEST(CheckerTest, AGangThatHasFinishedHoldsNoHost) {
  json finished = Gang("b", {"n1"});
  finished["status"]["conditions"] = json::array({{{"type", "Finished"}, {"status", "True"}}});
  EXPECT_THAT(BrokenPromises({{}, {Gang("a", {"n1"}), finished}, {}}), IsEmpty());
  finished["status"]["conditions"][0]["status"] = "False";
  EXPECT_THAT(BrokenPromises({{}, {Gang("a", {"n1"}), finished}, {}}),
              ElementsAre(HasSubstr("n1")));
}

TEST(CheckerTest, AHostHasNoMoreGpusInUseThanItHas) {
  json ended = Pod("a-1", "n1");
  ended["status"]["phase"] = "Failed";
  EXPECT_THAT(BrokenPromises({{Pod("a-0", "n1"), ended}, {}, {Node("n1")}}), IsEmpty());
  EXPECT_THAT(BrokenPromises({{Pod("a-0", "n1"), Pod("a-1", "n1")}, {}, {Node("n1")}}),
              ElementsAre(HasSubstr("team/a-1")));
}

TEST(CheckerTest, APodIsOnTheHostOfItsSlot) {
  EXPECT_THAT(Unfinished({{Pod("a-0", "n1")}, {Gang("a", {"n1"})}, {}}), IsEmpty());
  EXPECT_THAT(Unfinished({{Pod("a-0", "n2")}, {Gang("a", {"n1"})}, {}}),
              ElementsAre("team/a-0 is on 'n2' and not on n1"));
  EXPECT_THAT(Unfinished({{Pod("a-1", "n1", 1)}, {Gang("a", {"n1"})}, {}}),
              ElementsAre(HasSubstr("has not")));
  json gated = Pod("a-0", "");
  gated["metadata"].erase("annotations");
  gated["spec"]["schedulingGates"] = json::array({{{"name", "yardmaster.dev/placement"}}});
  EXPECT_THAT(Unfinished({{gated}, {}, {}}), ElementsAre("team/a-0 waits behind our gate"));
}

TEST(CheckerTest, NothingIsLeft) {
  json promised = Node("n1");
  promised["spec"]["taints"] =
      json::array({{{"key", "yardmaster.dev/promised"}, {"effect", "NoSchedule"}}});
  EXPECT_THAT(Leftovers({{}, {}, {Node("n1")}}), IsEmpty());
  EXPECT_THAT(
      Leftovers({{Pod("a-0", "n1")}, {Gang("a", {})}, {promised}}),
      ElementsAre("Gang team/a is left", "Pod team/a-0 is left", "host n1 is tainted as promised"));
}

}  // namespace
}  // namespace yardmaster::testing
