// From a job to its released pods under one extender and one operator, of which either may be
// killed at any write, before or after it takes effect.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "nlohmann/json.hpp"

#include "pkg/api/names.h"
#include "pkg/api/network_generation.h"
#include "pkg/base/clock.h"
#include "pkg/base/random.h"
#include "pkg/base/strings.h"
#include "test/chaos/chaos_cluster.h"
#include "test/chaos/chaos_kinds.h"
#include "test/chaos/chaos_process.h"

namespace yardmaster::chaos {
namespace {

using nlohmann::json;

// A process of each kind; one that was killed is followed by another life.
class Story {
 public:
  Story() {
    StartExtender();
    StartOperator();
  }

  // From the `first` write of both on, the first one that is tried has that fate.
  void KillAt(int first, Fate fate) {
    kill_at_ = first;
    fate_ = fate;
  }
  bool was_killed() const { return writes_ >= kill_at_; }

  void ExtenderWorks() {
    Work(*extender_);
    if (extender_->client().killed()) StartExtender();
  }
  void OperatorWorks() {
    Work(*operator_);
    if (operator_->client().killed()) StartOperator();
  }
  void PassTime(std::int64_t ms) { clock_.Advance(ms); }
  void Start() {
    cluster_.RunScheduler(
        [&](const json& pod, const std::string& node) { return extender_->Filter(pod, node); });
  }
  // Both work in turn, with the time that passes meanwhile.
  void Rounds(int count, std::int64_t ms) {
    for (int i = 0; i < count; ++i) {
      clock_.Advance(ms);
      cluster_.RunOwners();
      ExtenderWorks();
      OperatorWorks();
      Start();
      EXPECT_EQ(cluster_.BrokenPromise(), "");
    }
  }

  // And one round more, in which nothing changes.
  void RoundsUntilAllRun(int most, std::int64_t ms) {
    for (int i = 1; i < most && (Gated() > 0 || !cluster_.Unfinished().empty()); ++i) Rounds(1, ms);
    Rounds(1, ms);
  }

  ChaosCluster& cluster() { return cluster_; }
  kube::FakeClient& server() { return cluster_.server(); }
  std::vector<json> Pods() { return server().All(kube::Pods()); }
  int Gated() {
    int gated = 0;
    for (const json& pod : Pods()) {
      gated += pod["spec"].value("schedulingGates", json::array()).empty() ? 0 : 1;
    }
    return gated;
  }
  int Patches() { return server().CountCalls(kube::Verb::kPatch, "pods"); }

 private:
  void StartExtender() {
    extender_ = std::make_unique<ExtenderProcess>(server(), network_, clock_, ++lives_);
  }
  void StartOperator() {
    operator_ = std::make_unique<OperatorProcess>(server(), network_, clock_, ++lives_);
  }
  void Work(Process& process) {
    process.client().SetFates([this](const kube::Call& call) {
      const bool reads = call.verb == kube::Verb::kGet || call.verb == kube::Verb::kList;
      if (reads || call.target.resource.plural == "leases") return Fate::kDone;
      return ++writes_ == kill_at_ ? fate_ : Fate::kDone;
    });
    process.TickLease();
    process.Learn(random_, /*all=*/true);
    process.Work();
    process.client().SetFates(nullptr);
  }

