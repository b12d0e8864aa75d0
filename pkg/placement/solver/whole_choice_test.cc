#include "pkg/placement/solver/whole_choice.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <optional>
#include <tuple>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/search_problems.h"

namespace yardmaster::placement {
namespace {

TEST(WholeChoiceTest, SettlesTiesByScore) {
  Random random(13);
  for (int round = 0; round < Rounds(1000); ++round) {
    const Shape shape = RandomShape(random, 3);
    const int pieces = 1 + static_cast<int>(random.Below(6));
    std::vector<SegmentScore> scores(shape.capacity.size());
    for (SegmentScore& score : scores) {
      score.load = static_cast<std::int64_t>(random.Below(3));
      score.whole_free = static_cast<std::int64_t>(random.Below(2));
    }
    const fabric::Places& places = *shape.cluster.places;
    const WholeChoice got = ChooseWhole(places, shape.capacity, pieces, scores);
    std::optional<std::tuple<int, int, SegmentScore>> want;
    for (std::uint32_t set = 1; set < 1u << shape.capacity.size(); ++set) {
      int room = 0, segments = 0;
      std::vector<std::uint8_t> pods(static_cast<std::size_t>(places.num_fabric_pods()), 0);
      SegmentScore score;
      for (std::size_t s = 0; s < shape.capacity.size(); ++s) {
        if ((set >> s & 1) == 0) continue;
        room += shape.capacity[s];
        ++segments;
        score += scores[s];
        pods[places.fabric_pod_of(fabric::SegmentId(static_cast<int>(s))).index()] = 1;
      }
      if (segments == 1) score.load = 0;
      const std::tuple key{static_cast<int>(std::count(pods.begin(), pods.end(), 1)), segments,
                           score};
      if (room >= pieces && (!want || key < *want)) want = key;
    }
    ASSERT_EQ(got.found, want.has_value());
    if (!want) continue;
    ASSERT_EQ(got.pods, std::get<0>(*want));
    ASSERT_EQ(got.segments, std::get<1>(*want));
    ASSERT_TRUE(got.scored);
    SegmentScore score;
    for (const SegmentCount& c : got.counts) score += scores[c.segment];
    if (got.segments == 1) score.load = 0;
    ASSERT_EQ(score, std::get<2>(*want));
  }
}

TEST(WholeChoiceTest, EveryPieceIsInASegmentWithRoomForIt) {
  Random random(14);
  int found = 0;
  for (int round = 0; round < Rounds(1000); ++round) {
    const Shape shape = RandomShape(random, 4);
    const int pieces = 1 + static_cast<int>(random.Below(12));
    const WholeChoice choice = ChooseWhole(*shape.cluster.places, shape.capacity, pieces,
                                           std::vector<SegmentScore>(shape.capacity.size()));
    int room = 0, given = 0, before = -1;
    for (int here : shape.capacity) room += here;
    ASSERT_EQ(choice.found, room >= pieces);
    for (const SegmentCount& c : choice.counts) {
      EXPECT_GT(c.segment, before) << "ascending, each once";
      EXPECT_GT(c.count, 0);
      EXPECT_LE(c.count, shape.capacity[static_cast<std::size_t>(c.segment)]);
      before = c.segment;
      given += c.count;
    }
    EXPECT_EQ(given, choice.found ? pieces : 0);
    EXPECT_EQ(static_cast<int>(choice.counts.size()), choice.found ? choice.segments : 0);
    found += choice.found;
  }
  EXPECT_GT(found, MoreThan(300));
}

TEST(WholeChoiceTest, FewerFabricPodsGoBeforeFewerSegments) {
  // One pod has room in three segments, two pods have it in one each.
  const Cluster cluster = MakeCluster({{1, 1, 1}, {1}, {1}});
  const WholeChoice choice =
      ChooseWhole(*cluster.places, {2, 2, 2, 3, 3}, 6, std::vector<SegmentScore>(5));
  EXPECT_EQ(choice.pods, 1);
  EXPECT_EQ(choice.segments, 3);
}

}  // namespace
}  // namespace yardmaster::placement
