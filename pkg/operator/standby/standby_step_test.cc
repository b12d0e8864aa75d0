#include "pkg/operator/standby/standby_step.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/api/pod_requests.h"

namespace yardmaster::op {
namespace {

using api::StandbyState;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::int64_t kHourMs = 3'600'000;
// Before a pod that was of no use is made again.
constexpr std::int64_t kWaitsMs[] = {kMinuteMs,     2 * kMinuteMs,  4 * kMinuteMs,
                                     8 * kMinuteMs, 16 * kMinuteMs, 32 * kMinuteMs,
                                     kHourMs,       kHourMs,        kHourMs};

class StandbyStepTest : public ::testing::Test {
 protected:
  StandbyStepTest() { view_.now_ms = 1'000'000; }

  StandbyStep Next() { return NextStandbyStep(view_, memory_); }
  void Pass(std::int64_t ms) { view_.now_ms += ms; }
  void Want(const std::string& host) { view_.wanted = {{host, "on-" + host}}; }
  api::Pod& AddPod(const std::string& name, const std::string& phase = "Pending") {
    auto pod = std::make_shared<api::Pod>();
    pod->metadata.name = name;
    pod->phase = phase;
    pod->requests = {{std::string(api::kPodsResource), 1}};
    api::Pod& out = *pod;
    view_.pods = {std::move(pod)};
    return out;
  }

  void ExpectRemovedAndMadeAgainAfter(std::int64_t wait_ms, const char* message) {
    const StandbyStep step = Next();
    EXPECT_THAT(step.remove, SizeIs(1));
    EXPECT_THAT(step.create, IsEmpty());
    ASSERT_THAT(step.status, SizeIs(1));
    EXPECT_EQ(step.status[0].state, StandbyState::kRefused);
    EXPECT_THAT(step.status[0].message, HasSubstr(message));
    view_.pods.clear();
    Pass(wait_ms - 1);
    EXPECT_THAT(Next().create, IsEmpty()) << wait_ms;
    Pass(1);
    EXPECT_THAT(Next().create, SizeIs(1)) << wait_ms;
  }