  FakeClock clock_;
  ChaosCluster cluster_{clock_};
  Network network_;
  Random random_{1};
  std::unique_ptr<ExtenderProcess> extender_;
  std::unique_ptr<OperatorProcess> operator_;
  int lives_ = 0;
  int writes_ = 0;
  int kill_at_ = 1 << 30;
  Fate fate_ = Fate::kDone;
};

constexpr int kWorkers = 6;  // more than a segment has hosts

class OnePatchTest : public ::testing::TestWithParam<const char*> {};

TEST_P(OnePatchTest, APodGetsItsNetworkPlanItsPinAndItsWayThroughTheGateInOnePatch) {
  Story story;
  story.cluster().AddJob(GetParam(), kWorkers, 0);
  story.cluster().RunOwners();
  story.ExtenderWorks();
  ASSERT_EQ(story.Gated(), kWorkers);
  story.server().ClearCalls();
  story.OperatorWorks();
  EXPECT_EQ(story.Gated(), 0);
  EXPECT_EQ(story.Patches(), kWorkers);
  for (const json& pod : story.Pods()) {
    const json& annotations = pod["metadata"]["annotations"];
    for (const char* key : {api::kSlotAnnotation, api::kPriorityAnnotation,
                            api::kPathPlanAnnotation, api::kNetworkGenerationAnnotation}) {
      EXPECT_TRUE(annotations.contains(key)) << key;
    }
  }
  story.Rounds(2, 1'000);
  EXPECT_EQ(story.Patches(), kWorkers) << "nothing is left to do";
  EXPECT_EQ(story.cluster().Unfinished(), "");
}

TEST_P(OnePatchTest, KilledAtAnyWriteOtherProcessesFinishAndNoPromiseIsBroken) {
  for (const Fate fate : {Fate::kKilledBefore, Fate::kKilledAfter, Fate::kNotSent,
                          Fate::kAnswerLost, Fate::kRetryConflicts}) {
    for (int kill_at = 1;; ++kill_at) {
      SCOPED_TRACE(StrCat("fate ", static_cast<int>(fate), " of write ", kill_at));
      Story story;
      story.KillAt(kill_at, fate);
      story.cluster().AddJob(GetParam(), kWorkers, 0);
      // A lease that its holder has left is taken after some seconds.
      story.RoundsUntilAllRun(12, 5'000);
      EXPECT_EQ(story.Gated(), 0);
      EXPECT_EQ(story.cluster().Unfinished(), "");
      ASSERT_LT(kill_at, 200);
      if (!story.was_killed() || ::testing::Test::HasFailure()) break;
    }
  }
}

TEST_P(OnePatchTest, WithoutAnOperatorTheExtenderReleasesAfterItsLimit) {
  Story story;
  story.cluster().AddJob(GetParam(), kWorkers, 0);
  story.cluster().RunOwners();
  story.ExtenderWorks();
  EXPECT_EQ(story.Gated(), kWorkers);
  // The operator comes as far as the first pod.
  int patches = 0;
  story.server().SetHook([&patches](const kube::Call& call) -> absl::Status {
    const bool is_pod = call.verb == kube::Verb::kPatch && kube::WhereOf(call.target) == "pods";
    return is_pod && ++patches > 1 ? absl::UnavailableError("gone") : absl::OkStatus();
  });
  story.OperatorWorks();
  story.server().SetHook(nullptr);
  EXPECT_EQ(story.Gated(), kWorkers - 1);
  story.ExtenderWorks();
  EXPECT_EQ(story.Gated(), kWorkers - 1) << "the operator is given its time";
  for (int i = 0; i < 4; ++i) {
    story.PassTime(5'000);
    story.ExtenderWorks();
  }
  EXPECT_EQ(story.Gated(), 0);
}

// The extender moves two ranks between the operator's last look at the Gang and its patch. Their
// pods are replaced if they are not bound yet; if they are, they may keep what is free.
TEST_P(OnePatchTest, APodThatIsReleasedForAFormerPlaceIsReplacedOrKeepsItsHost) {
  for (const bool bound : {false, true}) {
    SCOPED_TRACE(bound);
    Story story;
    story.cluster().AddJob(GetParam(), kWorkers, 0);
    story.cluster().RunOwners();
    story.ExtenderWorks();
    bool moved = false;
    story.server().SetHook([&](const kube::Call& call) {
      if (moved || call.verb != kube::Verb::kPatch || kube::WhereOf(call.target) != "pods") {
        return absl::OkStatus();
      }
      moved = true;
      json gang = story.server().All(kube::Gangs()).front();
      json& slots = gang["status"]["assignments"];
      std::swap(slots[0]["host"], slots[1]["host"]);
      gang["status"]["planGeneration"] = gang["status"]["planGeneration"].get<int>() + 1;
      story.server().Seed(kube::Gangs(), gang);
      return absl::OkStatus();
    });
    story.OperatorWorks();
    story.server().SetHook(nullptr);
    ASSERT_TRUE(moved);
    if (bound) story.Start();
    story.Rounds(12, 5'000);
    EXPECT_EQ(story.Gated(), 0);
    EXPECT_EQ(story.cluster().Unfinished(), "");
  }
}

TEST_P(OnePatchTest, WhereAPolicyKeepsTheOperatorFromReleasingTheExtenderDoes) {
  Story story;
  story.cluster().AddJob(GetParam(), kWorkers, 0);
  story.cluster().RunOwners();
  story.ExtenderWorks();
  story.server().SetHook([](const kube::Call& call) -> absl::Status {
    const bool releases = call.verb == kube::Verb::kPatch && call.body.is_array() &&
                          kube::WhereOf(call.target) == "pods";
    return releases ? absl::PermissionDeniedError("slot is written by the extender alone")
                    : absl::OkStatus();
  });
  story.OperatorWorks();
  story.server().SetHook(nullptr);
  EXPECT_EQ(story.Gated(), kWorkers);
  story.ExtenderWorks();
  EXPECT_EQ(story.Gated(), 0);
  EXPECT_EQ(story.Patches(), 3 * kWorkers);
}

std::string NameOf(const ::testing::TestParamInfo<const char*>& info) { return info.param; }

INSTANTIATE_TEST_SUITE_P(Kinds, OnePatchTest, ::testing::ValuesIn(kKinds), NameOf);

}  // namespace
}  // namespace yardmaster::chaos
