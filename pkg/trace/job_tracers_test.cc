#include <map>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "pkg/api/names.h"
#include "pkg/base/strings.h"
#include "pkg/trace/job_spans.h"
#include "pkg/trace/placement_tracer.h"
#include "pkg/trace/start_tracer.h"

namespace yardmaster::trace {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::UnorderedElementsAre;

constexpr std::int64_t kS = 1'000;

// A TrainingJob "a" with two workers whose objects the test moves on; all times are in seconds.
class JobTracersTest : public testing::Test {
 protected:
  JobTracersTest() {
    job_.metadata = MetaOf("a", "uid-a");
    job_.metadata.created_ms = 10 * kS;
    gang_.metadata = MetaOf("trainingjob-a", "uid-gang");
    gang_.metadata.created_ms = 11 * kS;
    gang_.owner = {api::kGroupVersion, api::kTrainingJobKind, "a", "uid-a", true};
    gang_.job.workers = 2;
  }

  static api::ObjectMeta MetaOf(const std::string& name, const std::string& uid) {
    api::ObjectMeta meta;
    meta.name = name;
    meta.namespace_name = "team";
    meta.uid = uid;
    return meta;
  }
  void Condition(const char* type, bool holds, std::int64_t at) {
    const auto is = holds ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse;
    api::SetCondition(gang_.status.conditions, {type, is, "Test", "", 0, 0}, at * kS);
  }
  void Commit(std::int64_t at) {
    ++gang_.status.plan_generation;
    gang_.status.committed_ms = at * kS;
    gang_.status.assignments = {{0, "h0", "p", "s", {0}, ""}, {1, "h1", "p", "s", {0}, ""}};
    Condition(api::kPlannedCondition, true, at);
  }
  void GiveBack(std::int64_t at) {
    gang_.status.assignments.clear();
    Condition(api::kPlannedCondition, false, at);
    Condition(api::kReleasedCondition, false, at);
    pods_.clear();
  }
  // Worker `rank`; a time of 0: not yet.
  void Worker(int rank, std::int64_t created, std::int64_t bound, std::int64_t runs) {
    api::Pod pod;
    pod.metadata = MetaOf(StrCat("a-", rank), StrCat("uid-pod-", rank, "-", created));
    pod.metadata.labels = {{api::kJobLabel, "a"}, {api::kRankLabel, StrCat(rank)}};
    pod.metadata.owners = {{api::kGroupVersion, api::kTrainingJobKind, "a", "uid-a", true}};
    pod.metadata.created_ms = created * kS;
    workload::SetAmount(pod.requests, api::kGpuResource, 8);
    pod.scheduled_ms = bound * kS;
    pod.started_ms = runs * kS;
    pods_[rank] = std::move(pod);
  }
  void Workers(std::int64_t created, std::int64_t bound, std::int64_t runs) {
    for (const int rank : {0, 1}) Worker(rank, created, bound, runs);
  }

  state::ClusterState State() const {
    state::ClusterState state;
    state.gangs.Put(std::make_shared<const api::Gang>(gang_));
    if (has_job_) state.jobs.Put(std::make_shared<const api::TrainingJob>(job_));
    for (const auto& [rank, pod] : pods_) state.pods.Put(std::make_shared<const api::Pod>(pod));
    return state;
  }
  static std::vector<std::string> TextsOf(const std::vector<Span>& spans) {
    std::vector<std::string> out;
    for (const Span& s : spans)
      out.push_back(StrCat(s.name, " ", s.start_ms / kS, "-", s.end_ms / kS));
    return out;
  }
  static const char* NameOfCause(api::IncidentCause) { return "HostLost"; }
  // What is new for the operator, or for the extender, at that second.
  std::vector<std::string> Operator(std::int64_t at) {
    return TextsOf(operator_.Look(State(), at * kS));
  }
  std::vector<std::string> Extender(std::int64_t at) {
    return TextsOf(extender_.Look(State(), {at * kS, at * kS + 300}));
  }

