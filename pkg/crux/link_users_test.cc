#include "pkg/crux/link_users.h"

#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <numeric>
#include <tuple>
#include <vector>

#include "pkg/base/random.h"

namespace yardmaster::crux {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::int32_t> SlotsOn(const LinkUsers& users, std::int32_t link) {
  std::vector<std::int32_t> slots;
  users.Each(link, [&](std::int32_t slot, double, double) { slots.push_back(slot); });
  return slots;
}

TEST(LinkUsers, ALinkHasNoUsersAtFirst) {
  LinkUsers users;
  EXPECT_EQ(users.links(), 0u);
  users.Resize(2);
  EXPECT_EQ(users.links(), 2u);
  EXPECT_THAT(SlotsOn(users, 1), IsEmpty());
}

TEST(LinkUsers, UsersAreListedByRankInWhateverOrderTheyCame) {
  const std::vector<std::int32_t> rank = {2, 0, 3, 1};
  std::vector<std::int32_t> slots = {0, 1, 2, 3};
  do {
    LinkUsers users;
    users.Resize(1);
    for (const std::int32_t slot : slots) users.Add(slot, {0, 1, 1}, rank);
    EXPECT_THAT(SlotsOn(users, 0), ElementsAre(1, 3, 0, 2));
  } while (std::next_permutation(slots.begin(), slots.end()));
}

TEST(LinkUsers, UsersStayWhereLinksAreAdded) {
  LinkUsers users;
  users.Resize(1);
  users.Add(0, {0, 0.5, 7}, {0});
  users.Resize(3);
  EXPECT_THAT(SlotsOn(users, 0), ElementsAre(0));
  EXPECT_THAT(SlotsOn(users, 2), IsEmpty());
  users.Clear();
  EXPECT_EQ(users.links(), 0u);
}

TEST(LinkUsers, HoldsWhatAMapWouldAfterAnyComingsAndGoings) {
  constexpr std::int32_t kLinks = 4;
  constexpr std::int32_t kSlots = 9;
  using Use = std::tuple<std::int32_t, double, double>;  // slot, seconds, bytes
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    Random random(seed);
    std::vector<std::int32_t> rank(kSlots);
    std::iota(rank.begin(), rank.end(), 0);
    random.Shuffle(rank);
    LinkUsers users;
    users.Resize(kLinks);
    std::map<std::int32_t, Use> expected[kLinks];  // by rank
    for (int step = 0; step < 200; ++step) {
      const auto link = static_cast<std::int32_t>(random.Below(kLinks));
      const auto slot = static_cast<std::int32_t>(random.Below(kSlots));
      if (expected[link].erase(rank[slot]) != 0) {
        users.Remove(slot, link);
      } else {
        const LinkUse use{link, random.Unit(), random.Unit()};
        users.Add(slot, use, rank);
        expected[link][rank[slot]] = {slot, use.seconds, use.bytes};
      }
      for (std::int32_t l = 0; l < kLinks; ++l) {
        std::vector<Use> found;
        users.Each(l, [&](std::int32_t s, double seconds, double bytes) {
          found.emplace_back(s, seconds, bytes);
        });
        std::vector<Use> wanted;
        for (const auto& [at, use] : expected[l]) wanted.push_back(use);
        ASSERT_EQ(found, wanted) << "seed " << seed << ", step " << step;
      }
    }
  }
}

}  // namespace
}  // namespace yardmaster::crux
