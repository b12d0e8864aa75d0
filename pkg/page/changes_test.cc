#include "pkg/page/changes.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/page/testing/clusters.h"

namespace yardmaster::page {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

std::vector<std::string> Texts(const state::ClusterState& before,
                               const state::ClusterState& after) {
  std::vector<std::string> out;
  for (const TimelineEvent& event : ChangesBetween(before, after, 7)) {
    out.push_back((event.warning ? "! " : "") + event.subject + " " + event.text);
  }
  return out;
}

TEST(ChangesTest, NothingHappensBetweenEqualStates) {
  const state::ClusterState cluster = TwoSegments();
  EXPECT_THAT(Texts(cluster, cluster), ElementsAre());
}

TEST(ChangesTest, AGangIsPlacedMovesAndLeaves) {
  const state::ClusterState empty = TwoSegments();
  state::ClusterState placed = empty, moved = empty;
  Put(placed, GangOn("bert", {"a0", "a1", "b0"}));
  api::Gang gang = GangOn("bert", {"a0", "a3", "b0"});
  gang.status.plan_generation = 2;
  Put(moved, gang);
  EXPECT_THAT(Texts(empty, placed),
              ElementsAre("job/demo/trainingjob-bert is placed: 3 workers in p/a, p/b"));
  EXPECT_THAT(Texts(placed, moved),
              ElementsAre("! job/demo/trainingjob-bert moves rank 1 from a1 to a3"));
  EXPECT_THAT(Texts(moved, empty), ElementsAre("job/demo/trainingjob-bert has left its hosts"));
}

TEST(ChangesTest, AGangThatIsToGrowIsPlacedWithTheWorkersThatHaveAHost) {
  const state::ClusterState empty = TwoSegments();
  state::ClusterState placed = empty;
  api::Gang gang = GangOn("bert", {"a0", "a1"});
  gang.job.workers = 4;
  Put(placed, gang);
  EXPECT_THAT(Texts(empty, placed),
              ElementsAre("job/demo/trainingjob-bert is placed: 2 workers in p/a"));
}

TEST(ChangesTest, HostsAreLostComeBackAndAreCordoned) {
  const state::ClusterState whole = TwoSegments();
  state::ClusterState lost = whole, cordoned = whole;
  api::Node node = **whole.nodes.begin();
  node.ready = false;
  Put(lost, node);
  node.ready = true;
  node.unschedulable = true;
  Put(cordoned, node);
  EXPECT_THAT(Texts(whole, lost), ElementsAre("! host/a0 is not ready"));
  EXPECT_THAT(Texts(lost, cordoned),
              ElementsAre("host/a0 is ready again", "! host/a0 is cordoned"));
  EXPECT_THAT(Texts(whole, {}), SizeIs(8));
}

TEST(ChangesTest, AJobThatCanNeverBePlacedIsReportedOnce) {
  const state::ClusterState empty = TwoSegments();
  state::ClusterState never = empty, again = empty;
  api::Gang gang = GangOn("big", {});
  gang.status.outcome = placement::Outcome::kNever;
  gang.status.reasons = {{.message = "93 hosts short"}};
  Put(never, gang);
  gang.metadata.resource_version = "2";
  Put(again, gang);
  EXPECT_THAT(Texts(empty, never),
              ElementsAre("! job/demo/trainingjob-big can never be placed: 93 hosts short"));
  EXPECT_THAT(Texts(never, again), ElementsAre());
}

TEST(ChangesTest, AStormOfChangesIsCounted) {
  const std::vector<TimelineEvent> events = ChangesBetween({}, LargeCluster(1, 2, 40), 0);
  ASSERT_THAT(events, SizeIs(kMaxChanges));
  EXPECT_EQ(events.back().text, "and 31 more changes at once");
}

TEST(ChangesTest, EventsAreWrittenNewestFirst) {
  const auto json = nlohmann::json::parse(
      *EncodeEvents({{1, false, "host/a", "has come"}, {2, true, "host/a", "is gone"}}));
  EXPECT_EQ(json[0]["timeMs"], 2);
  EXPECT_EQ(json[0]["warning"], true);
  EXPECT_EQ(json[1]["text"], "has come");
}

}  // namespace
}  // namespace yardmaster::page