  bool has_job_ = true;
  api::TrainingJob job_;
  api::Gang gang_;
  std::map<int, api::Pod> pods_;
  StartTracer operator_{NameOfCause};
  PlacementTracer extender_;
};

TEST_F(JobTracersTest, EachStepIsGivenOnceWhenItIsOver) {
  EXPECT_THAT(Operator(12), IsEmpty());
  Commit(20);
  EXPECT_THAT(Operator(20), IsEmpty());
  Condition(api::kNetworkPlannedCondition, true, 21);
  EXPECT_THAT(Operator(21), ElementsAre("network planned 20-21"));
  Worker(0, 22, 0, 0);
  EXPECT_THAT(Operator(22), IsEmpty());
  Workers(22, 0, 0);
  EXPECT_THAT(Operator(23), ElementsAre("pods created 22-22"));
  Workers(22, 24, 0);
  Worker(0, 22, 24, 26);
  EXPECT_THAT(Operator(26), ElementsAre("bound 22-24"));
  Workers(22, 24, 27);
  EXPECT_THAT(Operator(27), ElementsAre("running 24-27", "start 10-27"));
  EXPECT_THAT(Operator(28), IsEmpty());
  // Made again after a failure: no second start.
  Worker(0, 90, 91, 92);
  EXPECT_THAT(Operator(93), IsEmpty());
}

TEST_F(JobTracersTest, AStartIsComputedWhenAnObjectOfItHasChanged) {
  Commit(20);
  state::ClusterState state = State();
  state.gangs.Put(std::make_shared<const api::Gang>([this] {
    api::Gang other = gang_;
    other.metadata = MetaOf("trainingjob-b", "uid-gang-b");
    other.owner.name = "b";
    other.owner.uid = "uid-b";
    return other;
  }()));
  const auto computed = [&](std::int64_t at) {
    operator_.Look(state, at * kS);
    return operator_.computed();
  };
  EXPECT_EQ(computed(20), 2);
  EXPECT_EQ(computed(22), 0);
  Worker(0, 22, 0, 0);
  state.pods.Put(std::make_shared<const api::Pod>(pods_[0]));
  EXPECT_EQ(computed(24), 1);
  EXPECT_EQ(computed(26), 0);
  state.pods.Erase({"team", "a-0"});
  EXPECT_EQ(computed(28), 1);
  Condition(api::kNetworkPlannedCondition, true, 29);
  state.gangs.Put(std::make_shared<const api::Gang>(gang_));
  EXPECT_EQ(computed(30), 1);
  job_.status.start_ms = 31 * kS;
  state.jobs.Put(std::make_shared<const api::TrainingJob>(job_));
  EXPECT_THAT(TextsOf(operator_.Look(state, 32 * kS)), ElementsAre("start 10-31"));
  EXPECT_EQ(operator_.computed(), 1);
  EXPECT_EQ(computed(34), 0);
}

TEST_F(JobTracersTest, ALaterPlaceHasAStartOfItsOwnSinceTheFormerWasGivenBack) {
  Commit(20);
  Workers(22, 24, 27);
  Operator(30);
  GiveBack(50);
  EXPECT_THAT(Operator(50), IsEmpty());
  Condition(api::kRequeuedCondition, true, 55);
  EXPECT_THAT(Operator(55), IsEmpty());
  Commit(70);
  Workers(71, 72, 73);
  EXPECT_THAT(Operator(75),
              ElementsAre("pods created 71-71", "bound 71-72", "running 72-73", "start 55-73"));
}

TEST_F(JobTracersTest, ANewLeaderGivesWhatEndedALittleWhileAgoWithTheSameIds) {
  Commit(20);
  Workers(22, 24, 27);
  const std::vector<Span> first = operator_.Look(State(), 30 * kS);
  StartTracer next(NameOfCause);
  EXPECT_EQ(next.Look(State(), 40 * kS), first);
  StartTracer late(NameOfCause);
  EXPECT_THAT(late.Look(State(), 27 * kS + kRepeatMs + 1), IsEmpty());
  EXPECT_THAT(late.Look(State(), 27 * kS + kRepeatMs + 2), IsEmpty());
  operator_.Forget();
  EXPECT_EQ(operator_.Look(State(), 40 * kS), first);
}

TEST_F(JobTracersTest, ANewLeaderDoesNotTakeReplacedPodsForAStart) {
  Commit(20);
  Condition(api::kReleasedCondition, true, 23);
  Workers(22, 24, 27);
  Worker(1, 60, 62, 64);
  EXPECT_THAT(Operator(70), IsEmpty());
  // Nor pods of a start of long ago.
  StartTracer late(NameOfCause);
  Workers(22, 24, 27);
  Worker(1, 6'000, 6'001, 6'002);
  EXPECT_THAT(late.Look(State(), 6'010 * kS), IsEmpty());
}

TEST_F(JobTracersTest, PodsThatAreOnTheirWayOutOrOfAnotherLifeOfTheJobDoNotCount) {
  Operator(12);
  Commit(20);
  Workers(22, 24, 27);
  pods_[0].metadata.deleted_ms = 29 * kS;
  EXPECT_THAT(Operator(30), IsEmpty());
  Workers(22, 24, 27);
  pods_[0].metadata.owners[0].uid = "uid-of-the-former-a";
  EXPECT_THAT(Operator(31), IsEmpty());
  Workers(22, 24, 27);
  EXPECT_EQ(Operator(32).size(), 4U);
}

TEST_F(JobTracersTest, ARecoveryIsGivenOnceWhenItIsOver) {
  Operator(12);
  job_.status.recovery.incidents.resize(1);
  api::Incident& incident = job_.status.recovery.incidents[0];
  incident.attempt = 1;
  incident.start_ms = 100 * kS;
  EXPECT_THAT(Operator(100), IsEmpty());
  incident.end_ms = 130 * kS;
  EXPECT_THAT(Operator(130), ElementsAre("recovery 100-130"));
  job_.status.restarts = 1;
  EXPECT_THAT(Operator(131), IsEmpty());
  StartTracer next(NameOfCause);
  EXPECT_THAT(TextsOf(next.Look(State(), 140 * kS)), ElementsAre("recovery 100-130"));
}

TEST_F(JobTracersTest, TheExtenderGivesAPlaceWithThePassThatMadeIt) {
  EXPECT_THAT(Extender(12), IsEmpty());
  Commit(20);
  EXPECT_THAT(Extender(20), ElementsAre("queued 10-20", "planned 20-20", "committed 20-20"));
  EXPECT_THAT(Extender(21), IsEmpty());
  ++gang_.status.plan_generation;  // a rank moved
  EXPECT_THAT(Extender(22), IsEmpty());
  GiveBack(50);
  EXPECT_THAT(Extender(50), IsEmpty());
  Commit(70);
  EXPECT_THAT(Extender(70), ElementsAre("queued 50-70", "planned 70-70", "committed 70-70"));
}

TEST_F(JobTracersTest, ANewExtenderKnowsNoPassAndNoWaitOfALaterPlace) {
  Commit(20);
  EXPECT_THAT(Extender(25), ElementsAre("queued 10-20", "committed 20-20"));
  GiveBack(50);
  Commit(70);
  PlacementTracer next;
  EXPECT_THAT(TextsOf(next.Look(State(), {75 * kS, 75 * kS})), ElementsAre("committed 70-70"));
  PlacementTracer late;
  EXPECT_THAT(late.Look(State(), {70 * kS, 71 * kS + kRepeatMs}), IsEmpty());
}

TEST_F(JobTracersTest, TheExtenderGivesRecoveriesOfJobsOfOthersAlone) {
  Commit(20);
  Extender(20);
  Condition(api::kDegradedCondition, true, 40);
  Extender(40);
  Condition(api::kDegradedCondition, false, 45);
  EXPECT_THAT(Extender(45), IsEmpty());
  has_job_ = false;
  gang_.owner = {"batch/v1", "Job", "a", "uid-job", true};
  Condition(api::kDegradedCondition, true, 60);
  Extender(60);
  Condition(api::kDegradedCondition, false, 64);
  EXPECT_THAT(Extender(64), UnorderedElementsAre("recovery 60-64"));
}

TEST_F(JobTracersTest, BothProcessesAddToOneTrace) {
  Extender(12);
  Operator(12);
  Commit(20);
  Workers(22, 24, 27);
  const std::vector<Span> placed = extender_.Look(State(), {20 * kS, 20 * kS + 5});
  const std::vector<Span> started = operator_.Look(State(), 30 * kS);
  ASSERT_FALSE(placed.empty());
  ASSERT_FALSE(started.empty());
  EXPECT_EQ(placed[0].trace_id, started[0].trace_id);
  EXPECT_EQ(placed[0].parent_id, started.back().id);
  EXPECT_TRUE(IsStart(started.back()));
}

}  // namespace
}  // namespace yardmaster::trace
