// A ToR pair fails: the hosts of a segment are lost together, with the real job controller, network
// controller and extender over an API server in memory. The ranks there move as whole data groups
// where the job's limits allow it, wait with the reason where they do not, and nothing is removed
// for a sensor that is wrong.
#include <functional>
#include <set>
#include <string>

#include "pkg/operator/network/network_controller.h"
#include "test/capacity/job_story_fixture.h"

namespace yardmaster {
namespace {

using nlohmann::json;

constexpr int kSegments = 4;

class SegmentLossStoryTest : public JobStoryFixture {
 protected:
  SegmentLossStoryTest()
      : operator_(*this, [this](const op::JobNotice& notice) { ++told_[notice.reason]; }),
        network_(client_, operator_.cache, clock_, NetworkOptions(),
                 {.on_notice =
                      [this](const op::NetworkNotice& notice) {
                        if (notice.kind == api::kFabricKind) ++told_[notice.reason];
                      }}),
        extender_(*this, true) {
    for (int s = 2; s < kSegments; ++s) {
      for (int h = 0; h < extender::kHostsPerSegment; ++h) AddNode(s, h);
    }
    SeedFabric(kSegments, {{"backup", {{"hostsPerSegment", 1}}}});
  }
  op::NetworkController::Options NetworkOptions() {
    op::NetworkController::Options options;
    options.hosts = &operator_.hosts;
    options.crux_budget = 0;
    return options;
  }

  // Six workers in two stages of a data group of three: each fills the ordinary hosts of a segment.
  void SeedStagedJob(const json& spec = json::object()) {
    json staged = {{"workers", 6},
                   {"parallelism", {{"data", 3}, {"pipeline", 2}}},
                   {"recovery", {{"inPlaceSeconds", 0}}}};
    staged.merge_patch(spec);
    SeedJob(staged);
  }
  json FabricStatus() {
    return client_.Find(kube::Fabrics(), "", "small")->value("status", json::object());
  }
  std::string SegmentsUp() {
    for (const json& c : FabricStatus().value("conditions", json::array())) {
      if (c["type"] == "SegmentsUp") return c["status"];
    }
    return "(none)";
  }
  std::string SegmentOf(int rank) { return Slots("a")[static_cast<std::size_t>(rank)]["segment"]; }
  // Its last host stays Ready.
  void LoseSegment(const std::string& segment, bool lost = true) {
    for (int h = 0; h < extender::kHostsPerSegment - 1; ++h) {
      AddNode(segment.back() - '0', h, !lost);
    }
  }

