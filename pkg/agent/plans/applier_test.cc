#include "pkg/agent/plans/applier.h"

#include <stdexcept>

#include "gmock/gmock.h"

#include "pkg/agent/plans/plan_file.h"
#include "pkg/agent/testing/fake_sink.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "pkg/base/testing/rounds.h"

namespace yardmaster::agent {
namespace {

using rpc::PlanState;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class ApplierTest : public ::testing::Test {
 protected:
  ApplierTest() { applier_.SetFabric(ExampleFabric()); }

  Now now() const { return {clock_.WallMs(), clock_.SteadyMs()}; }
  std::vector<PodNotice> Step() { return applier_.Step(now()); }
  PodInput Pod(const std::string& uid, std::int64_t lives_ms = 3'600'000) const {
    return ExamplePod(uid, clock_.WallMs() + lives_ms);
  }
  PlanState StateOf(const std::string& uid) const {
    for (const auto& pod : applier_.Status()) {
      if (pod.pod_uid == uid) return pod.state;
    }
    ADD_FAILURE() << "no pod " << uid;
    return PlanState::kAwaiting;
  }

  FakeClock clock_;
  FakeSink sink_;
  Applier applier_{sink_};
};

TEST_F(ApplierTest, AFileIsWrittenOnceAndGoesWithThePod) {
  applier_.Put(Pod("u1"));
  EXPECT_EQ(StateOf("u1"), PlanState::kSyncing);
  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_EQ(StateOf("u1"), PlanState::kSynced);
  EXPECT_EQ(sink_.Parsed("u1")["level"], 3);

  const int attempts = sink_.attempts();
  applier_.Put(Pod("u1"));  // the same again, as informers do
  Step();
  EXPECT_EQ(sink_.attempts(), attempts);

  applier_.Remove("u1");
  Step();
  EXPECT_THAT(sink_.files(), IsEmpty());
  EXPECT_THAT(applier_.Status(), IsEmpty());
  EXPECT_EQ(applier_.DueInMs(now()), std::nullopt);
}

TEST_F(ApplierTest, AFailedWriteIsTriedAgainWithGrowingDelayAndToldOnce) {
  sink_.Fail("u1", absl::ResourceExhaustedError("no space left"));
  applier_.Put(Pod("u1"));
  applier_.Put(Pod("u2"));
  EXPECT_THAT(Step(), ElementsAre(::testing::AllOf(
                          ::testing::Field(&PodNotice::kind, NoticeKind::kWriteFailed),
                          ::testing::Field(&PodNotice::message, HasSubstr("no space left")))));
  EXPECT_EQ(StateOf("u1"), PlanState::kSyncing);
  EXPECT_EQ(StateOf("u2"), PlanState::kSynced);  // not kept waiting

  std::int64_t expected = 1'000;
  for (int i = 0; i < 10; ++i) {
    ASSERT_EQ(applier_.DueInMs(now()), expected);
    const int attempts = sink_.attempts();
    clock_.Advance(expected - 1);
    EXPECT_THAT(Step(), IsEmpty());
    EXPECT_EQ(sink_.attempts(), attempts);
    clock_.Advance(1);
    EXPECT_THAT(Step(), IsEmpty());
    EXPECT_EQ(sink_.attempts(), attempts + 1);
    expected = std::min<std::int64_t>(2 * expected, 60'000);
  }
  EXPECT_EQ(applier_.failures(), 11);

  sink_.Fail("u1", absl::OkStatus());
  clock_.Advance(60'000);
  EXPECT_THAT(Step(), ElementsAre(::testing::Field(&PodNotice::kind, NoticeKind::kSynced)));
  EXPECT_EQ(StateOf("u1"), PlanState::kSynced);
}

TEST_F(ApplierTest, AChangeDoesNotWaitForTheRetryTime) {
  sink_.Fail("u1", absl::InternalError("disk"));
  applier_.Put(Pod("u1"));
  Step();
  sink_.Fail("u1", absl::OkStatus());
  PodInput changed = Pod("u1");
  changed.priority = "5";
  applier_.Put(changed);
  Step();
  EXPECT_EQ(sink_.Parsed("u1")["level"], 5);
}

TEST_F(ApplierTest, AtItsExpiryAPlanGivesWayToDefaultBehaviourAndARenewalBringsItBack) {
  applier_.Put(Pod("u1", 5'000));
  Step();
  EXPECT_EQ(applier_.DueInMs(now()), 5'000);
  clock_.Advance(4'999);
  EXPECT_THAT(Step(), IsEmpty());
  EXPECT_EQ(StateOf("u1"), PlanState::kSynced);
  clock_.Advance(1);
  EXPECT_THAT(Step(), ElementsAre(::testing::Field(&PodNotice::kind, NoticeKind::kStale)));
  EXPECT_EQ(StateOf("u1"), PlanState::kStale);
  EXPECT_EQ(sink_.Parsed("u1")["rails"], nlohmann::json::array());
  EXPECT_EQ(applier_.DueInMs(now()), std::nullopt);
  EXPECT_THAT(Step(), IsEmpty());

  applier_.Put(Pod("u1", 5'000));
  EXPECT_THAT(Step(), ElementsAre(::testing::Field(&PodNotice::kind, NoticeKind::kSynced)));
  EXPECT_EQ(sink_.Parsed("u1")["level"], 3);
}

TEST_F(ApplierTest, ANewFabricGenerationMakesOldPlansStale) {
  applier_.Put(Pod("u1"));
  Step();
  FabricView next = ExampleFabric();
  ++next.generation;
  applier_.SetFabric(next);
  EXPECT_THAT(Step(), ElementsAre(::testing::Field(&PodNotice::kind, NoticeKind::kStale)));
  EXPECT_EQ(StateOf("u1"), PlanState::kStale);
}

TEST_F(ApplierTest, AnUnreadablePlanIsToldAndWrittenAsDefaultBehaviour) {
  PodInput pod = Pod("u1");
  pod.path_plan = "{]";
  applier_.Put(pod);
  const auto notices = Step();
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_EQ(notices[0].kind, NoticeKind::kInvalid);
  EXPECT_THAT(notices[0].message, HasSubstr("yardmaster.dev/path-plan"));
  EXPECT_EQ(sink_.Parsed("u1")["state"], "Invalid");
  EXPECT_EQ(applier_.DueInMs(now()), std::nullopt);
}

TEST_F(ApplierTest, FilesOfFormerLivesGoUnlessTheirPodIsStillThere) {
  sink_.Seed({"n1", "old"}, "{}");
  sink_.Seed({"n1", "u1"}, "{}");
  applier_.Put(Pod("u1"));
  ASSERT_TRUE(applier_.AdoptFiles().ok());
  Step();
  EXPECT_THAT(sink_.files(), SizeIs(1));
  EXPECT_EQ(sink_.Parsed("u1")["level"], 3);
}

TEST_F(ApplierTest, ARemovalThatFailsIsTriedAgain) {
  applier_.Put(Pod("u1"));
  Step();
  sink_.Fail("u1", absl::InternalError("busy"));
  applier_.Remove("u1");
  Step();
  EXPECT_THAT(sink_.files(), SizeIs(1));
  EXPECT_THAT(applier_.Status(), IsEmpty());
  sink_.Fail("u1", absl::OkStatus());
  clock_.Advance(*applier_.DueInMs(now()));
  Step();
  EXPECT_THAT(sink_.files(), IsEmpty());
}

TEST_F(ApplierTest, APodThatComesBackBeforeItsRemovalKeepsItsFile) {
  applier_.Put(Pod("u1"));
  Step();
  applier_.Remove("u1");
  applier_.Put(Pod("u1"));
  Step();
  EXPECT_EQ(sink_.Parsed("u1")["level"], 3);
}

// After any sequence of changes and failures, once failures end the files are those of the pods.
TEST_F(ApplierTest, FilesAlwaysEndUpAsThePodsWantThem) {
  for (std::uint64_t seed = 0; seed < Rounds(200u); ++seed) {
    Random random(seed);
    FakeSink sink;
    Applier applier(sink);
    std::map<std::string, PodInput> wanted;
    std::optional<FabricView> fabric;
    sink.Seed({"n1", "u0"}, "left");
    ASSERT_TRUE(applier.AdoptFiles().ok());
    for (int i = 0; i < 60; ++i) {
      const std::string uid = StrCat("u", random.Below(4));
      switch (random.Below(6)) {
        case 0:
        case 1: {
          PodInput pod = Pod(uid, static_cast<std::int64_t>(random.Below(100'000)));
          if (random.Below(3) == 0) pod.priority = StrCat(random.Below(10));
          if (random.Below(5) == 0) pod.path_plan = "garbage";
          wanted[uid] = pod;
          applier.Put(pod);
          break;
        }
        case 2:
          wanted.erase(uid);
          applier.Remove(uid);
          break;
        case 3:
          fabric = ExampleFabric();
          fabric->generation = static_cast<std::int64_t>(4 + random.Below(3));
          applier.SetFabric(fabric);
          break;
        case 4:
          sink.Fail(uid, random.Below(2) == 0 ? absl::OkStatus() : absl::InternalError("disk"));
          break;
        default:
          clock_.Advance(static_cast<std::int64_t>(random.Below(40'000)));
          applier.Step(now());
      }
    }
    for (int u = 0; u < 4; ++u) sink.Fail(StrCat("u", u), absl::OkStatus());
    clock_.Advance(60'000);
    applier.Step(now());

    std::map<PlanFileId, std::string> expected;
    for (const auto& [uid, pod] : wanted) {
      expected[{"n1", uid}] = EncodePlanFile(pod, Evaluate(pod, fabric, clock_.WallMs()));
    }
    ASSERT_EQ(sink.files(), expected) << "seed " << seed;
    for (const auto& pod : applier.Status()) EXPECT_NE(pod.state, PlanState::kSyncing);
  }
}

// A sink that throws for one pod.
class ThrowingSink final : public PlanSink {
 public:
  absl::Status Write(const PlanFileId& id, const std::string&) override {
    if (id.pod_uid == "bad") throw std::runtime_error("type must be string");
    ++written;
    return absl::OkStatus();
  }
  absl::Status Remove(const PlanFileId&) override { throw std::runtime_error("no such file"); }
  absl::StatusOr<std::vector<PlanFileId>> List() override { return std::vector<PlanFileId>(); }
  std::string PathOf(const PlanFileId&) const override { return ""; }

  int written = 0;
};

TEST_F(ApplierTest, WhatThrowsForOnePodIsAFailureOfItsFileAndTheOthersAreWritten) {
  ThrowingSink sink;
  Applier applier(sink);
  applier.SetFabric(ExampleFabric());
  for (const char* uid : {"bad", "good"}) applier.Put(Pod(uid));
  const std::vector<PodNotice> notices = applier.Step(now());
  EXPECT_EQ(sink.written, 1);
  EXPECT_EQ(applier.failures(), 1);
  ASSERT_THAT(notices, SizeIs(1));
  EXPECT_EQ(notices[0].kind, NoticeKind::kWriteFailed);
  EXPECT_THAT(notices[0].message, HasSubstr("type must be string"));
  EXPECT_EQ(applier.DueInMs(now()), 1'000) << "it is tried again";
  applier.Remove("bad");
  applier.Step(now());
  EXPECT_EQ(applier.failures(), 2);
}

}  // namespace
}  // namespace yardmaster::agent