  StandbyView view_;
  StandbyMemory memory_;
};

TEST_F(StandbyStepTest, APodThatIsNotThereIsMadeAndPullsUntilItRuns) {
  Want("n5");
  StandbyStep step = Next();
  EXPECT_THAT(step.create, SizeIs(1));
  ASSERT_THAT(step.status, SizeIs(1));
  EXPECT_EQ(step.status[0], (api::Standby{StandbyState::kPulling, "n5", "on-n5", ""}));
  api::Pod& pod = AddPod("on-n5");
  step = Next();
  EXPECT_THAT(step.create, IsEmpty());
  EXPECT_EQ(step.status[0].state, StandbyState::kPulling);
  pod.phase = "Running";
  EXPECT_EQ(Next().status[0].state, StandbyState::kReady);
}

TEST_F(StandbyStepTest, AnImageWithoutTheProgramIsThereAllTheSame) {
  Want("n5");
  AddPod("on-n5", "Failed").exits = {{"image-0", 128, 0}};
  const StandbyStep step = Next();
  EXPECT_EQ(step.status[0].state, StandbyState::kReady);
  EXPECT_THAT(step.remove, IsEmpty());
}

TEST_F(StandbyStepTest, APodThatEndedBeforeItsImagesIsTriedAgainLaterAndLater) {
  Want("n5");
  for (const std::int64_t wait_ms : kWaitsMs) {
    AddPod("on-n5", "Failed");
    ExpectRemovedAndMadeAgainAfter(wait_ms, "before it had its images");
  }
}

TEST_F(StandbyStepTest, APodThatTheKubeletEvictsAgainAndAgainIsMadeAgainLaterAndLater) {
  Want("n5");
  for (const std::int64_t wait_ms : kWaitsMs) {
    AddPod("on-n5", "Running");
    EXPECT_EQ(Next().status[0].state, StandbyState::kReady);
    Pass(kHourMs - 1);
    EXPECT_EQ(Next().status[0].state, StandbyState::kReady);
    api::Pod& pod = AddPod("on-n5", "Failed");
    pod.exits = {{"image-0", 137, 0}};
    pod.final_conditions = {api::kDisruptionTarget};
    ExpectRemovedAndMadeAgainAfter(wait_ms, "evicted");
  }
}

TEST_F(StandbyStepTest, APodThatAWebhookMadeAskForSomethingIsRemovedAndSaidWhy) {
  for (const char* resource : {"cpu", api::kGpuResource, "yardmaster.dev/host-port-tcp-80"}) {
    memory_ = {};
    Want("n5");
    workload::SetAmount(AddPod("on-n5", "Running").requests, resource, 1);
    StandbyStep step = Next();
    ASSERT_THAT(step.remove, SizeIs(1));
    EXPECT_EQ(step.status[0].state, StandbyState::kRefused);
    EXPECT_THAT(step.status[0].message, HasSubstr(resource));
    // It is not counted again while it has not gone.
    step = Next();
    EXPECT_THAT(step.remove, SizeIs(1));
    EXPECT_EQ(memory_.refusals.at("on-n5").times, 1);
  }
  memory_ = {};
  AddPod("on-n5").claims = {{"gpu", "", "t"}};
  EXPECT_THAT(Next().remove, SizeIs(1));
}

TEST_F(StandbyStepTest, ARefusalIsForgottenOnceThePodHasBeenReadyForAnHour) {
  Want("n5");
  Next();
  NoteRefusal("on-n5", "quota", view_.now_ms, memory_);
  EXPECT_EQ(Next().status[0].message, "quota");
  Pass(kMinuteMs);
  EXPECT_THAT(Next().create, SizeIs(1));
  AddPod("on-n5", "Running");
  EXPECT_EQ(Next().status[0].state, StandbyState::kReady);
  Pass(kHourMs - 1);
  Next();
  EXPECT_THAT(memory_.refusals, SizeIs(1));
  Pass(1);
  Next();
  EXPECT_THAT(memory_.refusals, IsEmpty());
}

TEST_F(StandbyStepTest, ItMovesToAnotherHostOnceThatHasHeld) {
  Want("n5");
  AddPod("on-n5", "Running");
  Next();
  Want("n4");
  EXPECT_TRUE(Next().stays);
  Pass(kSettleMs - 1);
  // For a moment the old host is the right one again.
  Want("n5");
  EXPECT_FALSE(Next().stays);
  Want("n4");
  EXPECT_TRUE(Next().stays);
  Pass(kSettleMs - 1);
  EXPECT_TRUE(Next().stays);
  Pass(1);
  const StandbyStep step = Next();
  EXPECT_FALSE(step.stays);
  ASSERT_THAT(step.remove, SizeIs(1));
  EXPECT_EQ(step.remove[0]->metadata.name, "on-n5");
  EXPECT_THAT(step.create, SizeIs(1));
  EXPECT_EQ(step.status[0].host, "n4");
}

TEST_F(StandbyStepTest, WithoutAnyHostItSaysSo) {
  view_.short_of = "no host is free";
  const StandbyStep step = Next();
  ASSERT_THAT(step.status, SizeIs(1));
  EXPECT_EQ(step.status[0], (api::Standby{StandbyState::kNoHost, "", "", "no host is free"}));
}

TEST_F(StandbyStepTest, AJobThatIsToHaveNoneLosesItsPodsAtOnce) {
  Want("n5");
  AddPod("on-n5", "Running");
  Next();
  view_.wanted.clear();
  view_.ends = true;
  const StandbyStep step = Next();
  EXPECT_THAT(step.remove, SizeIs(1));
  EXPECT_THAT(step.status, IsEmpty());
}

TEST_F(StandbyStepTest, APodOfThatNameThatIsGoingIsAwaited) {
  Want("n5");
  AddPod("on-n5", "Running").metadata.deleted_ms = 1;
  const StandbyStep step = Next();
  EXPECT_THAT(step.create, IsEmpty());
  EXPECT_THAT(step.remove, IsEmpty());
  EXPECT_EQ(step.status[0].state, StandbyState::kPulling);
}

TEST_F(StandbyStepTest, APodThatDoesNotGetItsImagesSaysWhere) {
  Want("n5");
  api::Pod& pod = AddPod("on-n5");
  pod.unschedulable = true;
  pod.unschedulable_message = "0/6 nodes are available";
  EXPECT_THAT(Next().status[0].message, HasSubstr("0/6 nodes"));
  pod.unschedulable = false;
  pod.scheduled_ms = view_.now_ms;
  EXPECT_THAT(Next().status[0].message, IsEmpty());
  Pass(11 * kMinuteMs);
  EXPECT_THAT(Next().status[0].message, HasSubstr("events of the pod"));
}

}  // namespace
}  // namespace yardmaster::op