  void RunOperator() {
    operator_.See();
    const auto done = operator_.jobs.Reconcile("team/a");
    ASSERT_TRUE(done.ok()) << done.status();
    network_.RunOnce();
  }
  // Ten seconds.
  void Pass() {
    for (int i = 0; i < 4; ++i) {
      RunOperator();
      extender_.Pass();
      CheckWholeGroups();
      RunReleasedPods();
    }
    CheckPromises();
    clock_.Advance(10'000);
  }
  // At no instant is a data group in two segments.
  void CheckWholeGroups() {
    if (!whole_groups_ || !Placed("a")) return;
    for (const int first : {0, 3}) {
      const std::set<std::string> segments = {SegmentOf(first), SegmentOf(first + 1),
                                              SegmentOf(first + 2)};
      EXPECT_EQ(segments.size(), 1U) << Slots("a").dump();
    }
  }
  bool PassUntil(const std::function<bool()>& done) {
    for (int i = 0; i < 40 && !done(); ++i) Pass();
    return done();
  }
  void RunJob(const json& spec = json::object()) {
    SeedStagedJob(spec);
    ASSERT_TRUE(PassUntil([&] { return Is("Running") == "True"; })) << Job().dump(1);
  }

  Operator operator_;
  op::NetworkController network_;
  Process extender_;
  std::map<std::string, int> told_;
  bool whole_groups_ = true;
};

TEST_F(SegmentLossStoryTest, TheDataGroupOfALostSegmentMovesAsAWhole) {
  RunJob({{"recovery", {{"onHostLoss", "Replace"}}}});
  const std::string lost = SegmentOf(0);
  const std::string other = SegmentOf(3);
  ASSERT_NE(lost, other);
  const auto before = Uids();
  LoseSegment(lost);
  ASSERT_TRUE(PassUntil([&] { return Is("Running") == "True" && SegmentOf(0) != lost; }))
      << Job().dump(1);
  EXPECT_NE(SegmentOf(0), other);
  EXPECT_EQ(SegmentOf(3), other);
  EXPECT_EQ(Uids().at("a-3"), before.at("a-3")) << "the ranks of the other group stay";
  const json incidents = Job()["status"]["recovery"]["incidents"];
  ASSERT_EQ(incidents.size(), 1U) << incidents.dump(1);
  EXPECT_EQ(incidents[0]["cause"], "SegmentLost");
  EXPECT_EQ(incidents[0]["segment"], "p0/" + lost);
  EXPECT_EQ(told_["Recovering"], 1);
  EXPECT_EQ(told_["SegmentLost"], 1) << "of the Fabric";
  EXPECT_EQ(CountNotices("SegmentLeft"), 1);
  EXPECT_EQ(CountNotices("HostReplaced"), 0);
  EXPECT_EQ(SegmentsUp(), "False");
  EXPECT_EQ(FabricStatus()["lostSegments"][0]["segment"], lost);
  LoseSegment(lost, false);
  Pass();
  EXPECT_EQ(SegmentsUp(), "True");
  EXPECT_TRUE(FabricStatus()["lostSegments"].empty());
  EXPECT_NE(SegmentOf(0), lost) << "nothing moves back";
}

TEST_F(SegmentLossStoryTest, AJobWhoseLimitsAllowNoOtherSegmentWaitsAndSaysWhatWouldHelp) {
  // The other segments have room for one worker each.
  for (int s = 2; s < kSegments; ++s) {
    for (int h = 1; h < extender::kHostsPerSegment; ++h) {
      ASSERT_TRUE(client_.Delete({kube::Nodes(), "", NodeName(s, h), ""}, {}).ok());
    }
  }
  AddNode(2, 1);
  RunJob({{"recovery", {{"onHostLoss", "Replace"}}},
          {"placement", {{"data", {{"within", "Segment"}, {"mode", "Required"}}}}}});
  const std::string lost = SegmentOf(0);
  LoseSegment(lost);
  for (int i = 0; i < 10; ++i) Pass();
  EXPECT_EQ(SegmentOf(0), lost);
  EXPECT_EQ(Is("Degraded"), "True");
  const json degraded = JobCondition("Degraded");
  EXPECT_EQ(degraded["reason"], "SegmentLost");
  const std::string message = degraded["message"];
  EXPECT_NE(message.find("p0/" + lost), std::string::npos) << message;
  EXPECT_NE(message.find("placement: {data: {within: FabricPod}}"), std::string::npos) << message;
  EXPECT_EQ(JobCondition("Placed")["status"], "False") << JobCondition("Placed").dump();
  EXPECT_EQ(told_["Recovering"], 1);
  LoseSegment(lost, false);
  ASSERT_TRUE(PassUntil([&] { return Is("Running") == "True"; })) << Job().dump(1);
  EXPECT_EQ(SegmentOf(0), lost) << "it goes on where it was";
  Pass();
  EXPECT_EQ(JobCondition("Placed")["status"], "True") << JobCondition("Placed").dump();
  EXPECT_EQ(told_["Recovering"], 1);
}

TEST_F(SegmentLossStoryTest, TheWholeJobLeavesWhenItWasInOneSegment) {
  whole_groups_ = false;
  RunJob({{"workers", 3}, {"parallelism", {{"tensor", 8}, {"data", 3}, {"pipeline", 1}}}});
  const std::string lost = SegmentOf(0);
  LoseSegment(lost);
  ASSERT_TRUE(PassUntil([&] { return Is("Running") == "True" && SegmentOf(0) != lost; }))
      << Job().dump(1);
  EXPECT_EQ(SegmentOf(1), SegmentOf(0));
  EXPECT_EQ(SegmentOf(2), SegmentOf(0));
  EXPECT_EQ(Job()["status"]["recovery"]["incidents"].size(), 1U);
}

TEST_F(SegmentLossStoryTest, ASensorThatLosesASegmentForAMomentMovesNothing) {
  RunJob();
  const auto before = Uids();
  const std::string lost = SegmentOf(0);
  LoseSegment(lost);
  for (int i = 0; i < 5; ++i) Pass();
  LoseSegment(lost, false);
  for (int i = 0; i < 3; ++i) {
    Pass();
    clock_.Advance(60'000);
  }
  EXPECT_EQ(Uids(), before);
  EXPECT_EQ(SegmentOf(0), lost);
  EXPECT_EQ(told_["SegmentLost"], 0);
}

TEST_F(SegmentLossStoryTest, WhileTheWholeFabricIsLostNothingIsDeleted) {
  RunJob();
  const auto before = Uids();
  for (int s = 0; s < kSegments; ++s) LoseSegment(StrCat("s", s));
  for (int i = 0; i < 8; ++i) {
    Pass();
    clock_.Advance(60'000);
  }
  EXPECT_EQ(Uids(), before);
  EXPECT_EQ(SegmentsUp(), "Unknown");
  EXPECT_TRUE(FabricStatus()["lostSegments"].empty());
}

TEST_F(SegmentLossStoryTest, NothingIsPlacedInALostSegmentOnHostsThatAreReady) {
  RunJob({{"recovery", {{"onHostLoss", "Replace"}}}});
  const std::string lost = SegmentOf(0);
  LoseSegment(lost);
  ASSERT_TRUE(PassUntil([&] { return Is("Running") == "True" && SegmentOf(0) != lost; }));
  AddNode(lost.back() - '0', 0);
  for (int i = 0; i < 3; ++i) Pass();
  EXPECT_EQ(SegmentsUp(), "False");
  const plan::Snapshot& snapshot = view_->snapshot();
  const fabric::HostId ready = snapshot.places->FindHost(NodeName(lost.back() - '0', 0));
  EXPECT_EQ(snapshot.cluster.hosts[ready.index()].unavailable,
            placement::Unavailability::kSegmentLost);
}

}  // namespace
}  // namespace yardmaster
