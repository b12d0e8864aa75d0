#include "pkg/placement/solver/segment_exchange.h"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>
#include <optional>
#include <set>

#include "pkg/base/testing/rounds.h"
#include "pkg/placement/testing/cases.h"
#include "pkg/placement/testing/search_problems.h"

namespace yardmaster::placement {
namespace {

std::vector<SegmentScore> RandomScores(Random& random, std::size_t segments) {
  std::vector<SegmentScore> scores(segments);
  for (SegmentScore& score : scores) {
    score.load = static_cast<std::int64_t>(random.Below(3));
    score.whole_free = static_cast<std::int64_t>(random.Below(2));
    score.free_workers = static_cast<std::int64_t>(random.Below(4));
  }
  return scores;
}

Capacity RoomOf(const std::vector<int>& of_segment) {
  Capacity capacity;
  capacity.of_segment.assign(of_segment.begin(), of_segment.end());
  return capacity;
}

SegmentScore TotalOf(const std::vector<SegmentScore>& scores, const std::vector<int>& segments) {
  const std::set<int> used(segments.begin(), segments.end());
  SegmentScore total;
  for (int s : used) total += scores[static_cast<std::size_t>(s)];
  if (used.size() == 1) total.load = 0;  // nothing uses an uplink
  return total;
}

// A worker for each of some pieces of room.
std::vector<int> RandomWorkers(Random& random, const std::vector<int>& room) {
  std::vector<int> segments;
  for (std::size_t s = 0; s < room.size(); ++s) {
    for (int piece = 0; piece < room[s]; ++piece) {
      if (random.Below(3) == 0) segments.push_back(static_cast<int>(s));
    }
  }
  random.Shuffle(segments);
  return segments;
}

TEST(SegmentExchangeTest, TheShapeStaysTheRoomSufficesAndTheScoreIsNotWorse) {
  Random random(1);
  int better = 0;
  for (int round = 0; round < Rounds(2000); ++round) {
    const Shape shape = RandomShape(random, 4);
    const fabric::Places& places = *shape.cluster.places;
    const std::vector<SegmentScore> scores = RandomScores(random, shape.capacity.size());
    const std::vector<int> before = RandomWorkers(random, shape.capacity);
    if (before.empty()) continue;
    std::vector<int> after = before;
    ExchangeSegments(places, RoomOf(shape.capacity), scores, after);
    std::vector<int> room = shape.capacity;
    const auto pod = [&](int s) { return places.fabric_pod_of(fabric::SegmentId(s)); };
    for (std::size_t w = 0; w < after.size(); ++w) {
      ASSERT_GE(--room[static_cast<std::size_t>(after[w])], 0);
      for (std::size_t other = 0; other < w; ++other) {
        ASSERT_EQ(after[w] == after[other], before[w] == before[other]);
        ASSERT_EQ(pod(after[w]) == pod(after[other]), pod(before[w]) == pod(before[other]));
      }
    }
    ASSERT_LE(TotalOf(scores, after), TotalOf(scores, before));
    better += TotalOf(scores, after) < TotalOf(scores, before);
  }
  EXPECT_GT(better, MoreThan(300));
}

// The least total of all ways to give each used segment another one with room.
SegmentScore LeastTotal(const std::vector<int>& room, const std::vector<SegmentScore>& scores,
                        const std::vector<int>& before) {
  std::vector<int> loads;
  const std::set<int> used(before.begin(), before.end());
  for (int s : used) loads.push_back(static_cast<int>(std::count(before.begin(), before.end(), s)));
  std::optional<SegmentScore> least;
  std::vector<int> target;
  std::function<void()> descend = [&] {
    if (target.size() == loads.size()) {
      const SegmentScore total = TotalOf(scores, target);
      if (!least || total < *least) least = total;
      return;
    }
    for (int s = 0; s < static_cast<int>(room.size()); ++s) {
      if (room[static_cast<std::size_t>(s)] < loads[target.size()]) continue;
      if (std::find(target.begin(), target.end(), s) != target.end()) continue;
      target.push_back(s);
      descend();
      target.pop_back();
    }
  };
  descend();
  return *least;
}

TEST(SegmentExchangeTest, InOneFabricPodNoExchangeIsBetter) {
  Random random(2);
  for (int round = 0; round < Rounds(1000); ++round) {
    const int segments = 1 + static_cast<int>(random.Below(5));
    const Cluster cluster = MakeCluster({std::vector<int>(static_cast<std::size_t>(segments), 1)});
    std::vector<int> room;
    for (int s = 0; s < segments; ++s) room.push_back(static_cast<int>(random.Below(5)));
    const std::vector<SegmentScore> scores = RandomScores(random, room.size());
    const std::vector<int> before = RandomWorkers(random, room);
    if (before.empty()) continue;
    std::vector<int> after = before;
    ExchangeSegments(*cluster.places, RoomOf(room), scores, after);
    ASSERT_EQ(TotalOf(scores, after), LeastTotal(room, scores, before)) << round;
  }
}

TEST(SegmentExchangeTest, AWholeFabricPodIsExchangedForABetterOne) {
  const Cluster cluster = MakeCluster({{1, 1}, {1, 1}});
  std::vector<SegmentScore> scores(4);
  scores[0].load = scores[1].load = 9;
  std::vector<int> segments = {0, 1, 1};
  ExchangeSegments(*cluster.places, RoomOf({2, 2, 2, 2}), scores, segments);
  EXPECT_EQ(segments[1], segments[2]);
  EXPECT_GE(std::min(segments[0], segments[1]), 2);
  // Without room for both it stays.
  segments = {0, 1, 1};
  ExchangeSegments(*cluster.places, RoomOf({2, 2, 1, 1}), scores, segments);
  EXPECT_LE(std::max(segments[0], segments[1]), 1);
}

}  // namespace
}  // namespace yardmaster::placement
