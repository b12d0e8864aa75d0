#include "pkg/base/group_turns.h"

#include <vector>

#include "gtest/gtest.h"

namespace yardmaster {
namespace {

using Turns = GroupTurns<std::deque<int>>;

int TakeFirst(Turns& turns) {
  const std::string group = turns.turns.front();
  std::deque<int>& things = turns.At(group);
  const int taken = things.front();
  things.pop_front();
  turns.EndTurn(group);
  return taken;
}

TEST(GroupTurnsTest, GroupsTakeTurnsAndOneThatIsEmptyIsGone) {
  Turns turns;
  for (int i = 0; i < 4; ++i) turns.At("a").push_back(i);
  turns.At("b").push_back(10);
  turns.At("c").push_back(20);
  std::vector<int> taken;
  for (int i = 0; i < 4; ++i) taken.push_back(TakeFirst(turns));
  EXPECT_EQ(taken, (std::vector<int>{0, 10, 20, 1}));
  EXPECT_EQ(turns.things.size(), 1u);
  turns.At("b").push_back(11);
  EXPECT_EQ(TakeFirst(turns), 2);
  EXPECT_EQ(TakeFirst(turns), 11);
  EXPECT_EQ(TakeFirst(turns), 3);
  EXPECT_TRUE(turns.empty());
}

TEST(GroupTurnsTest, AGroupThatLosesItsLastThingOutsideOfATurnIsDropped) {
  Turns turns;
  turns.At("a").push_back(1);
  turns.At("b").push_back(2);
  turns.At("a").clear();
  turns.DropIfEmpty("a");
  turns.DropIfEmpty("b");
  turns.DropIfEmpty("none");
  EXPECT_EQ(TakeFirst(turns), 2);
  EXPECT_TRUE(turns.empty());
}

}  // namespace
}  // namespace yardmaster
