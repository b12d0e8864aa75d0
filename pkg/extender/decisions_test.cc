#include "pkg/extender/decisions.h"

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
      EXPECT_EQ(Judge(view, {kGang, rank, 8}, NameOf(view, host)),
                host == rank ? NodeVerdict::kFits : NodeVerdict::kOtherSlot);
    }
  }
  EXPECT_EQ(Judge(view, {kGang, 7, 8}, NameOf(view, 0)), NodeVerdict::kOtherSlot);
  EXPECT_EQ(Judge(view, {kGang, -1, 8}, NameOf(view, 0)), NodeVerdict::kOtherSlot);
}

TEST(DecisionsTest, AGangPodGoesNowhereBeforeItsGangIsPlaced) {
  const View view = MakeView(false);
  EXPECT_EQ(Judge(view, {kGang, 0, 8}, NameOf(view, 0)), NodeVerdict::kGangNotPlanned);
  EXPECT_EQ(Judge(view, {NamespacedName{"team", "other"}, 0, 8}, NameOf(view, 0)),
            NodeVerdict::kGangNotPlanned);
  EXPECT_EQ(view.FindNote(kGang)->waiting, "1 host short");
}

TEST(DecisionsTest, OrdinaryGpuPodsAreKeptOffPromisedBackupAndReservedHosts) {
  const View view = MakeView();
  const PodQuery pod{std::nullopt, -1, 8};
  EXPECT_EQ(Judge(view, pod, NameOf(view, 0)), NodeVerdict::kNoGpusLeft);
  EXPECT_EQ(Judge(view, pod, NameOf(view, 3)), NodeVerdict::kBackup);
  EXPECT_EQ(Judge(view, pod, NameOf(view, 6)), NodeVerdict::kReserved);
  EXPECT_EQ(Judge(view, pod, NameOf(view, 5)), NodeVerdict::kNoGpusLeft);
  EXPECT_EQ(Judge(view, {std::nullopt, -1, 4}, NameOf(view, 5)), NodeVerdict::kFits);
  EXPECT_EQ(Judge(view, pod, NameOf(view, 4)), NodeVerdict::kFits);
  EXPECT_EQ(Judge(view, pod, "a-node-without-place"), NodeVerdict::kFits);
  EXPECT_EQ(Judge(view, {std::nullopt, -1, 0}, NameOf(view, 3)), NodeVerdict::kFits);
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

}  // namespace
}  // namespace yardmaster::extender
