// The loss of a whole segment: told from hosts that fail by themselves, bounded, and one incident a
// job.
#include "pkg/operator/hosts/segment_loss.h"

#include "gtest/gtest.h"

#include "pkg/operator/network/fabric_status.h"
#include "pkg/operator/testing/job_fixture.h"

namespace yardmaster::op {
namespace {

using nlohmann::json;
using Report = HostHealth::Report;

TEST(LossBeganTest, ManyHostsWithinTheWindowAreOneFault) {
  EXPECT_EQ(LossBegan({0, 5'000, 20'000}, 4, {}), 20'000);
  EXPECT_FALSE(LossBegan({0, 5'000}, 4, {})) << "half of the hosts";
  EXPECT_FALSE(LossBegan({0, 100'000, 200'000}, 4, {})) << "one after the other";
  EXPECT_FALSE(LossBegan({0, 0}, 2, {})) << "a segment of two hosts";
  EXPECT_EQ(LossBegan({900'000, 0, 910'000, 920'000}, 4, {}), 920'000) << "but for an earlier one";
}

class SegmentHealthTest : public ::testing::Test {
 protected:
  SegmentHealthTest() { Make({}); }
  // Segments p/s0, p/s1, ... of eight hosts.
  void Make(HostLossLimits limits, int segments = 8) {
    health_ = std::make_unique<HostHealth>(limits);
    segments_ = segments;
    for (int s = 0; s < segments; ++s) Set(s, 0, 8, Report::kReady, 0);
  }
  static std::string Name(int segment, int host) { return StrCat("s", segment, "h", host); }
  void Set(int segment, int from, int to, Report report, std::int64_t now_ms) {
    for (int h = from; h < to; ++h) {
      health_->Observe(Name(segment, h), StrCat("p/s", segment), report, now_ms);
    }
  }
  HostVerdict Assess(int segment, int host, std::int64_t now_ms, std::int64_t grace_ms = 30'000) {
    return health_->Assess(Name(segment, host), grace_ms, now_ms);
  }
  // As the operator's rounds do: what is lost stands in the Fabric's status.
  std::vector<SegmentVerdict> Tell(std::int64_t now_ms) {
    const auto segments = health_->AssessSegments(now_ms);
    std::set<std::string> lost;
    for (const SegmentVerdict& segment : segments) {
      if (segment.state == SegmentState::kLost) lost.insert(segment.name);
    }
    health_->SetLostInStatus(lost, {});
    return segments;
  }
  int CountLost(std::int64_t now_ms) {
    Tell(now_ms);
    int lost = 0;
    for (int s = 0; s < segments_; ++s) {
      for (int h = 0; h < 8; ++h)
        lost += Assess(s, h, now_ms).state == HostHealthState::kLost ? 1 : 0;
    }
    return lost;
  }

  std::unique_ptr<HostHealth> health_;
  int segments_ = 0;
};

TEST_F(SegmentHealthTest, ASegmentIsLostTogetherWithItsReadyHosts) {
  Set(3, 0, 7, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(59'000), 0) << "none alone before the segment's time";
  EXPECT_EQ(CountLost(60'000), 8);
  const HostVerdict gone = Assess(3, 0, 60'000);
  EXPECT_EQ(gone.segment, "p/s3");
  EXPECT_FALSE(gone.reachable());
  const HostVerdict ready = Assess(3, 7, 60'000);
  EXPECT_EQ(ready.segment, "p/s3");
  EXPECT_TRUE(ready.reachable()) << "its kubelet ends the pods";
  const auto segments = health_->AssessSegments(60'000);
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_EQ(segments[0].name, "p/s3");
  EXPECT_EQ(segments[0].state, SegmentState::kLost);
  EXPECT_EQ(health_->HostsOfLostPlaces().size(), 8U);
}

TEST_F(SegmentHealthTest, ASensorThatLosesASegmentForAMomentLosesNoHost) {
  Set(3, 0, 8, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(59'999), 0);
  Set(3, 0, 8, Report::kReady, 59'999);
  EXPECT_EQ(CountLost(600'000), 0);
  EXPECT_TRUE(health_->AssessSegments(600'000).empty());
}

TEST_F(SegmentHealthTest, NoHostIsLostBeforeTheStatusOfTheFabricSaysSo) {
  Set(3, 0, 7, Report::kNotReady, 0);
  EXPECT_EQ(Assess(3, 0, 600'000).state, HostHealthState::kNotReady);
  EXPECT_EQ(health_->AssessSegments(600'000)[0].state, SegmentState::kLost);
  EXPECT_EQ(Assess(3, 0, 600'000).state, HostHealthState::kNotReady);
  EXPECT_GT(Assess(3, 0, 600'000).again_ms, 0);
  EXPECT_EQ(Assess(3, 7, 600'000).state, HostHealthState::kHealthy);
  EXPECT_GT(Assess(3, 7, 600'000).again_ms, 0);
  health_->SetLostInStatus({"p/s3"}, {});
  EXPECT_EQ(Assess(3, 0, 600'000).state, HostHealthState::kLost);
  EXPECT_EQ(Assess(3, 7, 600'000).state, HostHealthState::kLost);
}

TEST_F(SegmentHealthTest, WithoutAFabricHostsAreReplacedOneByOne) {
  health_->SetFabricExists(false);
  Set(3, 0, 8, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(600'000), 2);
  EXPECT_TRUE(health_->AssessSegments(600'000).empty());
}

TEST_F(SegmentHealthTest, TheGraceOfAJobHoldsForASegmentToo) {
  Set(3, 0, 7, Report::kNotReady, 0);
  EXPECT_EQ(Tell(60'000)[0].state, SegmentState::kLost);
  EXPECT_EQ(Assess(3, 0, 60'000, 600'000).state, HostHealthState::kNotReady);
  EXPECT_EQ(Assess(3, 7, 60'000, 600'000).state, HostHealthState::kHealthy);
  EXPECT_EQ(Assess(3, 7, 60'000, 600'000).again_ms, 540'000);
  EXPECT_EQ(Assess(3, 0, 600'000, 600'000).state, HostHealthState::kLost);
  EXPECT_EQ(Assess(3, 7, 600'000, 600'000).state, HostHealthState::kLost);
}

TEST_F(SegmentHealthTest, NothingIsLostWhileTheWholeFabricIs) {
  for (int s = 0; s < 8; ++s) Set(s, 0, 8, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(600'000), 0);
  const HostVerdict held = Assess(3, 0, 600'000);
  EXPECT_EQ(held.state, HostHealthState::kHeld);
  EXPECT_NE(held.reason.find("full disruption"), std::string::npos) << held.reason;
}

TEST_F(SegmentHealthTest, TheOnlySegmentOfAFabricIsNeverLost) {
  Make({}, 1);
  Set(0, 0, 8, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(600'000), 0);
  EXPECT_EQ(Assess(0, 0, 600'000).state, HostHealthState::kHeld);
}

TEST_F(SegmentHealthTest, NoMoreSegmentsAreLeftThanTheLimitAllows) {
  Make({}, 16);
  Set(3, 0, 8, Report::kNotReady, 0);
  Set(5, 0, 8, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(600'000), 8);
  EXPECT_NE(Assess(5, 0, 600'000).reason.find("1 lost segment"), std::string::npos)
      << Assess(5, 0, 600'000).reason;
  Set(3, 0, 8, Report::kReady, 600'000);
  EXPECT_EQ(CountLost(600'000), 8) << "the other one now";
  Make({.loss = {.segments = 0}}, 16);
  Set(3, 0, 8, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(600'000), 0);
}

TEST_F(SegmentHealthTest, OtherHostsAreReplacedBesideALostSegmentWithinTheirOwnLimits) {
  Make({.per_minute = 1000}, 4);
  Set(3, 0, 8, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(60'000), 8) << "a quarter of a small fabric is one fault here";
  Set(0, 0, 3, Report::kNotReady, 60'000);
  EXPECT_EQ(CountLost(200'000), 8 + 2) << "two of a segment";
}

TEST_F(SegmentHealthTest, HostsThatFailOneByOneAreNoLossOfTheirSegment) {
  for (int h = 0; h < 8; ++h) Set(3, h, h + 1, Report::kNotReady, h * 60'000);
  EXPECT_EQ(CountLost(600'000), 2) << "as the limit of a segment allows";
  EXPECT_TRUE(health_->AssessSegments(600'000).empty());
}

TEST_F(SegmentHealthTest, ARailThatIsDownOnAllHostsOfASegmentIsTheLossOfTheSegment) {
  for (int h = 0; h < 8; ++h) {
    health_->ObserveFaults(Name(3, h), {{"rail 2 down", FaultAction::kDrain, 120'000}}, 0);
  }
  EXPECT_EQ(CountLost(119'000), 0) << "the two minutes of the fault";
  EXPECT_EQ(CountLost(120'000), 8);
  EXPECT_TRUE(Assess(3, 0, 120'000).reachable());
}

TEST_F(SegmentHealthTest, ASegmentIsLostUntilAllButFewOfItsHostsAreBack) {
  Set(3, 0, 8, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(60'000), 8);
  Set(3, 0, 4, Report::kReady, 70'000);
  EXPECT_EQ(CountLost(70'000), 8);
  Set(3, 4, 6, Report::kReady, 80'000);
  Tell(80'000);
  EXPECT_EQ(Assess(3, 0, 80'000).state, HostHealthState::kHealthy);
  EXPECT_TRUE(Assess(3, 7, 80'000).segment.empty()) << "what is left is assessed host by host";
  EXPECT_TRUE(health_->HostsOfLostPlaces().empty());
}

TEST_F(SegmentHealthTest, TheTimeOfASegmentBeginsAgainWithAnotherLeader) {
  Set(3, 0, 8, Report::kNotReady, 0);
  EXPECT_EQ(CountLost(60'000), 8);
  health_->Restart(60'000);
  EXPECT_EQ(CountLost(119'000), 0);
  EXPECT_EQ(CountLost(120'000), 8);
}

TEST(SegmentsUpTest, TheFabricNamesWhatIsLostAndANewLeaderKeepsItWhileItLooksLost) {
  api::FabricStatus status;
  AddLostSegments({}, 1, 0, 1'000'000, status);
  EXPECT_TRUE(api::IsTrue(status.conditions, kSegmentsUpCondition));
  AddLostSegments({{"p0/s3", SegmentState::kSuspected, 0, 5'000}}, 1, 10'000, 1'000'000, status);
  EXPECT_TRUE(status.lost_segments.empty());
  AddLostSegments({{"p0/s3", SegmentState::kLost, 4'000}}, 1, 10'000, 1'000'000, status);
  ASSERT_EQ(status.lost_segments.size(), 1U);
  EXPECT_EQ(status.lost_segments[0], (api::LostSegment{"p0", "s3", 994'000}));
  const api::Condition* up = api::FindCondition(status.conditions, kSegmentsUpCondition);
  EXPECT_EQ(up->status, api::ConditionStatus::kFalse);
  EXPECT_EQ(up->reason, "SegmentLost");
  EXPECT_NE(up->message.find("segment p0/s3"), std::string::npos) << up->message;
  const api::FabricStatus before = status;
  AddLostSegments({{"p0/s3", SegmentState::kSuspected, 20'000, 1}}, 1, 21'000, 1'011'000, status);
  EXPECT_EQ(status, before);
  AddLostSegments({{"p0/s3", SegmentState::kHeld, 0, 1, "full disruption"}}, 1, 0, 1'100'000,
                  status);
  EXPECT_TRUE(status.lost_segments.empty());
  EXPECT_EQ(api::FindCondition(status.conditions, kSegmentsUpCondition)->status,
            api::ConditionStatus::kUnknown);
}

TEST(NodeSegmentTest, TheSegmentOfANodeIsInTheLabelsThatTheFabricNames) {
  state::ClusterCache cache;
  cache.Deliver(state::Kind::kFabric,
                json::parse(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "Fabric",
                                "metadata": {"name": "f"},
                                "spec": {"labels": {"fabricPod": "x/pod", "segment": "x/segment"},
                                         "tiers": []}})"));
  HostHealth health;
  for (int i = 0; i < 8; ++i) {
    const std::string ready = i < 4 ? "False" : "True";
    const std::string name = StrCat("n", i);
    const json node = {
        {"apiVersion", "v1"},
        {"kind", "Node"},
        {"metadata",
         {{"name", name}, {"labels", {{"x/pod", "p"}, {"x/segment", i < 4 ? "a" : "b"}}}}},
        {"status", {{"conditions", json::array({{{"type", "Ready"}, {"status", ready}}})}}}};
    cache.Deliver(state::Kind::kNode, node);
    ObserveNode(cache, DefaultFaultRules(), name, 0, health);
  }
  const auto segments = health.AssessSegments(60'000);
  ASSERT_EQ(segments.size(), 1U);
  EXPECT_EQ(segments[0].name, "p/a");
}

// Workers on the hosts of segment s0, but for the last two, in a fabric of four segments.
class JobInLostSegmentTest : public JobFixture {
 protected:
  void Start(const json& recovery = json::object()) {
    SeedJob(6, 16, {{"recovery", recovery}});
    for (int i = 0; i < 16; ++i) PutInSegment(StrCat("n", i), i / 4);
    cache_->Deliver(state::Kind::kFabric,
                    json::parse(R"({"apiVersion": "yardmaster.dev/v1alpha1", "kind": "Fabric",
                                    "metadata": {"name": "f"}, "spec": {"tiers": []}})"));
    RunAll();
  }
  // With the rounds that tell what is lost.
  void RunUntilStable() {
    Sync();
    std::set<std::string> lost;
    for (const SegmentVerdict& segment : hosts_->AssessSegments(clock_.SteadyMs())) {
      if (segment.state == SegmentState::kLost) lost.insert(segment.name);
    }
    hosts_->SetLostInStatus(lost, {});
    JobFixture::RunUntilStable();
  }
  void PutInSegment(const std::string& name, int segment) {
    json node = *client_.Find(kube::Nodes(), "", name);
    node["metadata"]["labels"][api::kSegmentLabel] = StrCat("s", segment);
    client_.Seed(kube::Nodes(), node);
  }
  // Three of the four hosts of s0; the fourth stays Ready.
  void LoseSegment(bool lost = true) {
    for (int i = 0; i < 3; ++i) SetNode(StrCat("n", i), !lost);
    RunUntilStable();
  }
  int Kept(const std::map<int, std::string>& before) {
    int kept = 0;
    for (const auto& [rank, uid] : before) kept += Uid(rank) == uid ? 1 : 0;
    return kept;
  }
  json Incidents() { return Status()["recovery"]["incidents"]; }
};

TEST_F(JobInLostSegmentTest, TheLossOfASegmentIsOneIncidentAndOneEvent) {
  Start({{"onHostLoss", "Replace"}});
  const auto before = Uids();
  LoseSegment();
  clock_.Advance(30'000);
  RunUntilStable();
  EXPECT_EQ(Kept(before), 6);
  EXPECT_EQ(CountNotices("RecoveryHeld"), 0);
  clock_.Advance(30'000);
  RunUntilStable();
  EXPECT_EQ(Kept(before), 2) << "the four ranks of the segment move, that on the Ready host, too";
  EXPECT_EQ(Uid(4), before.at(4));
  ASSERT_EQ(Incidents().size(), 1U) << Incidents().dump(1);
  EXPECT_EQ(Incidents()[0]["cause"], "SegmentLost");
  EXPECT_EQ(Incidents()[0]["segment"], "p0/s0");
  EXPECT_EQ(Incidents()[0]["ranks"], json::array({0, 1, 2, 3}));
  EXPECT_EQ(Reason("Recovering"), "SegmentLost");
  EXPECT_EQ(Reason("Degraded"), "SegmentLost");
  EXPECT_NE(Message("Degraded").find("segment p0/s0 is lost"), std::string::npos)
      << Message("Degraded");
  EXPECT_EQ(CountNotices("Recovering"), 1);
  EXPECT_EQ(Status()["restarts"], 0);
}

TEST_F(JobInLostSegmentTest, ByDefaultAllWorkersRestartOnce) {
  Start();
  const auto before = Uids();
  LoseSegment();
  clock_.Advance(60'000);
  RunUntilStable();
  EXPECT_EQ(Kept(before), 0);
  EXPECT_EQ(Incidents().size(), 1U);
  EXPECT_EQ(CountNotices("Recovering"), 1);
}

TEST_F(JobInLostSegmentTest, ASegmentThatIsBackWithinItsGraceCostsNothing) {
  Start();
  const auto before = Uids();
  LoseSegment();
  clock_.Advance(59'000);
  RunUntilStable();
  LoseSegment(false);
  clock_.Advance(3'600'000);
  RunUntilStable();
  EXPECT_EQ(Kept(before), 6);
  EXPECT_TRUE(Incidents().empty());
}

TEST_F(JobInLostSegmentTest, AJobThatIsToWaitKeepsItsPodsAndSaysWhatToChange) {
  Start({{"onSegmentLoss", "Wait"}});
  const auto before = Uids();
  LoseSegment();
  clock_.Advance(600'000);
  RunUntilStable();
  EXPECT_EQ(Kept(before), 6);
  EXPECT_EQ(Reason("Degraded"), "RecoveryHeld");
  EXPECT_NE(Message("Degraded").find("spec.recovery.onSegmentLoss"), std::string::npos)
      << Message("Degraded");
  EXPECT_EQ(CountNotices("RecoveryHeld"), 1);
  LoseSegment(false);
  EXPECT_EQ(Condition("Running"), "True");
  EXPECT_EQ(Condition("Degraded"), "False");
  EXPECT_TRUE(Incidents().empty());
}

TEST_F(JobInLostSegmentTest, AJobThatWaitsLeavesTheSegmentWhenItIsSuspendedOrDeleted) {
  Start({{"onSegmentLoss", "Wait"}});
  LoseSegment();
  clock_.Advance(600'000);
  RunUntilStable();
  const auto forced = [this](const api::TrainingJob& job) {
    StallReason stall;
    api::CheckpointMark checkpoint;
    JobObservation seen =
        JobObserver(*cache_, *hosts_, *marker_, clock_).Observe(job, stall, checkpoint);
    seen.run.suspended = true;
    int count = 0;
    for (const Removal& removal : NextStep(seen).remove) count += removal.force ? 1 : 0;
    return count;
  };
  api::TrainingJob job = *cache_->FindJob("team/a");
  job.run.suspended = true;
  EXPECT_EQ(forced(job), 3) << "no kubelet ends them";
  job.run.suspended = false;
  job.metadata.deleted_ms = clock_.WallMs();
  EXPECT_EQ(forced(job), 3);
}

TEST_F(JobInLostSegmentTest, WhileEverySegmentIsLostNoPodIsRemoved) {
  Start();
  const auto before = Uids();
  for (int i = 0; i < 16; ++i) SetNode(StrCat("n", i), false);
  RunUntilStable();
  clock_.Advance(3'600'000);
  RunUntilStable();
  EXPECT_EQ(Kept(before), 6);
  EXPECT_EQ(Reason("Degraded"), "RecoveryHeld");
  EXPECT_NE(Message("Degraded").find("full disruption"), std::string::npos) << Message("Degraded");
}

TEST_F(JobInLostSegmentTest, AJobThatIsToFailWithItsHostsFailsWithItsSegment) {
  Start({{"onHostLoss", "Fail"}});
  LoseSegment();
  clock_.Advance(60'000);
  RunUntilStable();
  EXPECT_EQ(Condition("Failed"), "True");
  EXPECT_EQ(Reason("Failed"), "SegmentLost");
}

}  // namespace
}  // namespace yardmaster::op
