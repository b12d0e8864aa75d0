#include "pkg/extender/webhook/decisions.h"

#include "gtest/gtest.h"

#include "pkg/fabric/testing/fabrics.h"

namespace yardmaster::extender {
namespace {

using fabric::HostId;

const NamespacedName kGang{"team", "gang"};

// Two segments of four hosts; a gang of two workers holds hosts 0 and 1; host 3 is a backup, host 5
// half used by an ordinary pod, host 6 reserved.
View MakeView(bool planned = true) {
  auto snapshot = std::make_shared<plan::Snapshot>();
  snapshot->places =
      std::make_shared<const fabric::Places>(fabric::PlacesOf(fabric::SmallHpn(1, 2, 4)));
  snapshot->cluster.places = snapshot->places;
  snapshot->cluster.hosts.resize(8);
  plan::JobState gang;
  gang.job.key = kGang;
  gang.job.workers = 2;
  if (planned) {
    gang.assignment = plan::Assignment{{HostId(0), HostId(1)}};
    snapshot->cluster.hosts[0].free_gpus = snapshot->cluster.hosts[1].free_gpus = 0;
  }
  snapshot->cluster.hosts[3].backup = true;
  snapshot->cluster.hosts[5].free_gpus = 4;
  snapshot->cluster.hosts[6].reserved_for = 0;
  snapshot->jobs.push_back(gang);
  return View(snapshot, {{kGang, GangNote{"1 host short", {}}}});
}

std::string NameOf(const View& view, int host) {
  return view.snapshot().places->name(HostId(host));
}

TEST(DecisionsTest, AGangPodFitsItsSlotsHostAndNoOther) {
  const View view = MakeView();
  for (int rank : {0, 1}) {
    for (int host = 0; host < 8; ++host) {
      EXPECT_EQ(CheckNode(view, {kGang, rank, 8}, NameOf(view, host)),
                host == rank ? NodeVerdict::kFits : NodeVerdict::kOtherSlot);
    }
  }
  EXPECT_EQ(CheckNode(view, {kGang, 7, 8}, NameOf(view, 0)), NodeVerdict::kOtherSlot);
  EXPECT_EQ(CheckNode(view, {kGang, -1, 8}, NameOf(view, 0)), NodeVerdict::kOtherSlot);
}

TEST(DecisionsTest, AGangPodGoesNowhereBeforeItsGangIsPlaced) {
  const View view = MakeView(false);
  EXPECT_EQ(CheckNode(view, {kGang, 0, 8}, NameOf(view, 0)), NodeVerdict::kGangNotPlanned);
  EXPECT_EQ(CheckNode(view, {NamespacedName{"team", "other"}, 0, 8}, NameOf(view, 0)),
            NodeVerdict::kGangNotPlanned);
  EXPECT_EQ(view.FindNote(kGang)->waiting, "1 host short");
}

TEST(DecisionsTest, OrdinaryGpuPodsAreKeptOffPromisedBackupAndReservedHosts) {
  const View view = MakeView();
  const PodQuery pod{std::nullopt, -1, 8};
  EXPECT_EQ(CheckNode(view, pod, NameOf(view, 0)), NodeVerdict::kNoGpusLeft);
  EXPECT_EQ(CheckNode(view, pod, NameOf(view, 3)), NodeVerdict::kBackup);
  EXPECT_EQ(CheckNode(view, pod, NameOf(view, 6)), NodeVerdict::kReserved);
  EXPECT_EQ(CheckNode(view, pod, NameOf(view, 5)), NodeVerdict::kNoGpusLeft);
  EXPECT_EQ(CheckNode(view, {std::nullopt, -1, 4}, NameOf(view, 5)), NodeVerdict::kFits);
  EXPECT_EQ(CheckNode(view, pod, NameOf(view, 4)), NodeVerdict::kFits);
  EXPECT_EQ(CheckNode(view, pod, "a-node-without-place"), NodeVerdict::kFits);
  EXPECT_EQ(CheckNode(view, {std::nullopt, -1, 0}, NameOf(view, 3)), NodeVerdict::kFits);
}

// Where devices come from other objects than the Node, the scheduler alone knows what is free.
TEST(DecisionsTest, AHostWithoutGpusRefusesNoOrdinaryPod) {
  auto snapshot = std::make_shared<plan::Snapshot>(MakeView().snapshot());
  for (placement::HostState& host : snapshot->cluster.hosts) host.gpus = host.free_gpus = 0;
  const View view(snapshot, {});
  const PodQuery pod{std::nullopt, -1, 8};
  EXPECT_EQ(CheckNode(view, pod, NameOf(view, 0)), NodeVerdict::kFits);
  EXPECT_EQ(CheckNode(view, pod, NameOf(view, 3)), NodeVerdict::kBackup);
  EXPECT_EQ(CheckNode(view, pod, NameOf(view, 6)), NodeVerdict::kReserved);
}

TEST(DecisionsTest, OnlyOccupiedHostsAreWorthAnEviction) {
  EXPECT_TRUE(EvictionCanHelp(NodeVerdict::kNoGpusLeft));
  for (NodeVerdict verdict : {NodeVerdict::kBackup, NodeVerdict::kReserved, NodeVerdict::kOtherSlot,
                              NodeVerdict::kGangNotPlanned}) {
    EXPECT_FALSE(EvictionCanHelp(verdict));
    EXPECT_FALSE(Phrase(verdict).empty());
  }
}

TEST(DecisionsTest, OrdinaryPodsAreSteeredToTheFullerSegmentAndThereToTheFullerHost) {
  const View view = MakeView();
  const std::vector<std::string> names = {NameOf(view, 2), NameOf(view, 4), NameOf(view, 5)};
  const std::vector<int> scores =
      Prioritize(view, {std::nullopt, -1, 2}, {names.begin(), names.end()});
  EXPECT_GT(scores[0], scores[1]);  // segment 0 is two thirds full
  EXPECT_GT(scores[2], scores[1]);  // host 5 is half full
  for (int score : scores) EXPECT_LE(score, 10);
}

// A fabric of `segments` segments of two hosts of 8 GPUs; `free` of each host in order.
View ViewWithFree(int segments, const std::vector<int>& free) {
  auto snapshot = std::make_shared<plan::Snapshot>();
  snapshot->places =
      std::make_shared<const fabric::Places>(fabric::PlacesOf(fabric::SmallHpn(1, segments, 2)));
  snapshot->cluster.places = snapshot->places;
  snapshot->cluster.hosts.resize(free.size());
  for (std::size_t i = 0; i < free.size(); ++i) snapshot->cluster.hosts[i].free_gpus = free[i];
  return View(snapshot, {});
}

std::vector<int> ScoresOfAll(const View& view) {
  std::vector<std::string_view> names;
  for (const fabric::HostId host : view.snapshot().places->hosts()) {
    names.push_back(view.snapshot().places->name(host));
  }
  return Prioritize(view, {std::nullopt, -1, 1}, names);
}

TEST(DecisionsTest, AnIdleHostOfAFullerSegmentComesBeforeAFullHostOfALooserOne) {
  // Half of segment 0 is in use, seven sixteenths of segment 1.
  EXPECT_EQ(ScoresOfAll(ViewWithFree(2, {0, 8, 1, 8})), (std::vector<int>{10, 9, 8, 7}));
}

TEST(DecisionsTest, HostsThatAreEquallyFullHaveTheSameScore) {
  EXPECT_EQ(ScoresOfAll(ViewWithFree(2, {4, 8, 8, 4})), (std::vector<int>{10, 9, 9, 10}));
  EXPECT_EQ(ScoresOfAll(ViewWithFree(2, {8, 8, 8, 8})), (std::vector<int>{10, 10, 10, 10}));
  const View idle = ViewWithFree(1, {8, 8});
  EXPECT_EQ(Prioritize(idle, {std::nullopt, -1, 1}, {NameOf(idle, 0), "a-node-without-place"}),
            (std::vector<int>{10, 10}));
}

TEST(DecisionsTest, TheFirstTenPlacesDifferAndAllLaterOnesGetZero) {
  // Segment i has 8 - i of its 16 GPUs in use, all of them on its first host.
  std::vector<int> free;
  for (int segment = 0; segment < 6; ++segment) free.insert(free.end(), {segment, 8});
  EXPECT_EQ(ScoresOfAll(ViewWithFree(6, free)),
            (std::vector<int>{10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 0}));
}

}  // namespace
}  // namespace yardmaster::extender
